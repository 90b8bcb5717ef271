//! The lift from a standing start: on any topology, a wave builds the tree and the token rides it.
//!
//! [The lift](super::lift) and [Raymond's algorithm](super::raymond) need a tree whose edges point
//! to the token. Where there is none, the initiator builds one: it takes the token and starts [an
//! echo](crate::wave::echo). A node that the wave reaches has its activation edge, the one over
//! which the wave came: that is its way to the token. From then on it is a node of the lift. When
//! the echoes are back, the initiator knows that all nodes are.
//!
//! **Use it** where nodes know nothing but their links, and one of them can be told to begin.
//!
//! ```text
//!   0  ──[ token ]──EXPLORER─┬──▲─────────▲───┬──TOKEN──────►     1 wants in before the wave is
//!                            │  │         │   │                   there: it calls as soon as it
//!   1  ──[ wants in ]────────▼─ECHO────REQUEST▼──[ inside ]─►     knows in which direction
//! ```
//!
//! | n nodes, e links | cost |
//! | --- | --- |
//! | messages | once 2e for the tree; then as the lift on it |
//! | synchronisation delay | up to (n − 1)T, three times that while the wave is under way |
//! | response | as the lift; at first, until the wave is there |
//!
//! **Assumes** a connected topology, on which messages arrive, once, in any order.
//!
//! **Safe**: the initiator makes the one token, when it starts, and a node of the lift is made with
//! its edge towards it. **Live**: the wave reaches everyone (see there), and then everyone has
//! asked in the right direction. It need not be complete for that: a node that the wave has reached
//! was reached from one that it had reached before, so everyone on its way to the token is a node
//! of the lift already; and no message of the lift comes to a node before the wave does, since the
//! lift only ever sends to a node's own activation edge, or back to one that has asked.
//!
//! **Layers**: the machines of the echo and of the lift are used as they are. This one owns both,
//! wraps their messages, and makes a node of the lift when it hears that the wave is there. Who
//! starts is given here; [elected-lift](super::elected_lift) elects it first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Invariant, Lift as Up, Never, NodeId, NodeState, Protocol, Refused, Situation,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::lift::{Calls, Lift};
use super::tree_token::{self, TreeToken, all_lead_to_it};
use super::{ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::recipe::Recipe;
use crate::setup::Parameter;
use crate::topology::Topology;
use crate::wave::Notice as WaveNotice;
use crate::wave::echo::{self, Echo};

/// The messages between nodes, of the wave or of the lift.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A message of the wave.
    Wave(echo::Message),
    /// A message of the lift.
    Lift(tree_token::Message),
}

impl From<echo::Message> for Message {
    fn from(message: echo::Message) -> Self {
        Self::Wave(message)
    }
}

impl From<tree_token::Message> for Message {
    fn from(message: tree_token::Message) -> Self {
        Self::Lift(message)
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["EXPLORER", "ECHO", "REQUEST", "TOKEN"];
    fn kind(&self) -> usize {
        match self {
            Self::Wave(message) => message.kind(),
            Self::Lift(message) => echo::Message::KINDS.len() + message.kind(),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wave(message) => message.fmt(f),
            Self::Lift(message) => message.fmt(f),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EchoLift {
    pub(super) me: NodeId,
    wave: Echo,
    pub(super) stage: Stage,
}

/// Whether the wave has been here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    /// Not yet; the application may be waiting all the same.
    Before { wants: bool },
    /// It has, and there is a way to the token.
    Riding(Lift),
}

impl EchoLift {
    /// A node before the wave.
    pub const fn new(me: NodeId, wave: Echo) -> Self {
        Self { me, wave, stage: Stage::Before { wants: false } }
    }

    /// Takes the token and starts the wave, unless that is here already: then there is a token.
    pub(super) fn start(&mut self, fx: &mut impl Effects<Self>) {
        match self.stage {
            Stage::Before { .. } => {
                self.ride(self.me, fx);
                self.on_wave(fx, |wave, up| wave.start(up).expect("it has not been here before"));
            }
            Stage::Riding(_) => {}
        }
    }

    /// Lets the wave act, and rides from where it came, if it is here.
    fn on_wave<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Echo, &mut Up<'_, Echo, Self, E>),
    ) {
        let mut heard = Vec::new();
        act(&mut self.wave, &mut Up::new(fx, &mut heard));
        for notice in heard {
            match notice {
                WaveNotice::Joined { parent } => self.ride(parent, fx),
                // All nodes are part of the lift; no node needs to be told, and none works for it.
                WaveNotice::Worked | WaveNotice::Done(_) | WaveNotice::Over(_) => {}
            }
        }
    }

    /// The way to the token leads to `holder` from here on.
    fn ride(&mut self, holder: NodeId, fx: &mut impl Effects<Self>) {
        let wants = matches!(self.stage, Stage::Before { wants: true });
        self.stage = Stage::Riding(TreeToken::new(self.me, holder, Calls::default()));
        if wants {
            let acquire = Command::Acquire(Claim::Exclusive);
            self.on_command(acquire, fx).expect("a node that rides and is outside may ask");
        }
    }
}

/// Lets the lift act, and tells the application what it tells.
fn on_lift<E: Effects<EchoLift>, T>(
    lift: &mut Lift,
    fx: &mut E,
    act: impl FnOnce(&mut Lift, &mut Up<'_, Lift, EchoLift, E>) -> T,
) -> T {
    let mut heard = Vec::new();
    let done = act(lift, &mut Up::new(fx, &mut heard));
    for notice in heard {
        fx.notify(notice);
    }
    done
}

impl Protocol for EchoLift {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if self.wave.is_initiator() {
            self.start(fx);
        }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (&mut self.stage, command) {
            (Stage::Riding(lift), _) => on_lift(lift, fx, |lift, up| lift.on_command(command, up)),
            (Stage::Before { wants: false }, Command::Acquire(Claim::Exclusive)) => {
                self.stage = Stage::Before { wants: true };
                Ok(())
            }
            (Stage::Before { wants: true }, Command::Acquire(Claim::Exclusive)) => {
                Err(ALREADY_WAITING)
            }
            (
                Stage::Before { .. },
                Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)),
            ) => Err(EXCLUSIVE_ONLY),
            (Stage::Before { .. }, Command::Release) => Err(NOT_INSIDE),
        }
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match (&mut self.stage, message) {
            (_, Message::Wave(message)) => {
                self.on_wave(fx, |wave, up| wave.on_message(from, message, up));
            }
            (Stage::Riding(lift), Message::Lift(message)) => {
                on_lift(lift, fx, |lift, up| lift.on_message(from, message, up));
            }
            // A correct node never sends it before the wave.
            (Stage::Before { .. }, Message::Lift(_)) => {}
        }
    }

    fn state(&self) -> NodeState {
        let lift = match &self.stage {
            Stage::Before { wants } => {
                NodeState::new().with("phase", if *wants { "waiting" } else { "outside" })
            }
            Stage::Riding(lift) => lift.state(),
        };
        lift.beneath("wave", self.wave.state())
    }
}

/// The nodes of a set-up; the one that has the token at first starts the wave.
pub fn recipe() -> Recipe<EchoLift> {
    Recipe::new(|setup| {
        let graph = setup.topology.graph(setup.group)?;
        let first = setup.holder;
        Ok(move |id| EchoLift::new(id, Echo::new(id, &graph, first)))
    })
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<EchoLift>] = &[
    Invariant { name: "one token", holds: one_token },
    Invariant { name: "edges lead to the token", holds: edges_lead_to_it },
    Invariant { name: "the wave comes first", holds: wave_comes_first },
];

impl EchoLift {
    const fn lift(&self) -> Option<&Lift> {
        match &self.stage {
            Stage::Riding(lift) => Some(lift),
            Stage::Before { .. } => None,
        }
    }
}

const TOKEN: Message = Message::Lift(tree_token::Message::Token);

/// There is one token as soon as the initiator has started: one node has it, or it is under way.
fn one_token(at: &Situation<'_, EchoLift>) -> Result<(), String> {
    let lifts = at.up().filter_map(|(_, node)| node.lift());
    let has_started = at.up().any(|(_, node)| node.wave.is_initiator() && node.lift().is_some());
    let kept = lifts.filter(|lift| lift.has_token()).count();
    let under_way = at.messages().filter(|(.., message)| **message == TOKEN).count();
    if kept + under_way == usize::from(has_started) {
        return Ok(());
    }
    Err(format!("{kept} nodes have a token, and {under_way} tokens are under way"))
}

/// From every node that rides the edges lead to the token, or to the edge that it is on.
fn edges_lead_to_it(at: &Situation<'_, EchoLift>) -> Result<(), String> {
    let token = at.messages().find(|(.., message)| **message == TOKEN);
    let token = token.map(|(from, to, _)| (from, to));
    let riding = at.up().filter(|(_, node)| node.lift().is_some()).map(|(id, _)| id);
    all_lead_to_it(riding, token, |id| at.node(id).lift().map(|lift| lift.holder))
}

/// No message of the lift is under way to a node that the wave has not reached.
fn wave_comes_first(at: &Situation<'_, EchoLift>) -> Result<(), String> {
    let is_early = |&(_, to, message): &(NodeId, NodeId, &Message)| {
        matches!(message, Message::Lift(_)) && at.node(to).lift().is_none()
    };
    match at.messages().find(is_early) {
        None => Ok(()),
        Some((from, to, message)) => {
            Err(format!("{message} is under way from node {from} to node {to}, before the wave"))
        }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "echo-lift",
    title: "Echo, then lift",
    solves: "mutual exclusion",
    citation: "lecture notes; Chang, 1982; after Raymond, 1989",
    assumes: Assumes::ANY_ORDER.on(Layout::Connected(&Topology::Grid)),
    takes: &[Parameter::Topology, Parameter::Holder],
    terms: Terms { tokens: &["TOKEN"], ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|at| Span::between(0.0, 3.0 * at.others())),
        RESPONSE.costs(|at| response(at, 3.0)),
        BUSIEST.costs(messages),
    ],
    flaws: FLAWS,
    page: page!("echo_lift.rs"),
};

/// The tree, paid for by one entry if there is only one, and twice the way to the token: no tree
/// has a longer one than from end to end through all nodes.
pub(super) fn messages(at: &Setting) -> Span {
    let links = at.setup.topology.graph(at.setup.group).map_or(0, |graph| graph.edges());
    Span::between(0.0, 2.0 * links as f64 + 2.0 * at.others())
}

/// Until the wave is there, then there and back, and what else has to go as far before; under
/// saturation after a tour at most.
pub(super) fn response(at: &Setting, ways: f64) -> Span {
    let (nodes, farthest) = (f64::from(at.nodes()), at.others());
    let tour = match at.load {
        Load::Light => at.hold,
        Load::Heavy => nodes * at.hold + 2.0 * farthest,
    };
    Span::between(at.hold, ways * farthest + tour)
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "wish-forgotten",
        what: "a request made before the wave arrives is forgotten",
        breaks: "progress",
        shown_by: Demonstration::of(&[0, 1]),
    },
    Flaw {
        name: "latest-edge",
        what: "a node that gets a second EXPLORER points to where that came from",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, Message as _, Outbox};

    use super::*;
    use crate::setup::Setup;
    use crate::wave::Gathered;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const EXPLORER: Message = Message::Wave(echo::Message::Explorer);
    const REQUEST: Message = Message::Lift(tree_token::Message::Request);

    /// A node of a ring of three.
    fn node(id: u32) -> (EchoLift, Outbox<EchoLift>) {
        let setup = Setup { topology: Topology::Ring, ..Setup::new(Group::of(3)) };
        let mut node = recipe().nodes(&setup).unwrap()(NodeId(id));
        let mut fx = Outbox::default();
        node.on_start(&mut fx);
        (node, fx)
    }
    fn send(to: u32, message: Message) -> Effect<EchoLift> {
        Effect::Send { to: NodeId(to), message }
    }

    #[test]
    fn whoever_starts_the_wave_has_the_token() {
        let (mut first, mut fx) = node(0);
        assert_eq!(fx.take(), [send(1, EXPLORER), send(2, EXPLORER)]);
        first.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn a_wish_waits_for_the_wave_and_then_follows_it_back() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(0), EXPLORER, &mut fx);
        assert_eq!(fx.take(), [send(2, EXPLORER), send(0, REQUEST)]);
        node.on_message(NodeId(2), EXPLORER, &mut fx);
        let own = Message::Wave(echo::Message::Echo(Gathered::of(NodeId(1))));
        assert_eq!(fx.take(), [send(0, own)]);
        node.on_message(NodeId(0), TOKEN, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn before_the_wave_nothing_of_the_lift_is_believed() {
        let (mut node, mut fx) = node(1);
        for message in [TOKEN, REQUEST] {
            node.on_message(NodeId(0), message, &mut fx);
        }
        assert_eq!(fx.take(), []);
        assert_eq!(node.stage, Stage::Before { wants: false });
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
    }

    #[test]
    fn kinds_are_those_of_both_layers() {
        let of_both = [EXPLORER, Message::Wave(echo::Message::Echo(Gathered::NOTHING))];
        let names = of_both.iter().chain(&[REQUEST, TOKEN]).map(Message::kind_name);
        assert_eq!(names.collect::<Vec<_>>(), Message::KINDS);
    }
}
