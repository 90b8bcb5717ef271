//! Beverly Sanders, "The information structure of distributed mutual exclusion algorithms", ACM
//! Transactions on Computer Systems 5(3), 1987.
//!
//! One algorithm for all that ask for permission: every node has a set R of nodes that it asks, and
//! a set I of nodes that it informs when it has left. A node that is asked gives permission to the
//! oldest request; if it will be informed of the exit it gives no other until then. By the choice
//! of the sets this is a central coordinator (R = I = one node for all), Lamport's algorithm (R = I
//! = all), Ricart and Agrawala's (R = all, I = the node itself) or Maekawa's (R = I = a quorum),
//! and much in between.
//!
//! **Use it** to compare: with other sets it is the central algorithm, Lamport's, Ricart and
//! Agrawala's or Maekawa's, and anything between.
//!
//! ```text
//!            asks only                 0: R = {0, 1}, I = {0}        2: R = I = {0, 1, 2}
//!          0 ◄────────► 1              1: R = {0, 1}, I = {1}        3: R = I = {0, 1, 3}
//!          ▲ ▲        ▲ ▲
//!          │ └──────┐ │ │              0 and 1 answer each other and are done; 2 and 3 also tell
//!    asks  │ ┌──────┼─┘ │  asks        them when they leave. (The example of the paper, as far as
//!    and   │ │      │   │  and         its figures determine it.)
//!  informs 2        3───┘  informs
//! ```
//!
//! | per entry of node i | cost |
//! | --- | --- |
//! | messages | \|I − i\| + 2\|R − i\| without contention; at most 4 more for each of R |
//! | synchronisation delay, i to j | 2T if both inform the same node, else T; less if it is i, j |
//! | response without contention | 2T + E |
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. Of any two nodes, both must inform a common one, or each must ask the other and
//! inform itself, and a node also asks those that it informs: other structures are refused, with
//! the two nodes that could be inside together (`--structure`).
//!
//! **Why it is safe.** If two nodes inform a common one, that one has given permission to one of
//! them only, and gives it to the other when it is informed. If each asks the other and informs
//! itself, each has its own lock while it is inside; of two that ask at the same time, the older
//! one's node is not free to give permission to the younger.
//!
//! **Why no request starves.** As in [Maekawa's algorithm](super::maekawa): a request that has a
//! permission needed by an older one, and cannot have all, gives it back.
//!
//! **Where we depart from the paper.** The rules against deadlock are those of
//! [`maekawa`](super::maekawa), corrected; the paper leaves them to that algorithm. Without them
//! nearly every structure deadlocks, even that of Ricart and Agrawala, since every node gives
//! permission to itself first (the flaw `no-way-back`). A coordinator that all inform is accepted
//! though no node informs itself: nothing else is needed where all inform a common node. The bound
//! on messages is the paper's; no run that we have seen comes near it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use vorrang_protocol::{Invariant, NodeId, NodeSet, NodeState, StateValue};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::lemmas::locking::{
    nothing_is_kept_in_vain, one_lock_an_arbiter, those_in_the_way_are_told,
};
use super::locking::{Locking, Structure};
use super::theory;
use crate::card::{Assumes, Span};
use crate::recipe::Recipe;
use crate::setup::{Parameter, Setup, Unfit};
use crate::structure::{Sets, bounds};

/// One node.
pub type Sanders = Locking<Informed>;

/// The sets of a node, and who informs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Informed {
    sets: Arc<Sets>,
    /// Whose exits it is told of: St.
    tracked: Arc<NodeSet>,
}

impl Structure for Informed {
    fn asks(&self) -> &[NodeId] {
        &self.sets.asks
    }
    fn informs(&self) -> &[NodeId] {
        &self.sets.informs
    }
    fn is_told_by(&self, asker: NodeId) -> bool {
        self.tracked.contains(asker)
    }
    fn turn(&mut self) {}
    fn sets(&self) -> NodeState {
        NodeState::new()
            .with("R", StateValue::set(self.sets.asks.iter().copied()))
            .with("I", StateValue::set(self.sets.informs.iter().copied()))
            .with("St", &*self.tracked)
    }
}

fn made_of(
    sets: impl Fn(&Setup) -> Result<Vec<Sets>, Unfit> + Send + Sync + 'static,
) -> Recipe<Sanders> {
    Recipe::new(move |setup| {
        let sets = sets(setup)?;
        let tracked: Vec<_> = bounds::informed_by(&sets).into_iter().map(Arc::new).collect();
        let sets: Vec<_> = sets.into_iter().map(Arc::new).collect();
        Ok(move |id: NodeId| {
            let (sets, tracked) = (sets[id.index()].clone(), tracked[id.index()].clone());
            Locking::new(id, Informed { sets, tracked })
        })
    })
}

/// The nodes of a set-up, if its structure is safe.
pub fn recipe() -> Recipe<Sanders> {
    made_of(|setup| setup.structure.sets(setup.group, &setup.quorum))
}

/// The nodes of a set-up, whether its structure is safe or not.
pub(crate) fn unchecked() -> Recipe<Sanders> {
    made_of(|setup| setup.structure.unchecked(setup.group, &setup.quorum))
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Sanders>] = &[
    Invariant { name: "one lock an arbiter", holds: one_lock_an_arbiter },
    Invariant { name: "those in the way are told", holds: those_in_the_way_are_told },
    Invariant { name: "nothing is kept in vain", holds: nothing_is_kept_in_vain },
];

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "sanders",
    title: "Sanders' generalised algorithm",
    solves: "mutual exclusion",
    citation: "Sanders, ACM TOCS 5(3), 1987",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::Structure, Parameter::Quorum],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|_| Span::between(0.0, theory::MOST_LOCKING_DELAY)),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_some(messages(at), at)),
    ],
    flaws: FLAWS,
    page: page!("sanders.rs"),
};

fn sets(at: &Setting) -> Vec<Sets> {
    // Costs are asked for set-ups that nodes can be made for.
    at.setup.structure.sets(at.setup.group, &at.setup.quorum).expect("a safe structure")
}

/// From the least to the most of what an entry costs those who ask, and the mean.
fn of_contenders(at: &Setting, costs: impl Iterator<Item = f64>) -> Span {
    let costs: Vec<f64> = costs.take(at.contenders as usize).collect();
    let low = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = costs.iter().copied().fold(0.0, f64::max);
    if low >= high {
        return Span::exactly(low);
    }
    Span::between(low, high).typically(costs.iter().sum::<f64>() / costs.len() as f64)
}

/// The paper's bounds.
fn messages(at: &Setting) -> Span {
    let sets = sets(at);
    let informed_by = bounds::informed_by(&sets);
    let nodes = || (0..).map(NodeId).zip(&sets);
    let of = |(id, sets): (NodeId, &Sets)| bounds::messages(id, sets, &informed_by);
    let least = of_contenders(at, nodes().map(|it| f64::from(of(it).0)));
    if at.load == Load::Light || at.contenders == 1 {
        return least;
    }
    let most = of_contenders(at, nodes().map(|it| f64::from(of(it).1)));
    Span::between(least.low, most.high)
}

/// There and back, unless a node asks only itself.
fn response(at: &Setting) -> Span {
    let sets = sets(at);
    let asks = |(id, sets): (NodeId, &Sets)| {
        at.hold + if theory::others(id, &sets.asks) > 0.0 { 2.0 } else { 0.0 }
    };
    let alone = of_contenders(at, (0..).map(NodeId).zip(&sets).map(asks));
    match at.load {
        Load::Light => alone,
        Load::Heavy if at.contenders == 1 => alone,
        Load::Heavy => alone.or(theory::queue_of(at.contenders, theory::MOST_LOCKING_DELAY, at)),
    }
}

const EXAMPLE: (Parameter, &str) = (Parameter::Structure, "sets:0-1/0,0-1/1,0-1-2,0-1-3");

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-way-back",
        what: "permissions are not given back for older requests, as the paper leaves open",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 1]).given(&[EXAMPLE]),
    },
    Flaw {
        name: "nobody-in-common",
        what: "a structure is used in which two nodes neither inform a common one nor ask each \
               other",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[0, 1, 1, 0])
            .given(&[(Parameter::Structure, "sets:0-1/0,0-1/1,0-2,0-1-3")]),
    },
    Flaw {
        name: "informs-not-itself",
        what: "a structure is used in which two nodes ask each other and one does not inform \
               itself",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 0, 0])
            .given(&[(Parameter::Structure, "sets:0-1/,0-1/1,0-1-2,0-1-3")]),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, Outbox, Protocol as _};

    use super::*;
    use crate::mutex::locking::Message;
    use crate::mutex::{Claim, Command, Notice};

    fn set_up(structure: &str, nodes: u32) -> Setup {
        let structure = structure.parse().unwrap();
        Setup { structure, ..Setup::new(Group::of(nodes)) }
    }

    fn cost(structure: &str, nodes: u32, load: Load) -> Span {
        let setup = set_up(structure, nodes);
        messages(&Setting { setup, contenders: nodes, load, hold: 1.0 })
    }

    #[test]
    fn the_example_costs_what_the_paper_says() {
        assert_eq!(cost(EXAMPLE.1, 4, Load::Light), Span::between(2.0, 6.0).typically(4.0));
        assert_eq!(cost(EXAMPLE.1, 4, Load::Heavy), Span::between(2.0, 15.0));
    }

    #[test]
    fn the_known_algorithms_cost_what_they_do() {
        assert_eq!(cost("lamport", 5, Load::Light), Span::exactly(12.0));
        assert_eq!(cost("ricart-agrawala", 5, Load::Light), Span::exactly(8.0));
        assert_eq!(cost("maekawa", 7, Load::Light), Span::exactly(6.0));
        assert_eq!(cost("central", 3, Load::Light), Span::between(0.0, 3.0).typically(2.0));
        assert_eq!(cost("lamport", 5, Load::Heavy), Span::between(12.0, 12.0 + 20.0));
        assert_eq!(cost("ricart-agrawala", 5, Load::Heavy), Span::between(8.0, 8.0 + 5.0));
    }

    /// Node 0 of the example tracks 0, 2 and 3, and gives node 1 permission without a lock.
    #[test]
    fn whoever_will_not_tell_is_not_waited_for() {
        let node = recipe().nodes(&set_up(EXAMPLE.1, 4)).unwrap();
        let (mut node, mut fx) = (node(NodeId(0)), Outbox::default());
        let mut request = |from: u32, time: u64| {
            node.on_message(NodeId(from), Message::Request { time }, &mut fx);
            fx.take()
        };
        let locked =
            |to: u32, time: u64| Effect::Send { to: NodeId(to), message: Message::Locked { time } };
        assert_eq!(request(1, 1), [locked(1, 1)]);
        assert_eq!(request(2, 2), [locked(2, 2)], "it is free");
        let refused = Effect::Send { to: NodeId(3), message: Message::Failed { time: 3 } };
        assert_eq!(request(3, 3), [refused]);
    }

    #[test]
    fn whoever_leaves_tells_those_whom_it_informs() {
        let node = recipe().nodes(&set_up(EXAMPLE.1, 4)).unwrap();
        let (mut node, mut fx) = (node(NodeId(1)), Outbox::default());
        node.on_command(Command::Acquire(Claim::Exclusive), &mut fx).unwrap();
        let asked = Effect::Send { to: NodeId(0), message: Message::Request { time: 1 } };
        assert_eq!(fx.take(), [asked], "it has its own permission without a message");
        node.on_message(NodeId(0), Message::Locked { time: 1 }, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [], "it informs only itself");
    }
}
