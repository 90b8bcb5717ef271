//! Echo: Ernest J. H. Chang, "Echo algorithms: depth parallel operations on general graphs", IEEE
//! Transactions on Software Engineering SE-8(4), 1982.
//!
//! The initiator sends an EXPLORER over all its links. A node that gets its first one takes part:
//! the link on which it came is its activation edge, and it sends EXPLORERs over all others. When
//! an answer has come over each of these, it sends an ECHO back over its activation edge; two
//! EXPLORERs that cross on a link answer each other. When the initiator has all its answers, every
//! node has taken part, and the activation edges are a spanning tree, along which the ECHOs have
//! aggregated values of all nodes.
//!
//! **Use it** to reach all nodes of a network that nobody knows, and to learn when all have been
//! reached, or the sum of their values.
//!
//! ```text
//!   0  ──EXPLORER─┬─┬──────────────────▲───────▲──[ done: 3 nodes, sum 3 ]──►
//!                 │ │                  │       │
//!   1  ───────────▼─│─EXPLORER─┬──▲───ECHO─────│────────────────────────────►
//!                   │          │  │            │
//!   2  ─────────────▼─EXPLORER─▼──┴───────────ECHO──────────────────────────►
//! ```
//!
//! | n nodes, e links, the farthest D links from the initiator | cost |
//! | --- | --- |
//! | messages | 2e, always |
//! | depth of the tree | D, if every message takes T; else up to n − 1 |
//! | duration, if every message takes T | 2D·T; one T more if two of the farthest are linked |
//!
//! **Assumes** a connected graph with one initiator, whose nodes know only their neighbours; no
//! message is lost, and no node fails. The order of messages does not matter, and duplicates do no
//! harm.
//!
//! **Why all take part, and the initiator is told.** A node that takes part explores all its links,
//! so all its neighbours take part as well. Over every link one message goes each way: down the
//! tree an EXPLORER and up an ECHO, over any other link two EXPLORERs. So every answer but those of
//! the children comes by itself; a node without children echoes, and then, level by level, all
//! others. No node waits for its parent: it does not explore the activation edge.
//!
//! **Why it is told what is right.** A node that takes part and has not echoed is waited for by its
//! parent, which has not echoed either, and so on up to the initiator; and the value of every node
//! is at every moment in one place: at a node that has not echoed, or in an ECHO in flight to one.
//! Both are invariants that the checker checks.
//!
//! **How long it takes.** If every message takes T, a node that is d links away joins at d·T. It
//! waits for those at d + 1 until (d + 2)·T, and for those at d, if it is linked to any, until
//! (d + 1)·T. From there its ECHO takes d·T up the tree: of all these ways the longest ends at
//! 2D·T, or at (2D + 1)·T if it begins between two of the farthest. With other latencies the tree
//! may be deep, and the way back may be long.
//!
//! **What is gathered.** Every node gives a value, its number or one of `--values 4,0,7`, and
//! `--aggregate` says what becomes of them: `sum`, `max`, `min`, `count`, or `collect` for all of
//! them by node. Echoes meet in any order and in any tree, so it must be an operation to which
//! neither matters. How many values came in is counted besides: a largest value that came in twice
//! looks like one that came in once (the flaws `crossing-is-echoed` and `children-forgotten`).
//!
//! **Where we depart from the paper.** It gives the idea for many problems; here values are
//! aggregated. Answers are kept as a set of links and not counted, which is why a
//! doubled message does no harm. Only one node may start: two waves would have to carry the names
//! of their initiators.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Graph, Invariant, Message as _, Never, NodeId, NodeState, Protocol, Refused,
};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, TREE_DEPTH, Terms};
use super::invariants::{Echoing, Phase, Red, invariants};
use super::{ALREADY_STARTED, Command, Gathered, NOT_THE_INITIATOR, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::recipe::Recipe;
use crate::setup::Parameter;
use crate::topology::Topology;

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Here comes the wave.
    Explorer,
    /// It is back, with what was gathered beyond this link.
    Echo(Gathered),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["EXPLORER", "ECHO"];

    fn kind(&self) -> usize {
        match self {
            Self::Explorer => 0,
            Self::Echo(_) => 1,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explorer => f.write_str(self.kind_name()),
            Self::Echo(gathered) => write!(f, "{}({gathered})", self.kind_name()),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Echo {
    me: NodeId,
    neighbours: Arc<[NodeId]>,
    is_initiator: bool,
    /// What it gives: its value.
    own: Gathered,
    pub(super) colour: Colour,
}

/// How far the wave is at a node, in the colours that lectures paint it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Colour {
    /// Not here yet.
    White,
    /// Passed on, and not back yet.
    Red(Red),
    /// Back.
    Green,
}

/// The nodes of a set-up, if its graph holds together.
pub fn recipe() -> Recipe<Echo> {
    Recipe::new(|setup| {
        Gathered::fits(setup)?;
        let (graph, setup) = (setup.topology.graph(setup.group)?, setup.clone());
        Ok(move |id| Echo::new(id, &graph, setup.initiator).giving(Gathered::given(&setup, id)))
    })
}

impl Echo {
    /// A node of a graph.
    pub fn new(me: NodeId, graph: &Graph, initiator: NodeId) -> Self {
        let neighbours = graph.neighbours(me).into();
        let is_initiator = me == initiator;
        Self { me, neighbours, is_initiator, own: Gathered::of(me), colour: Colour::White }
    }

    /// A node with these neighbours, lowest first. It is no initiator before it
    /// [starts](Self::start).
    pub fn among(me: NodeId, neighbours: Arc<[NodeId]>) -> Self {
        Self { me, neighbours, is_initiator: false, own: Gathered::of(me), colour: Colour::White }
    }

    /// Starts the wave at this node: for a layer above that has chosen the initiator.
    ///
    /// # Errors
    ///
    /// If the wave is here already.
    pub fn start(&mut self, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        if self.colour != Colour::White {
            return Err(Refused(ALREADY_STARTED));
        }
        self.is_initiator = true;
        self.explore(None, fx);
        self.echo_if_all_answered(fx);
        Ok(())
    }

    /// Whether this node starts the wave.
    pub const fn is_initiator(&self) -> bool {
        self.is_initiator
    }

    /// The same node, which gives this instead of its number.
    #[must_use]
    pub fn giving(self, own: Gathered) -> Self {
        Self { own, ..self }
    }

    /// Takes part, and explores all links but the activation edge.
    pub(super) fn explore(&mut self, parent: Option<NodeId>, fx: &mut impl Effects<Self>) {
        let others = self.neighbours.iter().copied().filter(|&id| Some(id) != parent);
        let pending: Vec<NodeId> = others.collect();
        fx.broadcast(pending.iter().copied(), Message::Explorer);
        self.colour = Colour::Red(Red { parent, pending, gathered: self.own.clone() });
    }

    /// Echoes when all answers are there.
    pub(super) fn echo_if_all_answered(&mut self, fx: &mut impl Effects<Self>) {
        let Colour::Red(Red { parent, pending, gathered }) = &self.colour else { return };
        if !pending.is_empty() {
            return;
        }
        match *parent {
            Some(parent) => fx.send(parent, Message::Echo(gathered.clone())),
            None => fx.notify(Notice::Done(gathered.clone())),
        }
        self.colour = Colour::Green;
    }
}

impl Protocol for Echo {
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
        self.start(fx)
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match (&mut self.colour, message) {
            (Colour::White, Message::Explorer) if self.neighbours.contains(&from) => {
                fx.notify(Notice::Joined { parent: from });
                self.explore(Some(from), fx);
            }
            (Colour::Red(red), Message::Explorer) => {
                red.takes_answer(from);
            }
            (Colour::Red(red), Message::Echo(gathered)) => {
                if red.takes_answer(from) {
                    red.gathered = mem::replace(&mut red.gathered, Gathered::NOTHING).and(gathered);
                }
            }
            // A duplicate, or a message from outside the group.
            (Colour::White | Colour::Green, _) => {}
        }
        self.echo_if_all_answered(fx);
    }

    fn state(&self) -> NodeState {
        let (colour, red) = match &self.colour {
            Colour::White => ("white", None),
            Colour::Red(red) => ("red", Some(red)),
            Colour::Green => ("green", None),
        };
        let state = NodeState::new().with("colour", colour).with("initiator", self.is_initiator);
        red.into_iter().fold(state, |state, red| state.and(red.state()))
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Echo>] = &invariants();

impl Echoing for Echo {
    fn own(&self) -> &Gathered {
        &self.own
    }
    fn phase(&self) -> Phase<'_> {
        match &self.colour {
            Colour::White => Phase::Before,
            Colour::Red(red) => Phase::Waiting(red),
            Colour::Green => Phase::After { is_initiator: self.is_initiator },
        }
    }
    fn echo(message: &Message) -> Option<Gathered> {
        match message {
            Message::Explorer => None,
            Message::Echo(gathered) => Some(gathered.clone()),
        }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "echo",
    title: "Echo",
    solves: "wave",
    citation: "Chang, IEEE TSE SE-8(4), 1982",
    assumes: Assumes::ANY_ORDER.on(Layout::Connected(&Topology::Ring)),
    takes: &[Parameter::Topology, Parameter::Initiator, Parameter::Aggregate, Parameter::Values],
    terms: Terms::Traversal,
    theory: &[
        MESSAGES.costs(|at| Span::exactly((2 * at.edges) as f64)),
        TREE_DEPTH.costs(tree_depth),
        DURATION.costs(duration),
    ],
    flaws: FLAWS,
    page: page!("echo.rs"),
};

/// No way is shorter than the shortest, and none has a node twice.
pub(super) fn tree_depth(at: &Setting) -> Span {
    Span::between(at.farthest as f64, (at.nodes - 1) as f64)
}

fn duration(at: &Setting) -> Span {
    Span::exactly((2 * at.farthest + u64::from(at.farthest_linked)) as f64)
}

/// Built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "leaf-never-echoes",
        what: "whether all have answered is checked only when an answer comes: a node without \
               other neighbours waits for ever",
        breaks: "termination",
        shown_by: Demonstration { nodes: 2, topology: &Topology::Line },
    },
    Flaw {
        name: "first-answer-suffices",
        what: "a node echoes when the first answer has come: the wave ends before it is everywhere",
        breaks: "dependence",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Star },
    },
    Flaw {
        name: "crossing-is-echoed",
        what: "an explorer that crosses is answered with an echo as well: if that is faster than \
               the own explorer, the node counts twice",
        breaks: "aggregate",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Ring },
    },
    Flaw {
        name: "second-activation-edge",
        what: "every explorer makes the link on which it comes the activation edge, not only the \
               first",
        breaks: "tree",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Ring },
    },
    Flaw {
        name: "children-forgotten",
        what: "a node echoes its own value and not those of its children: they are lost on the way",
        breaks: "aggregate",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Line },
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, NodeSet, Outbox, Situation};

    use super::*;
    use crate::wave::Summed;

    fn node(topology: &Topology, nodes: u32, me: u32) -> Echo {
        Echo::new(NodeId(me), &topology.graph(Group::of(nodes)).unwrap(), NodeId(0))
    }

    fn sent(to: u32, message: Message) -> Effect<Echo> {
        Effect::Send { to: NodeId(to), message }
    }

    fn echo(count: u64, sum: u64) -> Message {
        Message::Echo(Summed { count, sum }.into())
    }

    fn effects(node: &mut Echo, from: u32, message: Message) -> Vec<Effect<Echo>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), message, &mut fx);
        fx.take()
    }

    #[test]
    fn the_initiator_explores_all_links_and_ends_when_all_have_answered() {
        let mut node = node(&Topology::Star, 3, 0);
        let mut fx = Outbox::default();
        node.on_command(Command::Start, &mut fx).unwrap();
        assert_eq!(fx.take(), [sent(1, Message::Explorer), sent(2, Message::Explorer)]);
        assert_eq!(effects(&mut node, 2, echo(1, 2)), []);
        let done = Effect::Notify(Notice::Done(Summed { count: 3, sum: 3 }.into()));
        assert_eq!(effects(&mut node, 1, echo(1, 1)), [done]);
        assert_eq!(node.on_command(Command::Start, &mut fx), Err(Refused(ALREADY_STARTED)));
    }

    #[test]
    fn a_node_alone_has_done_it_all() {
        let mut fx = Outbox::default();
        node(&Topology::Ring, 1, 0).on_command(Command::Start, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::Notify(Notice::Done(Summed { count: 1, sum: 0 }.into()))]);
    }

    #[test]
    fn whoever_has_nobody_to_explore_echoes_at_once() {
        let joined = Effect::Notify(Notice::Joined { parent: NodeId(0) });
        let mut leaf = node(&Topology::Line, 2, 1);
        assert_eq!(effects(&mut leaf, 0, Message::Explorer), [joined, sent(0, echo(1, 1))]);
    }

    #[test]
    fn explorers_that_cross_answer_each_other_and_count_nothing() {
        let mut node = node(&Topology::Ring, 3, 1);
        let joined = Effect::Notify(Notice::Joined { parent: NodeId(0) });
        assert_eq!(effects(&mut node, 0, Message::Explorer), [joined, sent(2, Message::Explorer)]);
        assert_eq!(effects(&mut node, 2, Message::Explorer), [sent(0, echo(1, 1))]);
    }

    #[test]
    fn only_the_initiator_starts() {
        let (mut node, mut fx) = (node(&Topology::Ring, 3, 1), Outbox::default());
        assert_eq!(node.on_command(Command::Start, &mut fx), Err(Refused(NOT_THE_INITIATOR)));
        assert_eq!((node.colour, fx.take().len()), (Colour::White, 0));
    }

    #[test]
    fn whoever_is_told_to_starts_where_nobody_was_meant_to() {
        let line = Topology::Line.graph(Group::of(2)).unwrap();
        let mut node = Echo::among(NodeId(1), line.neighbours(NodeId(1)).into());
        let mut fx = Outbox::default();
        assert_eq!(node.on_command(Command::Start, &mut fx), Err(Refused(NOT_THE_INITIATOR)));
        node.start(&mut fx).unwrap();
        assert_eq!(fx.take(), [sent(0, Message::Explorer)]);
        assert!(node.is_initiator());
        assert_eq!(node.start(&mut fx), Err(Refused(ALREADY_STARTED)));
    }

    #[test]
    fn strangers_and_what_comes_twice_change_nothing() {
        let mut node = node(&Topology::Line, 4, 1);
        for (from, message) in [(3, Message::Explorer), (9, Message::Explorer), (0, echo(7, 7))] {
            assert_eq!(effects(&mut node, from, message), [], "white");
        }
        effects(&mut node, 0, Message::Explorer);
        let red = node.clone();
        for (from, message) in
            [(0, Message::Explorer), (0, echo(7, 7)), (3, echo(7, 7)), (u32::MAX, echo(7, 7))]
        {
            assert_eq!(effects(&mut node, from, message), [], "red");
        }
        assert_eq!(node, red);
        let most = echo(u64::MAX, u64::MAX);
        let told = effects(&mut node, 2, most.clone());
        assert_eq!(told, [sent(0, most.clone())], "nothing overflows");
        assert_eq!(effects(&mut node, 2, most), [], "green");
    }

    /// Three in a ring: both others have joined through 0, and nothing has come back yet.
    fn three() -> [Echo; 3] {
        let mut nodes = [0, 1, 2].map(|me| node(&Topology::Ring, 3, me));
        let mut fx = Outbox::default();
        nodes[0].on_command(Command::Start, &mut fx).unwrap();
        effects(&mut nodes[1], 0, Message::Explorer);
        effects(&mut nodes[2], 0, Message::Explorer);
        nodes
    }

    fn judged(nodes: &[Echo; 3], flight: &[(u32, u32, Message)]) -> Option<&'static str> {
        let flight = flight.iter().map(|(from, to, it)| (NodeId(*from), NodeId(*to), it));
        let at = Situation::new(nodes.iter().collect(), NodeSet::EMPTY, flight.collect());
        at.judge(&INVARIANTS.iter().map(Into::into).collect::<Vec<_>>())
            .err()
            .map(|violation| violation.property)
    }

    #[test]
    fn invariants_hold_and_object() {
        let mut nodes = three();
        assert_eq!(judged(&nodes, &[]), None);
        effects(&mut nodes[1], 2, Message::Explorer);
        assert_eq!(judged(&nodes, &[(1, 0, echo(1, 1))]), None);
        let twice = [(1, 0, echo(1, 1)), (1, 0, echo(1, 1))];
        assert_eq!(judged(&nodes, &twice), None, "it is awaited once");
        assert_eq!(judged(&nodes, &[]), Some("in one place"), "the echo is lost");
        assert_eq!(judged(&nodes, &[(1, 0, echo(2, 1))]), Some("in one place"));
        let red = |parent, pending: &[u32]| {
            let pending = pending.iter().copied().map(NodeId).collect();
            Colour::Red(Red { parent, pending, gathered: Gathered::NOTHING })
        };
        nodes[0].colour = red(None, &[1]);
        assert_eq!(judged(&nodes, &[]), Some("waited for"), "2 has not echoed");
        for (me, next) in [(0, 1), (1, 2), (2, 0)] {
            nodes[me].colour = red(Some(NodeId(next)), &[0, 1, 2]);
        }
        assert_eq!(judged(&nodes, &[]), Some("waited for"), "round in a circle");
    }
}
