//! The specification, independent of the algorithm: virtual synchrony. After Kenneth P. Birman and
//! Thomas A. Joseph, "Exploiting virtual synchrony in distributed systems", SOSP 1987; the names of
//! the properties are those of Gregory V. Chockler, Idit Keidar and Roman Vitenberg, "Group
//! communication specifications: a comprehensive study", ACM Computing Surveys 33(4), 2001.
//!
//! | property | says | source |
//! | --- | --- | --- |
//! | `self inclusion` | a node installs only views that it is a member of | §3.1 |
//! | `increasing views` | a node installs views in the order of their numbers | §3.1 |
//! | `view agreement` | views with the same number have the same members | §3.2 |
//! | `one successor` | all members that go on from a view go on to the same one | §3.2 |
//! | `virtual synchrony` | those who go on to the same view have delivered the same | §4.1.2 |
//! | `sending view delivery` | a message is delivered in the view in which it was sent | §4.1.3 |
//! | `total order` | those who go on have delivered in the same order | §4.3, strong, in a view |
//! | `no duplicates` | a message is delivered once | §4.1.1 |
//! | `sender order` | messages of one sender are delivered as they were sent, without gaps | §4.2 |
//! | `state transfer` | all who install a view begin it with the state of those who go on | SOSP |
//! | `settling` | those who are up and want in end up in one view, with all messages | §5 |
//!
//! The properties are not *uniform*: a member that does not go on may have delivered more than the
//! others ever will, and in another order. The last property only holds if suspicions are right
//! eventually and enough of all nodes are up and can hear each other ([`majority_side`]), with one
//! among them that has the state of its view; where that is seen not to be so, there is no
//! obligation.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Digest, Group, Monitor, NodeId, NodeSet, Obligation, Violation};

use super::view::{View, majority_side};
use super::with_suspicions::{self, Suspecting};
use super::{Command, Notice, Payload, ledger, list};
use crate::partition::Cuts;
use crate::setup::{Detector, Setup};

const SELF_INCLUSION: &str = "self inclusion";
const INCREASING: &str = "increasing views";
const AGREEMENT: &str = "view agreement";
const ONE_SUCCESSOR: &str = "one successor";
const SYNCHRONY: &str = "virtual synchrony";
const SENDING_VIEW: &str = "sending view delivery";
const TOTAL_ORDER: &str = "total order";
const NO_DUPLICATES: &str = "no duplicates";
const FIFO: &str = "sender order";
const STATE: &str = "state transfer";
const SETTLING: &str = "settling";

/// All properties.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Synchrony {
    nodes: Vec<Seen>,
    /// Views that a node is in, or may yet reach, by number.
    views: BTreeMap<u64, Known>,
    /// All others.
    past: BTreeMap<u64, View>,
    cuts: Cuts,
    /// Whether the monitor sees suspicions. If not, they are assumed to be right eventually.
    is_told: bool,
    /// Whether nothing is owed, since nothing need be settled when the run ends.
    is_cut_off: bool,
}

/// The history of a node that matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seen {
    is_up: bool,
    wants: bool,
    /// The last view that it was told of.
    last: u64,
    /// Its state in that view, if it is in it.
    inside: Option<Stay>,
    /// Its multicasts for the next view.
    queue: Vec<Payload>,
    /// The nodes that it suspects.
    suspects: NodeSet,
}

/// The state of a node in a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Stay {
    is_blocked: bool,
    /// The messages that it has delivered, by sender and number.
    delivered: Vec<(NodeId, u32)>,
    /// For each sender, how many of these.
    next: BTreeMap<NodeId, u32>,
    state: Digest,
}

/// The known facts about a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Known {
    view: View,
    /// The state with which all began it.
    state: Digest,
    /// The messages multicast in it.
    sent: BTreeMap<NodeId, Vec<Payload>>,
    /// The successor of the view, and the messages delivered before it.
    next: Option<(u64, Vec<(NodeId, u32)>)>,
}

fn violation(property: &'static str, what: String) -> Result<(), Violation> {
    Err(Violation { property, what })
}

impl Synchrony {
    /// The initial state, in which these nodes want to be members.
    pub fn new(universe: Group, founders: impl IntoIterator<Item = NodeId>) -> Self {
        let seen = Seen {
            is_up: true,
            wants: false,
            last: 0,
            inside: None,
            queue: Vec::new(),
            suspects: NodeSet::EMPTY,
        };
        let mut nodes = vec![seen; universe.size() as usize];
        for founder in founders {
            nodes[founder.index()].wants = true;
        }
        let (views, past) = (BTreeMap::new(), BTreeMap::new());
        Self { nodes, views, past, cuts: Cuts::NONE, is_told: false, is_cut_off: false }
    }

    fn on_view(&mut self, at: NodeId, view: &View, state: Digest) -> Result<(), Violation> {
        let node = &mut self.nodes[at.index()];
        if view.incarnation_of(at).is_none() {
            return violation(SELF_INCLUSION, format!("node {at} is told of view {view}"));
        }
        if view.id <= node.last {
            let what = format!("node {at} goes from view {} to view {}", node.last, view.id);
            return violation(INCREASING, what);
        }
        let (before, from) = (node.inside.take(), node.last);
        node.last = view.id;
        let queue = core::mem::take(&mut node.queue);
        let stay = Stay { is_blocked: false, delivered: Vec::new(), next: BTreeMap::new(), state };
        node.inside = Some(stay);
        let new = Known { view: view.clone(), state, sent: BTreeMap::new(), next: None };
        let known = self.views.entry(view.id).or_insert(new);
        known.sent.entry(at).or_default().extend(queue);
        let agreed = self.past.get(&view.id).unwrap_or(&known.view);
        if agreed != view {
            let (id, had) = (view.id, list(&agreed.members));
            let has = list(&view.members);
            let what =
                format!("view {id} has the members {has} at node {at}, and {had} at another");
            return violation(AGREEMENT, what);
        }
        let agreed_state = known.state;
        if let Some(before) = before {
            self.on_end(at, from, view.id, &before, state)?;
        }
        if agreed_state != state {
            let what = format!("node {at} begins view {} with a state of its own", view.id);
            return violation(STATE, what);
        }
        self.forget();
        Ok(())
    }

    /// A node goes on from one view to another.
    fn on_end(
        &mut self,
        at: NodeId,
        from: u64,
        to: u64,
        stay: &Stay,
        state: Digest,
    ) -> Result<(), Violation> {
        let Some(known) = self.views.get_mut(&from) else { return Ok(()) };
        let (next, delivered) = known.next.get_or_insert_with(|| (to, stay.delivered.clone()));
        if *next != to {
            let what =
                format!("node {at} goes from view {from} to view {to}, another to view {next}");
            return violation(ONE_SUCCESSOR, what);
        }
        if *delivered == stay.delivered && stay.state != state {
            let what = format!("node {at} comes from view {from} with another state than it had");
            return violation(STATE, what);
        }
        if *delivered == stay.delivered {
            return Ok(());
        }
        let sorted = |all: &[(NodeId, u32)]| all.iter().copied().collect::<BTreeSet<_>>();
        if sorted(delivered) == sorted(&stay.delivered) {
            let what = format!("node {at} has delivered in another order in view {from}");
            return violation(TOTAL_ORDER, what);
        }
        let what = format!(
            "node {at} has delivered {} messages in view {from}, and another that goes on {}{}",
            stay.delivered.len(),
            delivered.len(),
            if stay.delivered.len() == delivered.len() { " others" } else { "" },
        );
        violation(SYNCHRONY, what)
    }

    fn on_delivered(
        &mut self,
        at: NodeId,
        from: NodeId,
        number: u32,
        payload: &Payload,
    ) -> Result<(), Violation> {
        let node = &mut self.nodes[at.index()];
        let Some(stay) = &mut node.inside else {
            let what = format!("node {at} delivers {payload} from {from} and is in no view");
            return violation(SENDING_VIEW, what);
        };
        let sent = self.views.get(&node.last).and_then(|known| known.sent.get(&from));
        if sent.and_then(|all| all.get(number as usize)) != Some(payload) {
            let view = node.last;
            let what = format!(
                "node {at} delivers {payload} from {from} in view {view}, where it was not sent"
            );
            return violation(SENDING_VIEW, what);
        }
        let next = stay.next.entry(from).or_insert(0);
        if number < *next {
            let what = format!("node {at} delivers {payload} from {from} once more");
            return violation(NO_DUPLICATES, what);
        }
        if number > *next {
            let what = format!("node {at} delivers {payload} from {from} before an earlier one");
            return violation(FIFO, what);
        }
        *next += 1;
        stay.delivered.push((from, number));
        stay.state = ledger(stay.state, payload);
        Ok(())
    }

    /// Forgets the messages of views that no node is in or may still reach; but never their
    /// members, and nothing of the newest.
    fn forget(&mut self) {
        let Some(&newest) = self.views.keys().next_back() else { return };
        let nodes = &self.nodes;
        let is_needed = |id: u64, known: &Known| {
            let is_in = |node: &Seen| node.inside.is_some() && node.last == id;
            let may_come = |at: NodeId| {
                let node = &nodes[at.index()];
                node.is_up && node.last < id
            };
            id == newest || nodes.iter().any(is_in) || known.view.nodes().any(may_come)
        };
        let past = &mut self.past;
        self.views.retain(|&id, known| {
            let is_needed = is_needed(id, known);
            if !is_needed {
                past.insert(id, known.view.clone());
            }
            is_needed
        });
    }

    /// The newest view that was installed anywhere.
    fn newest(&self) -> Option<&Known> {
        self.views.values().next_back()
    }

    /// Those who can go on, and which of them want in; unless something is in the way of their
    /// being in one view.
    fn owed_to(&self) -> Option<(NodeSet, Vec<NodeId>)> {
        let all = || (0..self.nodes.len() as u32).map(NodeId);
        let up: NodeSet = all().filter(|it| self.nodes[it.index()].is_up).collect();
        let up = majority_side(self.nodes.len(), &up, &self.cuts)?;
        let is_right = |at: NodeId| {
            let suspects = &self.nodes[at.index()].suspects;
            all().all(|of| of == at || suspects.contains(of) != up.contains(of))
        };
        let newest = &self.newest()?.view;
        // One node has the state of the view, or it is certain that none has.
        let is_in = |at: NodeId| {
            newest.incarnation_of(at).is_some() && self.nodes[at.index()].inside.is_some()
        };
        let has_state = up.iter().any(is_in) || newest.nodes().all(|it| up.contains(it));
        // Which end of a link that is cut goes on is not said.
        let is_whole = !self.is_cut_off && !self.cuts.has_cut_links();
        let is_fine = is_whole && has_state && (!self.is_told || up.iter().all(is_right));
        let wanting: Vec<NodeId> = up.iter().filter(|it| self.nodes[it.index()].wants).collect();
        (is_fine && !wanting.is_empty()).then_some((up, wanting))
    }

    /// The nodes that have not reached the view of all that want to be members, or not got all of
    /// its messages.
    fn unsettled(&self) -> Vec<(NodeId, &'static str)> {
        let Some((up, wanting)) = self.owed_to() else { return Vec::new() };
        let Some(newest) = self.newest() else { return Vec::new() };
        let is_theirs = newest.view.nodes().eq(wanting.iter().copied());
        let sent: usize = newest.sent.values().map(Vec::len).sum();
        let mut wrong = Vec::new();
        for at in up.iter() {
            let node = &self.nodes[at.index()];
            let what = match &node.inside {
                None if node.wants => "is in no view",
                Some(_) if !node.wants => "cannot leave",
                Some(_) if node.last != newest.view.id => "is left behind",
                Some(_) if !is_theirs => "is not in one view with all that want in",
                Some(stay) if stay.is_blocked => "is blocked",
                Some(stay) if stay.delivered.len() < sent => "has not got all messages",
                None | Some(_) => continue,
            };
            wrong.push((at, what));
        }
        wrong
    }
}

impl Monitor for Synchrony {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        let node = &mut self.nodes[at.index()];
        match command {
            Command::Join => node.wants = true,
            Command::Leave => {
                node.wants = false;
                node.queue.clear();
            }
            Command::Multicast(payload) => {
                let is_running = node.inside.as_ref().is_some_and(|stay| !stay.is_blocked);
                match self.views.get_mut(&node.last).filter(|_| is_running) {
                    Some(known) => known.sent.entry(at).or_default().push(payload.clone()),
                    None => node.queue.push(payload.clone()),
                }
            }
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match *notice {
            Notice::View { ref view, state } => self.on_view(at, view, state),
            Notice::Delivered { from, number, ref payload } => {
                self.on_delivered(at, from, number, payload)
            }
            Notice::Blocked => {
                if let Some(stay) = &mut self.nodes[at.index()].inside {
                    stay.is_blocked = true;
                }
                Ok(())
            }
            Notice::Out => {
                self.nodes[at.index()].inside = None;
                self.forget();
                Ok(())
            }
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.unsettled().first() {
            Some((at, what)) => violation(SETTLING, format!("node {at} {what}")),
            None => Ok(()),
        }
    }

    fn obligations(&self) -> Vec<Obligation> {
        let debts = self.unsettled().into_iter();
        debts.map(|(to, _)| Obligation { to, property: SETTLING }).collect()
    }

    fn on_crash(&mut self, at: NodeId) {
        let node = &mut self.nodes[at.index()];
        node.is_up = false;
        node.inside = None;
        node.queue.clear();
        node.suspects.clear();
        self.forget();
    }

    fn on_restart(&mut self, at: NodeId) {
        self.nodes[at.index()].is_up = true;
    }

    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.cuts.on_cut(sides);
    }

    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.cuts.on_heal(sides);
    }

    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.cuts.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.cuts.on_link_mended(from, to);
    }
}

/// The same, for machines that are fed by a failure detector.
pub type WithSuspicions = with_suspicions::WithSuspicions<Synchrony>;

impl WithSuspicions {
    /// As [`Synchrony::new`], without suspicions.
    pub fn new(universe: Group, founders: impl IntoIterator<Item = NodeId>) -> Self {
        with_suspicions::WithSuspicions(Synchrony {
            is_told: true,
            ..Synchrony::new(universe, founders)
        })
    }

    /// The monitor of nodes with this set-up: where they have detectors of their own, suspicions
    /// are not seen.
    pub fn of(setup: &Setup) -> Self {
        let mut fed = Self::new(setup.group, (0..setup.founders).map(NodeId));
        fed.0.is_told = setup.detector == Detector::Told;
        fed
    }

    /// The names of all that must hold; of the last, only where a run goes on until it does.
    pub const PROPERTIES: [&'static str; 11] = [
        SELF_INCLUSION,
        INCREASING,
        AGREEMENT,
        ONE_SUCCESSOR,
        SYNCHRONY,
        SENDING_VIEW,
        TOTAL_ORDER,
        NO_DUPLICATES,
        FIFO,
        STATE,
        SETTLING,
    ];

    /// The same, in a run that may end before all is settled.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        self.0.is_cut_off = true;
        self
    }
}

impl Suspecting for Synchrony {
    fn suspects(&mut self, at: NodeId) -> &mut NodeSet {
        &mut self.nodes[at.index()].suspects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::input::Input;
    use crate::group::view::Member;

    fn view(id: u64, nodes: &[u32]) -> View {
        let members = nodes.iter().map(|&node| Member { node: NodeId(node), incarnation: 0 });
        View { id, members: members.collect() }
    }

    /// Three nodes, the first `founders` of which are in view 1.
    fn founded(founders: u32) -> Synchrony {
        let all: Vec<u32> = (0..founders).collect();
        let mut monitor = Synchrony::new(Group::of(3), all.iter().copied().map(NodeId));
        for &at in &all {
            installs(&mut monitor, at, &view(1, &all), Digest(0)).unwrap();
        }
        monitor
    }

    fn installs(
        monitor: &mut Synchrony,
        at: u32,
        view: &View,
        state: Digest,
    ) -> Result<(), Violation> {
        monitor.on_notice(NodeId(at), &Notice::View { view: view.clone(), state })
    }

    fn sends(monitor: &mut Synchrony, at: u32, payload: u32) {
        monitor.on_command(NodeId(at), &Command::Multicast(payload.into())).unwrap();
    }

    fn delivers(
        monitor: &mut Synchrony,
        at: u32,
        from: u32,
        number: u32,
        payload: u32,
    ) -> Result<(), Violation> {
        let (from, payload) = (NodeId(from), payload.into());
        monitor.on_notice(NodeId(at), &Notice::Delivered { from, number, payload })
    }

    #[track_caller]
    fn objects(judged: Result<(), Violation>, property: &str) {
        assert_eq!(judged.expect_err("it is wrong").property, property);
    }

    #[test]
    fn whoever_installs_a_view_must_be_in_it_and_go_forward() {
        let mut monitor = founded(3);
        objects(installs(&mut monitor.clone(), 2, &view(2, &[0, 1]), Digest(0)), SELF_INCLUSION);
        objects(installs(&mut monitor.clone(), 2, &view(1, &[0, 1, 2]), Digest(0)), INCREASING);
        installs(&mut monitor, 2, &view(3, &[2]), Digest(0)).unwrap();
        objects(installs(&mut monitor, 2, &view(2, &[0, 1, 2]), Digest(0)), INCREASING);
    }

    #[test]
    fn a_view_has_the_same_members_everywhere_also_when_nobody_is_left_in_it() {
        let mut monitor = founded(3);
        installs(&mut monitor, 0, &view(2, &[0, 1]), Digest(0)).unwrap();
        objects(installs(&mut monitor.clone(), 2, &view(2, &[1, 2]), Digest(0)), AGREEMENT);
        installs(&mut monitor, 1, &view(2, &[0, 1]), Digest(0)).unwrap();
        for at in [0, 1] {
            installs(&mut monitor, at, &view(3, &[0, 1]), Digest(0)).unwrap();
        }
        monitor.on_crash(NodeId(2));
        monitor.on_restart(NodeId(2));
        objects(installs(&mut monitor, 2, &view(2, &[1, 2]), Digest(0)), AGREEMENT);
    }

    #[test]
    fn all_who_go_on_go_on_to_the_same_view() {
        let mut monitor = founded(3);
        installs(&mut monitor, 0, &view(2, &[0, 1]), Digest(0)).unwrap();
        objects(installs(&mut monitor, 1, &view(3, &[1, 2]), Digest(0)), ONE_SUCCESSOR);
    }

    #[test]
    fn all_who_go_on_have_delivered_the_same_in_the_same_order() {
        let mut monitor = founded(2);
        sends(&mut monitor, 0, 7);
        sends(&mut monitor, 1, 8);
        delivers(&mut monitor, 0, 0, 0, 7).unwrap();
        let state = ledger(Digest(0), &7.into());
        let mut less = monitor.clone();
        installs(&mut less, 0, &view(2, &[0, 1]), state).unwrap();
        objects(installs(&mut less, 1, &view(2, &[0, 1]), state), SYNCHRONY);

        delivers(&mut monitor, 0, 1, 0, 8).unwrap();
        let state = ledger(state, &8.into());
        installs(&mut monitor, 0, &view(2, &[0, 1]), state).unwrap();
        let mut same = monitor.clone();
        delivers(&mut same, 1, 0, 0, 7).unwrap();
        delivers(&mut same, 1, 1, 0, 8).unwrap();
        installs(&mut same, 1, &view(2, &[0, 1]), state).unwrap();
        delivers(&mut monitor, 1, 1, 0, 8).unwrap();
        delivers(&mut monitor, 1, 0, 0, 7).unwrap();
        objects(installs(&mut monitor, 1, &view(2, &[0, 1]), state), TOTAL_ORDER);
    }

    #[test]
    fn a_message_is_delivered_once_and_where_it_was_sent() {
        let mut monitor = founded(2);
        sends(&mut monitor, 0, 7);
        objects(delivers(&mut monitor.clone(), 1, 0, 0, 9), SENDING_VIEW);
        objects(delivers(&mut monitor.clone(), 1, 0, 1, 7), SENDING_VIEW);
        objects(delivers(&mut monitor.clone(), 2, 0, 0, 7), SENDING_VIEW);
        delivers(&mut monitor, 1, 0, 0, 7).unwrap();
        objects(delivers(&mut monitor.clone(), 1, 0, 0, 7), NO_DUPLICATES);
        sends(&mut monitor, 0, 8);
        sends(&mut monitor, 0, 9);
        objects(delivers(&mut monitor, 1, 0, 2, 9), FIFO);
        let mut late = founded(2);
        sends(&mut late, 0, 7);
        installs(&mut late, 1, &view(2, &[0, 1]), Digest(0)).unwrap();
        objects(delivers(&mut late, 1, 0, 0, 7), SENDING_VIEW);
    }

    #[test]
    fn what_is_sent_while_blocked_belongs_to_the_next_view() {
        let mut monitor = founded(2);
        monitor.on_notice(NodeId(0), &Notice::Blocked).unwrap();
        sends(&mut monitor, 0, 7);
        objects(delivers(&mut monitor.clone(), 1, 0, 0, 7), SENDING_VIEW);
        for at in [0, 1] {
            installs(&mut monitor, at, &view(2, &[0, 1]), Digest(0)).unwrap();
        }
        delivers(&mut monitor, 1, 0, 0, 7).unwrap();
    }

    #[test]
    fn whoever_comes_in_has_the_state_of_those_who_go_on() {
        let mut monitor = founded(2);
        sends(&mut monitor, 0, 7);
        for at in [0, 1] {
            delivers(&mut monitor, at, 0, 0, 7).unwrap();
        }
        let (all, state) = (view(2, &[0, 1, 2]), ledger(Digest(0), &7.into()));
        objects(installs(&mut monitor.clone(), 0, &all, Digest(1)), STATE);
        installs(&mut monitor, 0, &all, state).unwrap();
        objects(installs(&mut monitor.clone(), 2, &all, Digest(0)), STATE);
        installs(&mut monitor, 2, &all, state).unwrap();
    }

    fn wrong(monitor: &Synchrony) -> Vec<(u32, &'static str)> {
        monitor.unsettled().into_iter().map(|(at, what)| (at.0, what)).collect()
    }

    #[test]
    fn those_who_want_in_end_up_in_one_view_with_all_messages() {
        let mut monitor = founded(2);
        monitor.at_rest().unwrap();
        monitor.on_command(NodeId(2), &Command::Join).unwrap();
        let apart = "is not in one view with all that want in";
        assert_eq!(wrong(&monitor), [(0, apart), (1, apart), (2, "is in no view")]);
        let all = view(2, &[0, 1, 2]);
        installs(&mut monitor, 0, &all, Digest(0)).unwrap();
        installs(&mut monitor, 2, &all, Digest(0)).unwrap();
        assert_eq!(wrong(&monitor), [(1, "is left behind")]);
        installs(&mut monitor, 1, &all, Digest(0)).unwrap();
        monitor.at_rest().unwrap();
        sends(&mut monitor, 1, 7);
        delivers(&mut monitor, 1, 1, 0, 7).unwrap();
        let not_all = "has not got all messages";
        assert_eq!(wrong(&monitor), [(0, not_all), (2, not_all)]);
        assert_eq!(monitor.obligations().len(), 2);
        objects(monitor.at_rest(), SETTLING);
        let mut left = monitor.clone();
        left.on_command(NodeId(2), &Command::Leave).unwrap();
        assert_eq!(wrong(&left)[2], (2, "cannot leave"));
        monitor.on_notice(NodeId(2), &Notice::Blocked).unwrap();
        assert_eq!(wrong(&monitor)[1], (2, "is blocked"));
    }

    #[test]
    fn nothing_is_owed_where_too_few_are_left_or_the_network_is_cut() {
        let mut monitor = founded(2);
        monitor.on_command(NodeId(2), &Command::Join).unwrap();
        let sides = [vec![NodeId(0)], vec![NodeId(1)]];
        monitor.on_cut(&sides);
        monitor.at_rest().expect("everybody is alone");
        monitor.on_heal(&sides);
        assert_eq!(wrong(&monitor).len(), 3);
        let mut apart = monitor.clone();
        apart.on_cut(&sides[..1]);
        assert_eq!(wrong(&apart).len(), 2, "two can go on");
        monitor.on_crash(NodeId(0));
        assert_eq!(wrong(&monitor).len(), 2, "two can go on");
        apart.on_crash(NodeId(2));
        apart.at_rest().expect("one of three");
        monitor.on_restart(NodeId(0));
        assert_eq!(wrong(&monitor).len(), 3, "node 1 knows what there was");
        monitor.on_crash(NodeId(1));
        monitor.at_rest().expect("node 1 may have known what node 0 has forgotten");
        monitor.on_restart(NodeId(1));
        assert_eq!(wrong(&monitor).len(), 3, "nobody does");
    }

    #[test]
    fn where_suspicions_are_seen_nothing_is_owed_before_they_are_right() {
        let mut monitor = WithSuspicions::new(Group::of(3), [0, 1, 2].map(NodeId));
        for at in 0..3 {
            installs(&mut monitor.0, at, &view(1, &[0, 1, 2]), Digest(0)).unwrap();
        }
        monitor.on_crash(NodeId(2));
        assert_eq!(monitor.obligations(), []);
        monitor.on_command(NodeId(0), &Input::Suspect(NodeId(2))).unwrap();
        monitor.on_command(NodeId(1), &Input::Suspect(NodeId(2))).unwrap();
        assert_eq!(monitor.obligations().len(), 2);
        monitor.on_command(NodeId(1), &Input::Suspect(NodeId(0))).unwrap();
        monitor.at_rest().unwrap();
        monitor.on_command(NodeId(1), &Input::Trust(NodeId(0))).unwrap();
        monitor.on_command(NodeId(1), &Input::Beat).unwrap();
        objects(monitor.at_rest(), SETTLING);
        monitor.cut_off().at_rest().unwrap();
    }
}
