//! Raymond's tree algorithm.
//!
//! K. Raymond, "A Tree-Based Algorithm for Distributed Mutual Exclusion", ACM Transactions on
//! Computer Systems 7(1), 1989, pp. 61–77.
//!
//! The nodes form a tree, and every node knows in which direction the token is. A node that wants
//! to enter puts itself into its queue and asks the neighbour in that direction; a neighbour that
//! is asked puts the requester into its own queue and asks on, but only if it has not asked
//! already. The token travels back the way that the requests came, from the head of one queue to
//! the head of the next, and every edge that it crosses turns around, so that all edges point to it
//! again.
//!
//! **Use it** where nodes are many: messages grow with the logarithm of N on a balanced tree, and
//! under saturation an entry takes four.
//!
//! ```text
//!          0                 4 asks 1, 1 asks 0           0
//!         / \     token      0 sends the token to 1,     ^ ^
//!        1   2    is at 0    1 sends it on to 4:        1   2
//!       / \                  the edges now point       v ^
//!      3   4                 from 0 to 1, from 1 to 4 4   3
//! ```
//!
//! | for an entry | alone | under saturation |
//! | --- | --- | --- |
//! | messages | 2d, twice the distance to the token | 4(N − 1)/N |
//! | synchronisation delay | – | 2(N − 1)/N · T on average |
//! | response | 2d · T + E | a tour of the tree |
//!
//! On a balanced tree the distance is O(log N). Under saturation the token tours the tree: N
//! entries cross each of the N − 1 edges twice, and with each crossing of the token goes one
//! request.
//!
//! **Assumes** that messages arrive, once, in any order: only a TOKEN and the REQUEST that follows
//! it can be under way on one edge in one direction, and if the REQUEST comes first it waits in the
//! queue for the token that follows.
//!
//! **Safe**: a node enters only while it has the token, it passes it on only when it is outside,
//! and a token is passed, never copied. **Live**: the edges lead from every node to the token (each
//! crossing turns just the edge that is crossed); along this way every node has asked the next, so
//! the request is in the queue of the token's holder. Queues are served in the order of arrival,
//! and each neighbour stands in them at most once: so the head moves on after every visit of the
//! token, and the token comes back as long as a request is left, since it is asked for when it is
//! sent away.
//!
//! **Greedy** nodes (`--greedy`) put their own request before those of their neighbours when the
//! token comes, which saves messages, but at most so many times in a row: without a bound, a node
//! that always wants to enter could keep the token from a neighbour for ever. The paper mentions
//! this and leaves the bound to the reader; by default no node is greedy.

use alloc::collections::VecDeque;

use vorrang_protocol::{Invariant, NodeId, NodeState, StateValue};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::tree_token::{Clients, TreeToken, edges_lead_to_it, one_request_an_edge, one_token};
use crate::card::{Assumes, Layout, Span};
use crate::recipe::Recipe;
use crate::setup::{Parameter, Setup};
use crate::topology::Topology;
use crate::topology::measure::{Shape, shape_of, towards};

/// One node.
pub type Raymond = TreeToken<Queue>;

/// First come, first served, but for a greedy node itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Queue {
    waiting: VecDeque<NodeId>,
    /// How often the node may still put itself first.
    ahead: u32,
    /// How often it may in a row.
    greedy: u32,
}

impl Queue {
    /// A queue in which the node may put itself first so many times in a row.
    pub const fn greedy(times: u32) -> Self {
        Self { waiting: VecDeque::new(), ahead: times, greedy: times }
    }
}

impl Clients for Queue {
    fn remember(&mut self, who: NodeId) {
        if !self.waiting.contains(&who) {
            self.waiting.push_back(who);
        }
    }
    fn next(&mut self, me: NodeId, _: NodeId) -> Option<NodeId> {
        let own = self.waiting.iter().position(|&it| it == me);
        if let Some(place) = own.filter(|&place| place > 0 && self.ahead > 0) {
            self.ahead -= 1;
            self.waiting.remove(place)
        } else {
            self.ahead = self.greedy;
            self.waiting.pop_front()
        }
    }
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
    fn state(&self) -> NodeState {
        let queue = StateValue::list(self.waiting.iter().copied());
        let state = NodeState::new().with("queue", queue);
        if self.greedy == 0 { state } else { state.with("may go first", self.ahead) }
    }
}

/// The nodes of a set-up, if its topology is a tree.
pub fn recipe() -> Recipe<Raymond> {
    Recipe::new(|setup| {
        let tree = setup.topology.tree(setup.group)?;
        let (way, greedy) = (towards(&tree, setup.holder), setup.greedy);
        Ok(move |id: NodeId| {
            TreeToken::new(id, way[id.index()].unwrap_or(id), Queue::greedy(greedy))
        })
    })
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Raymond>] = &[
    Invariant { name: "one token", holds: one_token },
    Invariant { name: "edges lead to the token", holds: edges_lead_to_it },
    Invariant { name: "one request an edge", holds: one_request_an_edge },
];

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "raymond",
    title: "Raymond's tree",
    solves: "mutual exclusion",
    citation: "Raymond, 1989",
    assumes: Assumes::ANY_ORDER.on(Layout::Tree(&Topology::Tree(2))),
    takes: &[Parameter::Topology, Parameter::Holder, Parameter::Greedy],
    terms: Terms { tokens: &["TOKEN"], ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| messages(at, at.setup.greedy == 0)),
        SYNC_DELAY.costs(|at| sync_delay(at, at.setup.greedy == 0)),
        RESPONSE.costs(|at| response(at, at.setup.greedy)),
        BUSIEST.costs(|at| busiest(at, at.setup.greedy == 0)),
    ],
    flaws: FLAWS,
    page: page!("raymond.rs"),
};

/// The tree of a set-up, measured: its diameter and mean distance, which all costs depend on.
fn tree(setup: &Setup) -> (f64, f64) {
    let shape = shape(setup);
    let known = "the distances in a tree are always measured";
    (shape.diameter.expect(known).into(), shape.mean_distance.expect(known))
}

fn shape(setup: &Setup) -> Shape {
    // Costs are asked for set-ups that nodes can be made for.
    shape_of(&setup.topology.tree(setup.group).expect("a tree"))
}

/// Whether all ask, and stay long enough that the request which follows a token has come before the
/// node leaves: else it would enter again and again before it has heard of anyone.
fn is_saturated(at: &Setting) -> bool {
    at.contenders == at.nodes() && at.hold >= 1.0
}

/// Two messages for every edge that the token crosses. Alone, it comes from wherever the last node
/// was that asked, which may be the same one; under saturation, where all ask and none is greedy,
/// it tours the tree.
pub(super) fn messages(at: &Setting, tours: bool) -> Span {
    let (diameter, mean) = tree(&at.setup);
    let range = Span::between(0.0, 2.0 * diameter);
    let share = at.others() / f64::from(at.nodes());
    match at.load {
        Load::Light if at.contenders == at.nodes() => range.typically(2.0 * mean * share),
        Load::Heavy if tours && is_saturated(at) => range.typically(4.0 * share),
        Load::Light | Load::Heavy => range,
    }
}

/// One message for every edge of the way from who leaves to who enters.
pub(super) fn sync_delay(at: &Setting, tours: bool) -> Span {
    let (diameter, _) = tree(&at.setup);
    let range = Span::between(0.0, diameter);
    let share = at.others() / f64::from(at.nodes());
    match at.load {
        Load::Heavy if tours && is_saturated(at) => range.typically(2.0 * share),
        Load::Light | Load::Heavy => range,
    }
}

/// There and back; under saturation after a tour at most, which takes two messages for every edge
/// and a stay for every node. Where nodes are greedy, everyone may have stayed so much more often.
pub(super) fn response(at: &Setting, greedy: u32) -> Span {
    let (diameter, mean) = tree(&at.setup);
    let share = at.others() / f64::from(at.nodes());
    let alone = Span::between(at.hold, 2.0 * diameter + at.hold);
    match at.load {
        Load::Light if at.contenders == at.nodes() => alone.typically(2.0 * mean * share + at.hold),
        Load::Light => alone,
        Load::Heavy => {
            let nodes = f64::from(at.nodes());
            let tour = nodes * at.hold + 2.0 * at.others();
            Span::between(at.hold, 2.0 * diameter + tour * (1.0 + f64::from(greedy)))
        }
    }
}

/// The messages that a node handles: the path from one entry to the next takes at most two of its
/// edges, with two messages for each. In a tour each edge is taken twice.
pub(super) fn busiest(at: &Setting, tours: bool) -> Span {
    let range = Span::between(0.0, 4.0);
    match at.load {
        Load::Heavy if tours && is_saturated(at) => {
            let degree = shape(&at.setup).most_degree as f64;
            range.typically(4.0 * degree / f64::from(at.nodes()))
        }
        Load::Light | Load::Heavy => range,
    }
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "given-away-inside",
        what: "the holder of the token sends it to any node that asks, even from inside",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "token-doubled",
        what: "a node that leaves sends the token on and keeps it",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[2, 1, 0]),
    },
    Flaw {
        name: "token-lost",
        what: "a node that leaves turns the edge and forgets to send the token over it",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 0]),
    },
    Flaw {
        name: "request-forgotten",
        what: "a node that sends the token away does not ask for it on behalf of those who wait",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "edge-not-turned",
        what: "a node that passes the token on still points to where it came from",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn served(greedy: u32, asks: &[u32]) -> Vec<u32> {
        let mut queue = Queue::greedy(greedy);
        for &id in asks {
            queue.remember(NodeId(id));
        }
        core::iter::from_fn(|| queue.next(NodeId(0), NodeId(0))).map(|id| id.0).collect()
    }

    #[test]
    fn who_comes_first_is_served_first_and_each_once() {
        assert_eq!(served(0, &[3, 0, 3, 1]), [3, 0, 1]);
    }

    #[test]
    fn a_greedy_node_puts_itself_first_but_not_too_often_in_a_row() {
        assert_eq!(served(1, &[3, 1, 0]), [0, 3, 1]);
        let mut queue = Queue::greedy(2);
        queue.remember(NodeId(3));
        let mut own = 0;
        loop {
            queue.remember(NodeId(0));
            match queue.next(NodeId(0), NodeId(0)) {
                Some(NodeId(0)) => own += 1,
                other => break assert_eq!(other, Some(NodeId(3))),
            }
        }
        assert_eq!(own, 2);
        queue.remember(NodeId(3));
        assert_eq!(
            queue.next(NodeId(0), NodeId(0)),
            Some(NodeId(0)),
            "it was next, and may be first again"
        );
        queue.remember(NodeId(0));
        assert_eq!(queue.next(NodeId(0), NodeId(0)), Some(NodeId(0)));
    }

    #[test]
    fn a_topology_that_is_no_tree_is_refused() {
        let setup =
            Setup { topology: Topology::Ring, ..Setup::new(vorrang_protocol::Group::of(5)) };
        let refused = recipe().nodes(&setup).err().unwrap();
        assert!(refused.0.contains("a tree is needed"), "{refused}");
    }
}
