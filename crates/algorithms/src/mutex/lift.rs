//! The lift: a token on a tree that stops where it passes.
//!
//! A token moves on a spanning tree like a lift in its shaft. Every edge points towards it and
//! turns around as it passes; a call follows the edges, and a node that has called once does not
//! call again, however many call through it: it only remembers from which directions. When the
//! token comes, the node lets it stop or sends it on in one of these directions, and if others are
//! left, calls it back right behind it.
//!
//! **Use it** where nodes are many and links form a tree: a node remembers no more than which of
//! its neighbours have called.
//!
//! ```text
//!     1 → 0 ← 2     the token is at 0; 1 and 2 have called
//!     1 ← 0 ← 2     0 has sent it to 1, and calls it back for 2
//!     1 → 0 ← 2     1 has left and sent it back
//!     1 → 0 → 2     0 sends it on to 2: no other has called
//! ```
//!
//! | for an entry | alone | under saturation |
//! | --- | --- | --- |
//! | messages | 2d, twice the distance to the token | 4(N − 1)/N |
//! | synchronisation delay | – | 2(N − 1)/N · T on average |
//! | response | 2d · T + E | a tour of the tree |
//!
//! This is [Raymond's algorithm](super::raymond) with a set where that has a queue, and both are
//! one machine, [`TreeToken`]. A set does not know which call came first; so a rule is needed by
//! which no direction is passed over for ever. Here a node serves round robin: after one direction,
//! or itself, comes the next higher number that has called, and after the highest the lowest again.
//! Then a direction that has called is passed over at most as often as there are others at the
//! node, its degree. That takes no memory: a token comes back from where it was sent, so a node
//! knows which direction it served last. (To serve the lowest number first would be wrong: a call
//! that overtakes the token on its edge would send it back before it was of any use.)
//!
//! **Assumes** that messages arrive, once, in any order, as in Raymond's algorithm.
//!
//! **Safe** for the same reason: the token is passed, never copied, and never from inside. **Live**
//! as well: along the edges every node has called the next, so the holder of the token knows the
//! direction of each waiting node, and passes over it a bounded number of times.
//!
//! The tree is given here; [echo-lift](super::echo_lift) builds it first, on any topology, and
//! [elected-lift](super::elected_lift) also elects who has the token first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Invariant, NodeId, NodeState, Situation, StateValue};

use super::card::{BUSIEST, Card, Demonstration, Flaw, MESSAGES, RESPONSE, SYNC_DELAY, Terms};
use super::raymond::{busiest, messages, response, sync_delay};
use super::tree_token::{Clients, TreeToken, edges_lead_to_it, one_request_an_edge, one_token};
use crate::card::{Assumes, Layout};
use crate::recipe::Recipe;
use crate::setup::Parameter;
use crate::topology::Topology;
use crate::topology::measure::towards;

/// One node.
pub type Lift = TreeToken<Calls>;

/// Directions that have called, and the node itself if it has, by number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Calls(pub(super) Vec<NodeId>);

impl Clients for Calls {
    fn remember(&mut self, who: NodeId) {
        if let Err(place) = self.0.binary_search(&who) {
            self.0.insert(place, who);
        }
    }
    fn next(&mut self, _: NodeId, last: NodeId) -> Option<NodeId> {
        let place = self.0.partition_point(|&id| id <= last);
        match self.0.len() {
            0 => None,
            waiting => Some(self.0.remove(place % waiting)),
        }
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn state(&self) -> NodeState {
        NodeState::new().with("calls", StateValue::set(self.0.iter().copied()))
    }
}

/// Clients, and how often each was passed over: what a proof looks at and a node need not know.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Counted<C> {
    clients: C,
    passed: Vec<(NodeId, u32)>,
    /// As often as any may be passed over.
    most: u32,
}

impl<C> Counted<C> {
    /// The clients of a node that has so many neighbours.
    pub const fn new(clients: C, neighbours: u32) -> Self {
        Self { clients, passed: Vec::new(), most: neighbours }
    }
}

impl<C: Clients> Clients for Counted<C> {
    fn remember(&mut self, who: NodeId) {
        self.clients.remember(who);
        if let Err(place) = self.passed.binary_search_by_key(&who, |&(id, _)| id) {
            self.passed.insert(place, (who, 0));
        }
    }
    fn next(&mut self, me: NodeId, last: NodeId) -> Option<NodeId> {
        let next = self.clients.next(me, last)?;
        self.passed.retain(|&(id, _)| id != next);
        self.passed.iter_mut().for_each(|(_, times)| *times += 1);
        Some(next)
    }
    fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }
    fn state(&self) -> NodeState {
        self.clients.state().with("passed over", StateValue::list(self.passed.iter().copied()))
    }
}

/// The nodes of a set-up, if its topology is a tree.
pub fn recipe() -> Recipe<Lift> {
    with(|_| Calls::default())
}

/// The same, and how often each direction was passed over is counted, for those who want to see the
/// bound kept.
pub fn counted() -> Recipe<TreeToken<Counted<Calls>>> {
    with(|neighbours| Counted::new(Calls::default(), neighbours))
        .guarded(&[Invariant { name: PASSED_OVER, holds: nobody_passed_over_too_often }])
}

/// The nodes of a set-up, whose clients are kept in this way, given the number of neighbours.
pub(super) fn with<C: Clients>(clients: fn(u32) -> C) -> Recipe<TreeToken<C>> {
    Recipe::new(move |setup| {
        let tree = setup.topology.tree(setup.group)?;
        let way = towards(&tree, setup.holder);
        Ok(move |id: NodeId| {
            let neighbours = tree.neighbours(id).len() as u32;
            TreeToken::new(id, way[id.index()].unwrap_or(id), clients(neighbours))
        })
    })
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Lift>] = &[
    Invariant { name: "one token", holds: one_token },
    Invariant { name: "edges lead to the token", holds: edges_lead_to_it },
    Invariant { name: "one request an edge", holds: one_request_an_edge },
];

/// The name of the bound.
pub const PASSED_OVER: &str = "nobody passed over too often";

/// No direction was passed over more often than the node has neighbours.
pub(super) fn nobody_passed_over_too_often<C: Clients>(
    at: &Situation<'_, TreeToken<Counted<C>>>,
) -> Result<(), String> {
    for (node, it) in at.up() {
        let Counted { passed, most, .. } = &it.clients;
        if let Some((who, times)) = passed.iter().find(|(_, times)| times > most) {
            let whom = if *who == node {
                String::from("its own request")
            } else {
                format!("the request of node {who}")
            };
            let neighbours = if *most == 1 { "neighbour" } else { "neighbours" };
            return Err(format!(
                "node {node} has passed over {whom} {times} times, and has {most} {neighbours}"
            ));
        }
    }
    Ok(())
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "lift",
    title: "Lift",
    solves: "mutual exclusion",
    citation: "lecture notes; after Raymond, 1989",
    assumes: Assumes::ANY_ORDER.on(Layout::Tree(&Topology::Tree(2))),
    takes: &[Parameter::Topology, Parameter::Holder],
    terms: Terms { tokens: &["TOKEN"], ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| messages(at, true)),
        SYNC_DELAY.costs(|at| sync_delay(at, true)),
        RESPONSE.costs(|at| response(at, 0)),
        BUSIEST.costs(|at| busiest(at, true)),
    ],
    flaws: FLAWS,
    page: page!("lift.rs"),
};

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "lowest-first",
    what: "of those that have called the lowest number is always next, so that two can keep a \
           third out",
    breaks: PASSED_OVER,
    shown_by: Demonstration::of(&[3, 3, 1]),
}];

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(ids: &[u32]) -> Calls {
        let mut calls = Calls::default();
        for &id in ids {
            calls.remember(NodeId(id));
        }
        calls
    }

    #[test]
    fn after_one_comes_the_next_and_after_the_last_the_first() {
        let next = |ids: &[u32], last| calls(ids).next(NodeId(0), NodeId(last)).map(|id| id.0);
        assert_eq!(next(&[4, 0, 2, 4], 2), Some(4));
        assert_eq!(next(&[4, 0, 2], 4), Some(0));
        assert_eq!(next(&[4, 0, 2], 0), Some(2));
        assert_eq!(next(&[4], 4), Some(4), "there is nobody else");
        assert_eq!(next(&[], 1), None);
        assert_eq!(calls(&[3, 3]).0, [NodeId(3)], "each once");
    }

    #[test]
    fn a_call_is_passed_over_at_most_as_often_as_there_are_others() {
        // Whatever the others do: after every stop, all that are not waiting call again.
        for late in 0..5_u32 {
            for first in 0..5 {
                let mut calls = Counted::new(calls(&[]), 4);
                let mut last = NodeId(first);
                let mut times = 0;
                loop {
                    (0..5).for_each(|id| calls.remember(NodeId(id)));
                    last = calls.next(NodeId(0), last).unwrap();
                    if last == NodeId(late) {
                        break;
                    }
                    times += 1;
                    assert!(calls.passed.contains(&(NodeId(late), times)));
                }
                assert!(times <= 4, "{late} was passed over {times} times");
            }
        }
    }
}
