//! Edsger W. Dijkstra and C. S. Scholten, "Termination detection for diffusing computations",
//! Information Processing Letters 11(1), 1980.
//!
//! A computation spreads from the initiator: whoever gets WORK does a piece of it and may pass on
//! what is left. A node that is set to work while it has no part in it is engaged by the sender,
//! its parent; whatever else it gets it acknowledges at once. It counts the messages that it has
//! sent and that are not acknowledged, its deficit, and acknowledges the WORK that engaged it only
//! when the deficit is 0: then all that it has set off is done. When the initiator's deficit is 0,
//! all is over everywhere, and the initiator knows.
//!
//! **Use it** to learn when a computation that spreads by messages is over everywhere.
//!
//! ```text
//!   0  ──WORK(2)──┬────────────────────────────────────▲──[ over: 3 pieces ]──►
//!                 │                                    │
//!   1  ───────────▼──WORK(1)──┬────────────▲──────────ACK─────────────────────►
//!                             │            │
//!   2  ───────────────────────▼───────────ACK─────────────────────────────────►
//! ```
//!
//! | w pieces of work, n nodes | cost |
//! | --- | --- |
//! | messages | 2(w − 1): a WORK for every piece but the initiator's, and an ACK for each |
//! | depth of the tree | up to n − 1, and to w − 1 |
//! | duration, if every message takes T | 2T at least, (w + n − 1)·T at most |
//!
//! **Assumes** a connected graph with one initiator; no message is lost or doubled, and no node
//! fails. The order of messages does not matter.
//!
//! **Why it is over when the initiator says so.** The engaged nodes are a tree with the initiator
//! as its root: a node is engaged by one that is, and leaves when its deficit is 0, when no child
//! is left. The deficit of a node is at every moment the number of its WORKs and of ACKs to it that
//! are in flight, and of its children. So while there is a WORK in flight, its sender is engaged,
//! and with it all up to the initiator, whose deficit is not 0. Both are invariants that the
//! checker checks.
//!
//! **Why it says so.** Once no WORK is left, every message in flight is an ACK, and only finitely
//! many are. A leaf of the tree waits for nobody, so it leaves; in the end the initiator is alone,
//! and its deficit is 0.
//!
//! **Where we depart from the paper.** The computation is part of the machine, so that checker and
//! simulator have one to look at: of `--work` pieces each node does one and passes on the rest, in
//! two halves, to a neighbour that it chooses and to the next one. A piece takes no time: what is
//! not done is in messages. ACKs carry along what was done below, as a wave that comes back does.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Graph, Invariant, Message as _, Never, NodeId, NodeState, Protocol, Refused, Situation,
};

use super::card::{Card, DURATION, Demonstration, Flaw, MESSAGES, Setting, TREE_DEPTH, Terms};
use super::{ALREADY_STARTED, Command, NOT_THE_INITIATOR, Notice, Summed};
use crate::card::{Assumes, Layout, Span};
use crate::recipe::Recipe;
use crate::setup::{Parameter, Unfit};
use crate::topology::Topology;

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// So many pieces of work, one of which is for the receiver.
    Work(u32),
    /// A WORK is done, with all that it set off if it engaged the sender.
    Ack(Summed),
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["WORK", "ACK"];

    fn kind(&self) -> usize {
        match self {
            Self::Work(_) => 0,
            Self::Ack(_) => 1,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(pieces) => write!(f, "{}({pieces})", self.kind_name()),
            Self::Ack(gathered) => write!(f, "{}({gathered})", self.kind_name()),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DijkstraScholten {
    me: NodeId,
    neighbours: Arc<[NodeId]>,
    /// How many pieces the initiator begins with; none for another node.
    begins_with: Option<u32>,
    pub(super) part: Part,
}

/// A node's part in the computation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    /// None, for now.
    Idle,
    /// In the tree.
    Engaged(Engaged),
    /// The initiator's, after it was told that all is over.
    Over,
}

/// A node of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Engaged {
    /// Whose WORK engaged it; the initiator has none.
    pub(super) parent: Option<NodeId>,
    /// How many of its WORKs are not acknowledged.
    pub(super) deficit: u32,
    /// The pieces done here, and those that ACKs told of.
    gathered: Summed,
}

impl DijkstraScholten {
    /// A node of a graph; the initiator begins with so many pieces of work.
    pub fn new(me: NodeId, graph: &Graph, initiator: NodeId, work: u32) -> Self {
        let begins_with = (me == initiator).then_some(work);
        Self { me, neighbours: graph.neighbours(me).into(), begins_with, part: Part::Idle }
    }

    /// Does one piece, and passes on the others; a node without neighbours does all.
    pub(super) fn works(&self, engaged: &mut Engaged, pieces: u32, fx: &mut impl Effects<Self>) {
        let own = if self.neighbours.is_empty() { pieces.max(1) } else { 1 };
        for _ in 0..own {
            engaged.gathered = engaged.gathered.and(Summed::of(self.me));
            fx.notify(Notice::Worked);
        }
        let left = pieces.saturating_sub(own);
        let shares = match self.neighbours.len() {
            1 => [left, 0],
            _ => [left.div_ceil(2), left / 2],
        };
        let degree = NonZeroU32::new(self.neighbours.len() as u32);
        let Some(degree) = degree.filter(|_| left > 0) else { return };
        let first = fx.choose(degree) as usize;
        for (place, pieces) in (first..).zip(shares) {
            if pieces > 0 {
                let to = self.neighbours[place % self.neighbours.len()];
                fx.send(to, Message::Work(pieces));
                engaged.deficit = engaged.deficit.saturating_add(1);
            }
        }
    }

    /// Stays in the tree as long as anything that it has set off may go on.
    pub(super) fn goes_on(&mut self, engaged: Engaged, fx: &mut impl Effects<Self>) {
        self.part = match (engaged.deficit, engaged.parent) {
            (1.., _) => Part::Engaged(engaged),
            (0, Some(parent)) => {
                fx.send(parent, Message::Ack(engaged.gathered));
                Part::Idle
            }
            (0, None) => {
                fx.notify(Notice::Over(engaged.gathered.into()));
                Part::Over
            }
        };
    }

    fn on_work(&mut self, from: NodeId, pieces: u32, fx: &mut impl Effects<Self>) {
        match self.part {
            Part::Idle => {
                fx.notify(Notice::Joined { parent: from });
                let mut engaged = Engaged::by(Some(from));
                self.works(&mut engaged, pieces, fx);
                self.goes_on(engaged, fx);
            }
            Part::Engaged(mut engaged) => {
                self.works(&mut engaged, pieces, fx);
                fx.send(from, Message::Ack(Summed::NOTHING));
                self.goes_on(engaged, fx);
            }
            // It is over, so this comes from outside the group.
            Part::Over => {}
        }
    }
}

impl Engaged {
    pub(super) const fn by(parent: Option<NodeId>) -> Self {
        Self { parent, deficit: 0, gathered: Summed::NOTHING }
    }
}

impl Protocol for DijkstraScholten {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(
        &mut self,
        Command::Start: Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let pieces = self.begins_with.ok_or(Refused(NOT_THE_INITIATOR))?;
        if self.part != Part::Idle {
            return Err(Refused(ALREADY_STARTED));
        }
        let mut engaged = Engaged::by(None);
        self.works(&mut engaged, pieces, fx);
        self.goes_on(engaged, fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Work(pieces) if self.neighbours.contains(&from) => {
                self.on_work(from, pieces, fx);
            }
            Message::Ack(below) => {
                if let Part::Engaged(mut engaged) = self.part {
                    engaged.deficit = engaged.deficit.saturating_sub(1);
                    engaged.gathered = engaged.gathered.and(below);
                    self.goes_on(engaged, fx);
                }
            }
            Message::Work(_) => {}
        }
    }

    fn state(&self) -> NodeState {
        let (part, engaged) = match self.part {
            Part::Idle => ("idle", None),
            Part::Engaged(engaged) => ("engaged", Some(engaged)),
            Part::Over => ("over", None),
        };
        let gathered = |it: Engaged| (it.gathered.count, it.gathered.sum);
        NodeState::new()
            .with("part", part)
            .with("parent", engaged.and_then(|it| it.parent))
            .with("deficit", engaged.map(|it| it.deficit))
            .with("gathered", engaged.map(gathered))
    }
}

/// A node alone does all pieces in one step, and tells of each.
const MOST_ALONE: u32 = 10_000;

/// The nodes of a set-up.
pub fn recipe() -> Recipe<DijkstraScholten> {
    Recipe::new(|setup| {
        let graph = setup.topology.graph(setup.group)?;
        let (initiator, work) = (setup.initiator, setup.work);
        if setup.group.size() == 1 && work > MOST_ALONE {
            return Err(Unfit(format!(
                "--work {work}: a node alone does all pieces in one step, at most {MOST_ALONE}; \
                 say --nodes 2 or more, or --work 1 to {MOST_ALONE}"
            )));
        }
        Ok(move |id| DijkstraScholten::new(id, &graph, initiator, work))
    })
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<DijkstraScholten>] = &[
    Invariant { name: "deficit", holds: deficit },
    Invariant { name: "engaged tree", holds: engaged_tree },
];

/// A node's deficit is the number of its WORKs and of ACKs to it in flight, and of its children.
fn deficit(at: &Situation<'_, DijkstraScholten>) -> Result<(), String> {
    for (id, node) in at.up() {
        let counted = match node.part {
            Part::Idle | Part::Over => 0,
            Part::Engaged(engaged) => engaged.deficit,
        };
        let in_flight = at.messages().filter(|&(from, to, message)| match message {
            Message::Work(_) => from == id,
            Message::Ack(_) => to == id,
        });
        let is_child = |part: Part| matches!(part, Part::Engaged(it) if it.parent == Some(id));
        let children = at.up().filter(|(_, other)| is_child(other.part));
        let due = in_flight.count() + children.count();
        if due != counted as usize {
            return Err(format!("node {id} counts {counted}, and {due} are open"));
        }
    }
    Ok(())
}

/// From every engaged node parents lead to the initiator.
fn engaged_tree(at: &Situation<'_, DijkstraScholten>) -> Result<(), String> {
    for (first, _) in at.up() {
        let (mut id, mut hops) = (first, 0);
        while let Part::Engaged(Engaged { parent: Some(parent), .. }) = at.node(id).part {
            if !matches!(at.node(parent).part, Part::Engaged(_)) {
                return Err(format!("node {parent} has no part in it, and is node {id}'s parent"));
            }
            (id, hops) = (parent, hops + 1);
            if hops > at.up().count() {
                return Err(format!("parents lead from node {first} round in a circle"));
            }
        }
    }
    Ok(())
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "dijkstra-scholten",
    title: "Termination detection (Dijkstra–Scholten)",
    solves: "wave",
    citation: "Dijkstra, Scholten, IPL 11(1), 1980",
    assumes: Assumes::ANY_ORDER.on(Layout::Connected(&Topology::Ring)),
    takes: &[Parameter::Topology, Parameter::Initiator, Parameter::Work],
    terms: Terms::Termination,
    theory: &[
        MESSAGES.costs(|at| Span::exactly((2 * passed_on(at)) as f64)),
        TREE_DEPTH.costs(|at| {
            let most = passed_on(at).min(at.nodes - 1);
            Span::between(most.min(1) as f64, most as f64)
        }),
        DURATION.costs(|at| match passed_on(at) {
            0 => Span::exactly(0.0),
            _ => Span::between(2.0, (at.work + at.nodes - 1) as f64),
        }),
    ],
    flaws: FLAWS,
    page: page!("dijkstra_scholten.rs"),
};

/// How many pieces are done by others than the one that began, or by it after a while.
const fn passed_on(at: &Setting) -> u64 {
    if at.nodes > 1 { at.work.saturating_sub(1) } else { 0 }
}

/// Built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "acknowledged-at-once",
        what: "the WORK that engages a node is acknowledged at once, like any other: what it sets \
               off is waited for by nobody whom the initiator waits for",
        breaks: "dependence",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Line },
    },
    Flaw {
        name: "latest-parent",
        what: "an engaged node takes the sender of every further WORK for its parent: the one that \
               engaged it is never answered",
        breaks: "termination",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Ring },
    },
    Flaw {
        name: "only-engaging-work-acknowledged",
        what: "a node that is engaged already does its work and says nothing: the sender's deficit \
               never falls to 0",
        breaks: "termination",
        shown_by: Demonstration { nodes: 3, topology: &Topology::Ring },
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;

    fn node(topology: &Topology, nodes: u32, me: u32, work: u32) -> DijkstraScholten {
        let graph = topology.graph(Group::of(nodes)).unwrap();
        DijkstraScholten::new(NodeId(me), &graph, NodeId(0), work)
    }

    fn sent(to: u32, message: Message) -> Effect<DijkstraScholten> {
        Effect::Send { to: NodeId(to), message }
    }

    fn done(count: u64, sum: u64) -> Message {
        Message::Ack(Summed { count, sum })
    }

    fn effects(
        node: &mut DijkstraScholten,
        from: u32,
        message: Message,
    ) -> Vec<Effect<DijkstraScholten>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), message, &mut fx);
        fx.take()
    }

    const WORKED: Effect<DijkstraScholten> = Effect::Notify(Notice::Worked);

    #[test]
    fn a_node_alone_is_not_given_more_than_it_can_tell_of_in_one_step() {
        let nodes = |nodes, work: &str| {
            let mut setup = crate::setup::Setup::new(Group::of(nodes));
            setup.set(Parameter::Work, work).unwrap();
            recipe().nodes(&setup).map(drop)
        };
        assert!(nodes(1, "10001").unwrap_err().0.starts_with("--work 10001: a node alone"));
        assert!(nodes(1, "10000").is_ok());
        assert!(nodes(2, "1000000000").is_ok(), "each of them does a piece a step");
    }

    #[test]
    fn the_work_of_one_is_done_at_once() {
        for (nodes, work) in [(3, 1), (1, 4)] {
            let mut fx = Outbox::default();
            node(&Topology::Line, nodes, 0, work).on_command(Command::Start, &mut fx).unwrap();
            let over = Notice::Over(Summed { count: work.into(), sum: 0 }.into());
            assert_eq!(fx.take().last(), Some(&Effect::Notify(over)), "{nodes} nodes");
        }
    }

    #[test]
    fn whoever_engaged_a_node_is_answered_last() {
        let mut middle = node(&Topology::Line, 3, 1, 0);
        let joined = Effect::Notify(Notice::Joined { parent: NodeId(0) });
        let passed = sent(0, Message::Work(1));
        assert_eq!(
            effects(&mut middle, 0, Message::Work(2)),
            [joined, WORKED, passed],
            "an outbox chooses the first"
        );
        assert_eq!(
            effects(&mut middle, 2, Message::Work(1)),
            [WORKED, sent(2, Message::Ack(Summed::NOTHING))],
            "anybody else at once"
        );
        assert_eq!(effects(&mut middle, 0, done(1, 0)), [sent(0, done(3, 2))]);
        assert_eq!(middle.part, Part::Idle);
    }

    #[test]
    fn a_node_is_engaged_anew_when_it_has_left() {
        let mut leaf = node(&Topology::Line, 2, 1, 0);
        for _ in 0..2 {
            let joined = Effect::Notify(Notice::Joined { parent: NodeId(0) });
            let told = effects(&mut leaf, 0, Message::Work(1));
            assert_eq!(told, [joined, WORKED, sent(0, done(1, 1))]);
        }
    }

    #[test]
    fn strangers_and_what_was_never_asked_for_change_nothing() {
        let mut leaf = node(&Topology::Line, 3, 2, 0);
        for (from, message) in [(0, Message::Work(3)), (9, Message::Work(1)), (1, done(7, 7))] {
            assert_eq!(effects(&mut leaf, from, message), []);
        }
        let mut fx = Outbox::default();
        assert_eq!(leaf.on_command(Command::Start, &mut fx), Err(Refused(NOT_THE_INITIATOR)));
        let mut first = node(&Topology::Line, 3, 0, 9);
        first.on_command(Command::Start, &mut fx).unwrap();
        assert_eq!(first.on_command(Command::Start, &mut fx), Err(Refused(ALREADY_STARTED)));
    }
}
