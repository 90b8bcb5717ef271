//! Networks on which messages are passed on from link to link.
//!
//! A message takes the shortest way, and on every link as long as the network says. One that a node
//! sends to many in one step is *one* message as far as their ways are the same: it is lost on a
//! link for all who are behind it, and arrives there once. That is what makes losses of a real
//! multicast hit many at once.

use std::collections::VecDeque;

use vorrang_erased::{MessageId, Messages};
use vorrang_protocol::{Graph, NodeId};

/// The ways, and what has become of the message that was sent last.
#[derive(Debug)]
pub(crate) struct Routes {
    graph: Graph,
    /// For every node that has sent something, from where each other node is reached.
    trees: Vec<Option<Box<[NodeId]>>>,
    /// For each node: of which message it is, how long that takes to it, and whether it is lost.
    fates: Vec<(u64, Fate)>,
    /// How many different messages there were.
    count: u64,
    /// The last: who sent it, after how many events, and what.
    /// It is kept for as long as it is the last.
    last: Option<(NodeId, u64, MessageId)>,
}

/// The fate of a message along its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) takes_ns: u64,
    pub(crate) is_lost: bool,
}

impl Routes {
    /// Whether a message is kept.
    pub(crate) const fn has_last(&self) -> bool {
        self.last.is_some()
    }

    pub(crate) fn new(graph: Graph) -> Self {
        let nodes = graph.group().size() as usize;
        let (trees, fates) = (vec![None; nodes], vec![(0, Fate::default()); nodes]);
        Self { graph, trees, fates, count: 0, last: None }
    }

    /// The fate of a message, sent in the step after so many events, given the faults of links.
    pub(crate) fn travel(
        &mut self,
        (from, to): (NodeId, NodeId),
        (step, message): (u64, MessageId),
        messages: &mut dyn Messages,
        mut link: impl FnMut(NodeId, NodeId) -> Fate,
    ) -> Fate {
        let is_last = |&(by, at, last): &(NodeId, u64, MessageId)| {
            (by, at) == (from, step) && messages.are_equal(last, message)
        };
        if !self.last.as_ref().is_some_and(is_last) {
            messages.duplicate(message);
            if let Some((_, _, before)) = self.last.replace((from, step, message)) {
                messages.drop_one(before);
            }
            self.count += 1;
            self.fates[from.index()] = (self.count, Fate::default());
        }
        let graph = &self.graph;
        let tree = self.trees[from.index()].get_or_insert_with(|| tree(graph, from));
        // Back to where it is known, and from there on.
        let mut ahead = Vec::new();
        let mut at = to;
        while self.fates[at.index()].0 != self.count {
            ahead.push(at);
            at = tree[at.index()];
        }
        let mut fate = self.fates[at.index()].1;
        for next in ahead.into_iter().rev() {
            let on_it = link(tree[next.index()], next);
            fate.takes_ns = fate.takes_ns.saturating_add(on_it.takes_ns);
            fate.is_lost |= on_it.is_lost;
            self.fates[next.index()] = (self.count, fate);
        }
        fate
    }
}

/// From where each node is reached, if a message is sent from the root.
fn tree(graph: &Graph, root: NodeId) -> Box<[NodeId]> {
    let nodes = graph.group().size() as usize;
    let mut parents = vec![None; nodes];
    parents[root.index()] = Some(root);
    let mut ahead = VecDeque::from([root]);
    while let Some(at) = ahead.pop_front() {
        for &next in graph.neighbours(at) {
            if parents[next.index()].is_none() {
                parents[next.index()] = Some(at);
                ahead.push_back(next);
            }
        }
    }
    parents.into_iter().map(|parent| parent.expect("the network holds together")).collect()
}

#[cfg(test)]
mod tests {
    use vorrang_erased::{AnyMessage, AnyTimer, TimerId};
    use vorrang_protocol::Group;

    use super::*;

    /// Messages that are letters, each in a place of its own, and how many owners each has.
    struct Letters(Vec<(char, u32)>);

    impl Messages for Letters {
        fn duplicate(&mut self, id: MessageId) {
            self.0[id.index()].1 += 1;
        }
        fn drop_one(&mut self, id: MessageId) {
            self.0[id.index()].1 -= 1;
        }
        fn are_equal(&self, one: MessageId, other: MessageId) -> bool {
            assert!(self.0[one.index()].1 > 0 && self.0[other.index()].1 > 0, "both are there");
            self.0[one.index()].0 == self.0[other.index()].0
        }
        fn carries(&self, _: MessageId, _: NodeId) -> Option<(NodeId, u64)> {
            None
        }
        fn message(&self, _: MessageId) -> AnyMessage {
            unreachable!("routes record nothing")
        }
        fn timer(&self, _: TimerId) -> AnyTimer {
            unreachable!("routes know no timers")
        }
        fn in_flight(&self) -> usize {
            self.0.iter().filter(|(_, owners)| *owners > 0).count()
        }
    }

    /// Nodes 0 to 4 in a line, and what becomes of a message on each link, in the order in which
    /// links are asked.
    fn travels(fates: &[(u64, bool)], to: &[u32]) -> Vec<(u64, bool)> {
        let links = (0..4).map(|it| (NodeId(it), NodeId(it + 1)));
        let mut routes = Routes::new(Graph::new(Group::of(5), links));
        let mut fates = fates.iter().map(|&(takes_ns, is_lost)| Fate { takes_ns, is_lost });
        let mut letters = Letters(vec![('m', to.len() as u32)]);
        let mut go = |to: u32, step| {
            let way = (NodeId(0), NodeId(to));
            let fate = routes.travel(way, (step, MessageId::new(0)), &mut letters, |_, _| {
                fates.next().expect("a link is asked once")
            });
            (fate.takes_ns, fate.is_lost)
        };
        to.iter().map(|&to| go(to, 7)).collect()
    }

    #[test]
    fn a_message_to_many_travels_each_link_once() {
        let fates = [(1, false), (2, false), (4, false), (8, false)];
        assert_eq!(
            travels(&fates, &[1, 2, 3, 4]),
            [(1, false), (3, false), (7, false), (15, false)]
        );
        assert_eq!(travels(&fates, &[4, 2]), [(15, false), (3, false)], "whoever is asked first");
    }

    #[test]
    fn what_is_lost_on_a_link_is_lost_to_all_behind_it() {
        let fates = [(1, false), (1, true), (1, false), (1, false)];
        assert_eq!(travels(&fates, &[1, 2, 3, 4]), [(1, false), (2, true), (3, true), (4, true)]);
    }

    /// Every message is in a place of its own, so that only what it says can make it the last one.
    #[test]
    fn another_message_is_another() {
        let mut routes = Routes::new(Graph::new(Group::of(2), [(NodeId(0), NodeId(1))]));
        let mut letters = Letters("aabbb".chars().map(|letter| (letter, 0)).collect());
        let mut takes_ns = 0;
        let mut took = Vec::new();
        for (step, place) in [(1, 0), (1, 1), (1, 2), (2, 3), (2, 4)] {
            let (way, id) = ((NodeId(0), NodeId(1)), MessageId::new(place));
            letters.duplicate(id);
            let fate = routes.travel(way, (step, id), &mut letters, |_, _| {
                takes_ns += 1;
                Fate { takes_ns, is_lost: false }
            });
            took.push(fate.takes_ns);
            // It arrives at once.
            letters.drop_one(id);
            assert_eq!(letters.in_flight(), 1, "the last is kept, and no other");
        }
        assert_eq!(took, [1, 1, 2, 3, 3]);
    }
}
