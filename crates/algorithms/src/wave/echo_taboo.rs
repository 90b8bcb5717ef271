//! Echo with taboo sets: Matthias Werner, lectures on distributed systems, TU Chemnitz, chapter 7;
//! its rule for red nodes corrected.
//!
//! As [`echo`](super::echo), but an EXPLORER names the nodes that need not be explored any more:
//! they have been sent an EXPLORER, or are being sent one. The initiator names itself and all its
//! neighbours. A node that takes part explores only those neighbours that were not named, and names
//! them in addition. Links between nodes that know of each other then carry nothing. The price is
//! that nodes must know their neighbours by name, and that EXPLORERs grow with the graph.
//!
//! **Use it** like the echo where there are many more links than nodes, and a longer message is
//! cheaper than one more.
//!
//! ```text
//!   0  ──EXPLORER(0,1,2)─┬─┬───▲───▲──[ done: 3 nodes, sum 3 ]──►
//!                        │ │   │   │
//!   1  ──────────────────▼─│──ECHO─│────────────────────────────►
//!                          │       │       1 and 2 are linked, and each
//!   2  ────────────────────▼──────ECHO     knows that the other is told ──►
//! ```
//!
//! | n nodes, e links, the farthest D links from the initiator | cost |
//! | --- | --- |
//! | messages | 2(n − 1) at best, as in a tree; 2e at worst |
//! | depth of the tree | D, if every message takes T; else up to n − 1 |
//! | duration, if every message takes T | 2D·T; up to 2T more if two of the farthest are linked |
//!
//! **Assumes** what [`echo`](super::echo) assumes, and that nodes know their neighbours' names.
//!
//! **What it saves.** A link on which anything is sent carries two messages: an EXPLORER, and an
//! ECHO or another EXPLORER. The initiator's neighbours stand in every set, so links between them
//! are never used, and each of them explores all of the next level: these links are always used. So
//! there are 2·(links of the first two levels + nodes beyond them) messages at least, and 2·(e −
//! links between neighbours of the initiator) at most. How many of the other links are saved
//! depends on timing.
//!
//! **Why all take part.** Let u take part and v be its neighbour. Either u explores v, or v was
//! named in the set that reached u; the first node to name v, on the path from the initiator to u,
//! sends v an EXPLORER in the same step.
//!
//! **Why the initiator is told.** Every EXPLORER is answered: by the ECHO of the node that joins
//! through it, by an EXPLORER that crosses it, or else at once, by an ECHO that counts nothing. The
//! rule as it is printed lets a red node ignore EXPLORERs as in the plain algorithm. There its own
//! EXPLORER would be the answer; here it may not have sent one, and the sender waits for ever (the
//! flaw `swallows-explorers`, on a ring of four).
//!
//! **How long it takes.** If every message takes T, a node that is d links away joins at d·T, as in
//! the plain algorithm: all links between levels are explored, since a node that is named in a set
//! is at most one level further than the node that named it. What is different is a link within a
//! level: it may be saved, or both ends explore it and wait for T, or one of them does and waits
//! for 2T. So 2D·T is met exactly unless two of the farthest are linked, and even then if they are
//! neighbours of the initiator.
//!
//! **Where we depart from the lecture.** In the answer to an EXPLORER that does not cross another,
//! as said.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Graph, Invariant, Message as _, Never, NodeId, NodeState, Protocol, Refused, SortedSet,
};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, TREE_DEPTH, Terms};
use super::echo::tree_depth;
use super::invariants::{Echoing, Phase, Red, invariants};
use super::{ALREADY_STARTED, Command, Gathered, NOT_THE_INITIATOR, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::setup::{Parameter, Setup, Unfit};
use crate::topology::Topology;

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Here comes the wave, and these need not be explored.
    Explorer(SortedSet<NodeId>),
    /// It is back, with what was gathered beyond this link.
    Echo(Gathered),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["EXPLORER", "ECHO"];

    fn kind(&self) -> usize {
        match self {
            Self::Explorer(_) => 0,
            Self::Echo(_) => 1,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())?;
        match self {
            Self::Explorer(taboo) => {
                for (place, id) in taboo.iter().enumerate() {
                    write!(f, "{}{id}", if place == 0 { '(' } else { ',' })?;
                }
                f.write_str(if taboo.is_empty() { "()" } else { ")" })
            }
            Self::Echo(gathered) => write!(f, "({gathered})"),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EchoTaboo {
    me: NodeId,
    neighbours: Arc<[NodeId]>,
    is_initiator: bool,
    /// What it gives: its value.
    own: Gathered,
    pub(super) colour: Colour,
}

/// How far the wave is at a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Colour {
    /// Not here yet.
    White,
    /// Passed on, and not back yet.
    Red(Red),
    /// Back.
    Green {
        /// The other end of the activation edge, from which nothing more is to be answered.
        parent: Option<NodeId>,
    },
}

impl EchoTaboo {
    /// A node of a graph.
    pub fn new(me: NodeId, graph: &Graph, initiator: NodeId) -> Self {
        let neighbours = graph.neighbours(me).into();
        let is_initiator = me == initiator;
        Self { me, neighbours, is_initiator, own: Gathered::of(me), colour: Colour::White }
    }

    /// The same node, which gives this instead of its number.
    #[must_use]
    pub fn giving(self, own: Gathered) -> Self {
        Self { own, ..self }
    }

    /// Takes part, and explores all neighbours but those that are taboo.
    fn explore(
        &mut self,
        parent: Option<NodeId>,
        mut taboo: SortedSet<NodeId>,
        fx: &mut impl Effects<Self>,
    ) {
        let pending: Vec<NodeId> =
            self.neighbours.iter().copied().filter(|id| !taboo.contains(id)).collect();
        taboo.extend(pending.iter().copied());
        fx.broadcast(pending.iter().copied(), Message::Explorer(taboo));
        self.colour = Colour::Red(Red { parent, pending, gathered: self.own.clone() });
    }

    /// Tells the sender of an explorer that no node joins through it. (A duplicate over the
    /// activation edge is not answered: the ECHO will be the answer.)
    fn decline(&self, parent: Option<NodeId>, from: NodeId, fx: &mut impl Effects<Self>) {
        if parent != Some(from) && self.neighbours.contains(&from) {
            fx.send(from, Message::Echo(Gathered::NOTHING));
        }
    }

    /// Echoes when all answers are there.
    fn echo_if_all_answered(&mut self, fx: &mut impl Effects<Self>) {
        let Colour::Red(Red { parent, pending, gathered }) = &self.colour else { return };
        if !pending.is_empty() {
            return;
        }
        match *parent {
            Some(parent) => fx.send(parent, Message::Echo(gathered.clone())),
            None => fx.notify(Notice::Done(gathered.clone())),
        }
        self.colour = Colour::Green { parent: *parent };
    }
}

impl Protocol for EchoTaboo {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(
        &mut self,
        Command::Start: Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        if !self.is_initiator {
            return Err(Refused(NOT_THE_INITIATOR));
        }
        if self.colour != Colour::White {
            return Err(Refused(ALREADY_STARTED));
        }
        self.explore(None, SortedSet::from([self.me]), fx);
        self.echo_if_all_answered(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match (&mut self.colour, message) {
            (Colour::White, Message::Explorer(taboo)) if self.neighbours.contains(&from) => {
                fx.notify(Notice::Joined { parent: from });
                self.explore(Some(from), taboo, fx);
            }
            (Colour::Red(red), Message::Explorer(_)) => {
                // On a link that this node explores itself, the two answer each other.
                if !red.takes_answer(from) {
                    let parent = red.parent;
                    self.decline(parent, from, fx);
                }
            }
            (&mut Colour::Green { parent }, Message::Explorer(_)) => {
                self.decline(parent, from, fx);
            }
            (Colour::Red(red), Message::Echo(gathered)) => {
                if red.takes_answer(from) {
                    red.gathered = mem::replace(&mut red.gathered, Gathered::NOTHING).and(gathered);
                }
            }
            // A duplicate, or a message from outside the group.
            (Colour::White, _) | (Colour::Green { .. }, Message::Echo(_)) => {}
        }
        self.echo_if_all_answered(fx);
    }

    fn state(&self) -> NodeState {
        let state =
            |colour| NodeState::new().with("colour", colour).with("initiator", self.is_initiator);
        match &self.colour {
            Colour::White => state("white"),
            Colour::Red(red) => state("red").and(red.state()),
            Colour::Green { parent } => state("green").with("parent", *parent),
        }
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<EchoTaboo>] = &invariants();

impl Echoing for EchoTaboo {
    fn own(&self) -> &Gathered {
        &self.own
    }
    fn phase(&self) -> Phase<'_> {
        match &self.colour {
            Colour::White => Phase::Before,
            Colour::Red(red) => Phase::Waiting(red),
            Colour::Green { .. } => Phase::After { is_initiator: self.is_initiator },
        }
    }
    fn echo(message: &Message) -> Option<Gathered> {
        match message {
            Message::Explorer(_) => None,
            Message::Echo(gathered) => Some(gathered.clone()),
        }
    }
}

/// A way to make the nodes of a set-up.
///
/// # Errors
///
/// If the graph does not hold together, or has too many nodes: an EXPLORER may have to name them
/// all, and there may be as many EXPLORERs as links.
pub fn nodes(setup: &Setup) -> Result<impl Fn(NodeId) -> EchoTaboo + use<>, Unfit> {
    const MOST_NODES: u32 = 4_000;
    let nodes = setup.group.size();
    if nodes > MOST_NODES {
        return Err(Unfit(format!(
            "--nodes {nodes} is too many for {}: its messages name up to all nodes, so at most \
             {MOST_NODES}",
            CARD.name
        )));
    }
    let (graph, setup) = (setup.topology.graph(setup.group)?, setup.clone());
    Ok(move |id| EchoTaboo::new(id, &graph, setup.initiator).giving(Gathered::given(&setup, id)))
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "echo-taboo",
    title: "Echo with taboo sets",
    solves: "wave",
    citation: "Werner, lectures at TU Chemnitz, ch. 7; corrected",
    assumes: Assumes::ANY_ORDER.on(Layout::Connected(&Topology::Ring)),
    takes: &[Parameter::Topology, Parameter::Initiator, Parameter::Aggregate, Parameter::Values],
    terms: Terms::Traversal,
    theory: &[MESSAGES.costs(messages), TREE_DEPTH.costs(tree_depth), DURATION.costs(duration)],
    flaws: FLAWS,
    page: page!("echo_taboo.rs"),
};

/// Two for every link that is used: those of the first two levels, one at least for every node
/// beyond, and none between neighbours of the initiator.
fn messages(at: &Setting) -> Span {
    let least = at.first_two_levels + at.beyond;
    Span::between((2 * least) as f64, (2 * (at.edges - at.among_neighbours)) as f64)
}

fn duration(at: &Setting) -> Span {
    let there_and_back = (2 * at.farthest) as f64;
    // Links between neighbours of the initiator are not used.
    if at.farthest_linked && at.farthest > 1 {
        Span::between(there_and_back, there_and_back + 2.0)
    } else {
        Span::exactly(there_and_back)
    }
}

/// Built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "swallows-explorers",
        what: "a red node answers no explorer, as the rule is printed: a node that is not \
               explored in turn waits for ever",
        breaks: "termination",
        shown_by: Demonstration { nodes: 4, topology: &Topology::Ring },
    },
    Flaw {
        name: "stranger-is-counted",
        what: "the echo that answers an explorer at once counts its sender, who has joined \
               through another",
        breaks: "aggregate",
        shown_by: Demonstration { nodes: 4, topology: &Topology::Ring },
    },
];

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;
    use crate::wave::Summed;

    fn node(text: &str, nodes: u32, me: u32) -> EchoTaboo {
        let topology: Topology = text.parse().unwrap();
        EchoTaboo::new(NodeId(me), &topology.graph(Group::of(nodes)).unwrap(), NodeId(0))
    }

    fn explorer(taboo: &[u32]) -> Message {
        Message::Explorer(taboo.iter().copied().map(NodeId).collect())
    }

    fn echo(count: u64, sum: u64) -> Message {
        Message::Echo(Summed { count, sum }.into())
    }

    fn sent(to: u32, message: Message) -> Effect<EchoTaboo> {
        Effect::Send { to: NodeId(to), message }
    }

    fn effects(node: &mut EchoTaboo, from: u32, message: Message) -> Vec<Effect<EchoTaboo>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), message, &mut fx);
        fx.take()
    }

    #[test]
    fn an_explorer_names_its_receivers_and_all_that_were_named_before() {
        let mut fx = Outbox::default();
        node("ring", 4, 0).on_command(Command::Start, &mut fx).unwrap();
        let first = explorer(&[0, 1, 3]);
        assert_eq!(fx.take(), [sent(1, first.clone()), sent(3, first.clone())]);
        let joined = Effect::Notify(Notice::Joined { parent: NodeId(0) });
        let told = effects(&mut node("ring", 4, 1), 0, first);
        assert_eq!(told, [joined, sent(2, explorer(&[0, 1, 2, 3]))]);
    }

    #[test]
    fn whoever_is_named_is_not_explored() {
        let joined = Effect::Notify(Notice::Joined { parent: NodeId(0) });
        let told = effects(&mut node("complete", 4, 1), 0, explorer(&[0, 1, 2, 3]));
        assert_eq!(told, [joined, sent(0, echo(1, 1))]);
    }

    #[test]
    fn an_explorer_that_does_not_cross_another_is_answered_with_nothing() {
        let mut green = node("ring", 4, 2);
        effects(&mut green, 1, explorer(&[0, 1, 2, 3]));
        assert_eq!(effects(&mut green, 3, explorer(&[0, 1, 2, 3])), [sent(3, echo(0, 0))]);
        let mut red = node("links:0-1,0-2,1-3,2-3,3-4", 5, 3);
        effects(&mut red, 1, explorer(&[0, 1, 2, 3]));
        assert_eq!(effects(&mut red, 2, explorer(&[0, 1, 2, 3])), [sent(2, echo(0, 0))]);
        assert_eq!(effects(&mut red, 4, echo(1, 4)), [sent(1, echo(2, 7))]);
    }

    #[test]
    fn explorers_that_cross_answer_each_other() {
        // 2 and 3 have joined through different nodes, and do not know of each other.
        let mut node = node("ring", 5, 2);
        let joined = Effect::Notify(Notice::Joined { parent: NodeId(1) });
        let told = effects(&mut node, 1, explorer(&[0, 1, 2, 4]));
        assert_eq!(told, [joined, sent(3, explorer(&[0, 1, 2, 3, 4]))]);
        assert_eq!(effects(&mut node, 3, explorer(&[0, 1, 2, 3, 4])), [sent(1, echo(1, 2))]);
    }

    #[test]
    fn strangers_and_what_comes_twice_change_nothing() {
        let mut node = node("line", 4, 1);
        for (from, message) in [(3, explorer(&[])), (u32::MAX, explorer(&[])), (0, echo(7, 7))] {
            assert_eq!(effects(&mut node, from, message), [], "white");
        }
        effects(&mut node, 0, explorer(&[0, 1]));
        let red = node.clone();
        for (from, message) in
            [(0, explorer(&[0, 1])), (3, explorer(&[u32::MAX])), (0, echo(7, 7)), (3, echo(7, 7))]
        {
            assert_eq!(effects(&mut node, from, message), [], "red");
        }
        assert_eq!(node, red);
        let most = echo(u64::MAX, u64::MAX);
        assert_eq!(effects(&mut node, 2, most.clone()), [sent(0, most)], "nothing overflows");
        assert_eq!(effects(&mut node, 0, explorer(&[0, 1])), [], "green");
        assert_eq!(effects(&mut node, 3, explorer(&[])), [], "green");
    }

    #[test]
    fn sets_of_too_many_are_refused() {
        let of = |nodes| Setup { topology: Topology::Line, ..Setup::new(Group::of(nodes)) };
        assert!(nodes(&of(4_000)).is_ok());
        let why = nodes(&of(4_001)).err().unwrap().0;
        assert!(why.starts_with("--nodes 4001 is too many for echo-taboo"), "{why}");
    }

    #[test]
    fn messages_are_written_kind_first() {
        assert_eq!(explorer(&[3, 0]).to_string(), "EXPLORER(0,3)");
        assert_eq!(explorer(&[]).to_string(), "EXPLORER()");
        assert_eq!(echo(2, 3).to_string(), "ECHO(2,3)");
    }
}
