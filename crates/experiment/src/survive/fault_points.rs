//! Where a run can be struck by a single fault: every message that it sends, and every moment
//! between two things that happen.

use vorrang_protocol::NodeId;
use vorrang_sim::Link;
use vorrang_trace::What;

use super::Fault;
use crate::options::single_fault::SingleFault;
use crate::problem::{Activity, InitialRoles, Observation, ObservedMessage, Role, doing};
use crate::values::roundest;

/// A run in which all went well.
pub(super) struct FaultFreeRun<'a> {
    pub(super) seen: &'a [Observation],
    pub(super) posts: &'a InitialRoles,
    pub(super) roles: &'a [Role],
    pub(super) nodes: u32,
    /// Whether messages may overtake each other, so that a copy may be late.
    pub(super) any_order: bool,
}

/// Every fault that can strike a run, each with what it is called. Those of one kind are next to
/// each other by what makes the difference, so that an even sample has some of everything.
pub(super) fn all(run: &FaultFreeRun<'_>) -> Vec<(Fault, SingleFault)> {
    let mut points = Vec::new();
    let mut of_all = |point: fn(&'static str, u64) -> (Fault, SingleFault)| {
        for it in run.seen {
            if let What::Send { seq, message, .. } = &it.what {
                points.push(point(message.kind, *seq));
            }
        }
    };
    of_all(|kind, number| (Fault::Lose(Some(kind)), SingleFault::Lose(number)));
    of_all(|kind, number| {
        (Fault::Duplicate(Some(kind)), SingleFault::Double { number, late: false })
    });
    if run.any_order {
        of_all(|kind, number| {
            (Fault::Duplicate(Some(kind)), SingleFault::Double { number, late: true })
        });
    }
    of_all(|kind, number| (Fault::Reorder(Some(kind)), SingleFault::Delay(number)));
    let crashes = crashes(run);
    points.extend(crashes.into_iter().map(|(role, mishap)| (Fault::Crash(role), mishap)));
    points
}

/// A crash of every node between any two instants at which something happens. It makes no
/// difference when between them: a crash changes nothing but what happens later. A node's crashes
/// come one after the other, so that a sample has some of every node.
pub(super) fn crashes(run: &FaultFreeRun<'_>) -> Vec<(Role, SingleFault)> {
    let &FaultFreeRun { seen, nodes, .. } = run;
    let mut group = Group::new(run);
    let mut of_nodes: Vec<Vec<(Role, SingleFault)>> = vec![Vec::new(); nodes as usize];
    let mut rest = seen;
    while let Some(first) = rest.first() {
        let now_ns = first.at_ns;
        let many = rest.iter().take_while(|it| it.at_ns == now_ns).count();
        let (now, later) = rest.split_at(many);
        for it in now {
            group.see(it);
        }
        if let Some(next) = later.first() {
            let at_ns = roundest(now_ns + 1, next.at_ns);
            for (node, crashes) in (0..).map(NodeId).zip(&mut of_nodes) {
                crashes.push((group.role(node), SingleFault::Crash(node, at_ns)));
            }
        }
        rest = later;
    }
    of_nodes.concat()
}

/// A crash of every node between any two of its own events: between them it makes no difference
/// when, since others hear of a crash by what the node no longer does.
pub(super) fn own_crashes(run: &FaultFreeRun<'_>) -> Vec<(Role, SingleFault)> {
    let mut group = Group::new(run);
    let mut points = Vec::new();
    // The instant of each node's last event, and its role since.
    let mut last: Vec<(u64, Role)> =
        (0..run.nodes).map(|node| (0, group.role(NodeId(node)))).collect();
    for it in run.seen {
        let (since_ns, role) = last[it.node.index()];
        if it.at_ns > since_ns {
            let at_ns = roundest(since_ns + 1, it.at_ns);
            points.push((role, SingleFault::Crash(it.node, at_ns)));
        }
        group.see(it);
        last[it.node.index()] = (it.at_ns, group.role(it.node));
    }
    points.sort_by_key(|(_, crash)| moment(*crash).unwrap_or_default());
    points
}

/// Where and when a node crashes.
const fn moment(fault: SingleFault) -> Option<(NodeId, u64)> {
    match fault {
        SingleFault::Crash(node, at_ns) => Some((node, at_ns)),
        SingleFault::Lose(_)
        | SingleFault::Double { .. }
        | SingleFault::Delay(_)
        | SingleFault::Replace(..)
        | SingleFault::Pause(..)
        | SingleFault::Cut(..) => None,
    }
}

/// What may befall a node instead of a crash: it comes up again before it is missed, as another
/// incarnation; it stands still for longer than it takes to be missed; a link of it breaks for a
/// while, one after the other and in one direction, the other or both, as the number says.
pub(super) fn instead(crash: SingleFault, nodes: u32, number: u32) -> Vec<SingleFault> {
    let Some((node, at_ns)) = moment(crash) else { return Vec::new() };
    let mut all = vec![
        SingleFault::Replace(node, at_ns, at_ns + SOON_NS),
        SingleFault::Pause(node, at_ns, at_ns + LONG_NS),
    ];
    if nodes > 1 {
        let other = NodeId((node.0 + 1 + number / 3 % (nodes - 1)) % nodes);
        let both_ways = number.is_multiple_of(3);
        let (from, to) = if number % 3 == 1 { (node, other) } else { (other, node) };
        all.push(SingleFault::Cut(Link { from, to, both_ways }, at_ns, at_ns + 2 * LONG_NS));
    }
    all
}

/// Less than the pause between two heartbeats.
const SOON_NS: u64 = 1_000_000;
/// More than three of them, and the margin.
const LONG_NS: u64 = 20_000_000;

/// The roles of nodes.
pub(super) struct Group<'a> {
    posts: &'a InitialRoles,
    usual: Role,
    leader: Option<NodeId>,
    doing: Vec<Option<Activity>>,
    tokens: Vec<i64>,
}

impl<'a> Group<'a> {
    pub(super) fn new(run: &FaultFreeRun<'a>) -> Self {
        let &FaultFreeRun { seen, posts, roles, nodes, .. } = run;
        let follows = |it: &Observation| match doing(it) {
            Some(Activity::Follows(leader)) => Some(leader),
            Some(Activity::Waits | Activity::IsInside | Activity::Rests | Activity::Began)
            | None => None,
        };
        let mut group = Self {
            posts,
            usual: roles.first().copied().unwrap_or(Role::Other),
            leader: seen.iter().rev().find_map(follows),
            doing: vec![None; nodes as usize],
            tokens: vec![0; nodes as usize],
        };
        // A node that sends more tokens than it got had some from the start.
        let mut least = vec![0; nodes as usize];
        for it in seen {
            group.see(it);
            let least: &mut i64 = &mut least[it.node.index()];
            *least = (*least).min(group.tokens[it.node.index()]);
        }
        group.tokens = least.iter().map(|debt| -debt).collect();
        group.doing.fill(None);
        group
    }

    pub(super) fn see(&mut self, it: &Observation) {
        let at = it.node.index();
        self.doing[at] = doing(it).or(self.doing[at]);
        let is_token = |message: &ObservedMessage| self.posts.tokens.contains(&message.kind);
        match &it.what {
            What::Send { message, .. } if is_token(message) => self.tokens[at] -= 1,
            What::Receive { message, .. } if is_token(message) => self.tokens[at] += 1,
            What::Send { .. }
            | What::Receive { .. }
            | What::Command(_)
            | What::Notice(_)
            | What::Timer(_)
            | What::Choice(_)
            | What::Lost { .. }
            | What::Doubled { .. }
            | What::Crash
            | What::Restart
            | What::Fault(_) => {}
        }
    }

    pub(super) fn has_token(&self, node: NodeId) -> bool {
        self.tokens[node.index()] > 0
    }

    fn role(&self, node: NodeId) -> Role {
        match self.doing[node.index()] {
            Some(Activity::IsInside) => Role::Holder,
            _ if self.posts.coordinators.contains(&node) || self.has_token(node) => {
                Role::Coordinator
            }
            _ if self.leader == Some(node) => Role::Leader,
            Some(Activity::Waits) => Role::Waiting,
            Some(Activity::Began) => Role::Initiator,
            Some(Activity::Rests | Activity::Follows(_)) | None => self.usual,
        }
    }
}

/// At most so many of them, evenly spread.
pub(super) fn spread<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    let many = all.len().min(most);
    (0..many).map(|index| all[index * all.len() / many]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_as_round_as_it_can_be() {
        assert_eq!(roundest(1, 1), 1);
        assert_eq!(roundest(1_234_567, 2_345_678), 2_000_000);
        assert_eq!(roundest(1_234_567, 1_239_999), 1_239_000);
        assert_eq!(roundest(1_000_001, 1_000_002), 1_000_002);
        assert_eq!(roundest(1, 999), 900);
    }

    #[test]
    fn instead_of_a_crash_all_else_befalls_a_node_and_each_of_its_links() {
        let crash = SingleFault::Crash(NodeId(2), 5);
        let all: Vec<SingleFault> = (0..6).flat_map(|number| instead(crash, 3, number)).collect();
        let cuts: Vec<String> = all
            .iter()
            .filter_map(|it| match it {
                SingleFault::Cut(link, 5, _) => Some(link.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(cuts, ["0-2", "2->0", "0->2", "1-2", "2->1", "1->2"]);
        assert_eq!(all[0], SingleFault::Replace(NodeId(2), 5, 1_000_005));
        assert_eq!(all[1], SingleFault::Pause(NodeId(2), 5, 20_000_005));
        assert_eq!(instead(crash, 1, 0).len(), 2, "it has no links");
        assert_eq!(instead(SingleFault::Lose(7), 3, 0), []);
    }

    #[test]
    fn a_sample_has_both_the_early_and_the_late() {
        assert_eq!(spread(&[1, 2, 3], 5), [1, 2, 3]);
        assert_eq!(spread(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4), [0, 2, 5, 7]);
        assert!(spread::<u8>(&[], 4).is_empty());
    }
}
