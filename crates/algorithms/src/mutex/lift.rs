//! The lift: a token on a tree that stops where it passes.
//!
//! A token moves on a spanning tree like a lift in its shaft. Every edge points towards it and turns
//! around as it passes; a call follows the edges, and a node that has called once does not call
//! again, however many call through it: it only remembers from which directions. When the token
//! comes, the node lets it stop or sends it on in one of these directions, and if others are left,
//! calls it back right behind it.
//!
//! ```text
//!     1 → 0 ← 2     the token is at 0; 1 and 2 have called
//!     1 ← 0 ← 2     0 has sent it to 1, and calls it back for 2
//!     1 → 0 ← 2     1 has left and sent it back
//!     1 → 0 → 2     0 sends it on to 2: nobody else has called
//! ```
//!
//! | | alone | under saturation |
//! | --- | --- | --- |
//! | messages | 2d, twice the distance to the token | 4(N − 1)/N |
//! | synchronisation delay | – | 2(N − 1)/N · T on average |
//! | response | 2d · T + E | a tour of the tree |
//!
//! This is [Raymond's algorithm](super::raymond) with a set where that has a queue, and both are one
//! machine, [`super::tree_token`]. A set does not know who came first; so somebody must see to it
//! that no direction is passed over for ever. Here each direction carries how often it was passed
//! over since it called, and the one that was passed over most often is next, of equals the one with
//! the lowest number. Then a direction is passed over at most as often as there are others at the
//! node, its degree: of those that were there when it called each goes before it once at most, and
//! whoever calls later has been passed over less often.
//!
//! **Assumes** that messages arrive, once, in any order, as in Raymond's algorithm.
//!
//! **Safe** for the same reason: the token is passed, never copied, and never from inside. **Live**
//! as well: along the edges every node has called the next, so whoever has the token knows the
//! direction of each that waits, and passes over it a bounded number of times.
//!
//! The tree is given here.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Invariant, NodeId, Situation};

use super::card::{Card, Demonstration, Flaw, MESSAGES, RESPONSE, SYNC_DELAY, Terms};
use super::raymond::{messages, response, sync_delay};
use super::tree_token::{Clients, TreeToken, edges_lead_to_it, one_request_an_edge, one_token};
use crate::card::{Assumes, Layout};
use crate::registry::Recipe;
use crate::setup::{Parameter, Unfit};
use crate::topology::Topology;
use crate::topology::measure::towards;

/// One node.
pub type Lift = TreeToken<Calls>;

/// Directions that have called, and whether the node itself has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Calls {
    /// Who has called, by number, and how often it was passed over since.
    pub(super) waiting: Vec<(NodeId, u32)>,
    /// As often as any may be passed over.
    most: u32,
}

impl Calls {
    /// Nobody has called a node that has so many neighbours.
    pub const fn new(neighbours: u32) -> Self {
        Self { waiting: Vec::new(), most: neighbours }
    }

    /// Takes out the one at that place: all others are passed over.
    pub(super) fn serve(&mut self, place: usize) -> NodeId {
        let (next, _) = self.waiting.remove(place);
        for (_, passed) in &mut self.waiting {
            *passed += 1;
        }
        next
    }
}

impl Clients for Calls {
    fn remember(&mut self, who: NodeId) {
        if let Err(place) = self.waiting.binary_search_by_key(&who, |&(id, _)| id) {
            self.waiting.insert(place, (who, 0));
        }
    }
    fn next(&mut self, _: NodeId) -> Option<NodeId> {
        let places = (0..self.waiting.len()).rev();
        let place = places.max_by_key(|&place| self.waiting[place].1)?;
        Some(self.serve(place))
    }
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The nodes of a set-up, if its topology is a tree.
pub fn recipe() -> Recipe<Lift> {
    with(Calls::new)
}

/// The nodes of a set-up, whose calls are kept in this way.
pub(super) fn with<C: Clients>(calls: fn(u32) -> C) -> Recipe<TreeToken<C>> {
    Recipe::new(move |setup| {
        let tree = setup.topology.tree(setup.group)?;
        let way = towards(&tree, setup.holder);
        Ok::<_, Unfit>(move |id: NodeId| {
            let neighbours = tree.neighbours(id).len() as u32;
            TreeToken::new(id, way[id.index()].unwrap_or(id), calls(neighbours))
        })
    })
}

/// What its proof rests on.
pub const INVARIANTS: &[Invariant<Lift>] = &[
    Invariant { name: "one token", holds: one_token },
    Invariant { name: "edges lead to the token", holds: edges_lead_to_it },
    Invariant { name: "one request an edge", holds: one_request_an_edge },
    Invariant { name: PASSED_OVER, holds: |at| nobody_passed_over_too_often(at, |it| it) },
];

/// The name of the bound.
pub const PASSED_OVER: &str = "nobody passed over too often";

/// No direction was passed over more often than the node has neighbours.
pub(super) fn nobody_passed_over_too_often<C: Clients>(
    at: &Situation<'_, TreeToken<C>>,
    calls: fn(&C) -> &Calls,
) -> Result<(), String> {
    for (node, it) in at.up() {
        let Calls { waiting, most } = calls(&it.clients);
        if let Some((who, passed)) = waiting.iter().find(|(_, passed)| passed > most) {
            return Err(format!(
                "node {node} has passed over {who} {passed} times, and has {most} neighbours"
            ));
        }
    }
    Ok(())
}

/// What the algorithm says of itself.
pub const CARD: Card = Card {
    name: "lift",
    title: "Lift",
    solves: "mutual exclusion",
    citation: "lecture notes; after Raymond, 1989",
    assumes: Assumes::ANY_ORDER.on(Layout::Tree(&Topology::Tree(2))),
    takes: &[Parameter::Topology, Parameter::Holder],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(|at| messages(at, true)),
        SYNC_DELAY.costs(|at| sync_delay(at, true)),
        RESPONSE.costs(|at| response(at, 0)),
    ],
    flaws: FLAWS,
    source: include_str!("lift.rs"),
};

/// What people get wrong; built in [`super::flaws`].
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

    #[test]
    fn who_was_passed_over_most_often_is_next() {
        let mut calls = Calls::new(3);
        let me = NodeId(0);
        for id in [2, 1, 2] {
            calls.remember(NodeId(id));
        }
        assert_eq!(calls.next(me), Some(NodeId(1)), "of equals the lowest");
        calls.remember(NodeId(1));
        calls.remember(NodeId(0));
        assert_eq!(calls.next(me), Some(NodeId(2)), "it was passed over");
        assert_eq!(calls.waiting, [(NodeId(0), 1), (NodeId(1), 1)]);
        assert_eq!(calls.next(me), Some(NodeId(0)));
        assert_eq!((calls.next(me), calls.next(me)), (Some(NodeId(1)), None));
        assert!(calls.is_empty());
    }

    #[test]
    fn a_call_is_passed_over_at_most_as_often_as_there_are_others() {
        // Whatever the others do: after every stop, all that are not waiting call again.
        for late in 0..5_u32 {
            let mut calls = Calls::new(4);
            let others = || (0..5).filter(move |&id| id != late).map(NodeId);
            let mut passed = 0;
            others().for_each(|id| calls.remember(id));
            calls.remember(NodeId(late));
            while calls.next(NodeId(0)) != Some(NodeId(late)) {
                passed += 1;
                others().for_each(|id| calls.remember(id));
            }
            assert!(passed <= 4, "{late} was passed over {passed} times");
        }
    }
}
