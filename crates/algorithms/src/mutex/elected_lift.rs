//! The lift from nothing: the nodes elect who starts, a wave builds the tree, the token rides it.
//!
//! [Echo and lift](super::echo_lift) need to be told the initial holder of the token. Here a node
//! knows only its links. When it starts, it calls for an election, by [waves that die
//! out](crate::election::echo_election). The elected node takes the token and starts the wave that
//! builds a tree; a node can request the token as soon as the wave has reached it.
//!
//! **Use it** where nodes know nothing but their links, and none can be told to begin.
//!
//! ```text
//!   0  ──CANDIDATE(0)─┐  ┌─►AGREED(1)─┐             ┌─►ECHO, REQUEST─┐      ┌─►[ inside ]
//!                     X  │            ▼             │                ▼      │
//!   1  ──CANDIDATE(1)─┴──┘      [ 1 leads ]─EXPLORER┘              TOKEN────┘
//! ```
//!
//! | n nodes, e links | cost |
//! | --- | --- |
//! | messages | once about 6e + n at least, up to 2e more a node; then as the lift |
//! | synchronisation delay | up to (n − 1)T, five times that while all this is under way |
//! | response | as the lift; at first, until the wave is there |
//!
//! **Assumes** a connected topology, on which messages arrive, once, in any order; and that no node
//! crashes.
//!
//! **Safe**: one node is elected, and once (see there): every node calls before it receives
//! anything, so that there is only one election. So there is one token, and one wave. **Live**: a
//! node is elected, and then every node has a way to the token. The wave may reach a node before
//! the result of the election does, and that does no harm: the lift needs only the direction of the
//! token. The rest of the election goes on below.
//!
//! **Layers**: the machines of the election and of echo and lift are used as they are. This one
//! owns both, wraps their messages, and starts the second where the first has decided. Each has
//! messages of its own names, so that they can be counted apart.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Invariant, Lift as Up, Never, NodeId, NodeState, Protocol, Refused,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::echo_lift::{self, EchoLift};
use super::{Command, Notice};
use crate::card::{Assumes, Layout, Span};
use crate::election::echo_election::{self, EchoElection, messages_among};
use crate::election::{Command as ElectionCommand, Notice as ElectionNotice};
use crate::recipe::Recipe;
use crate::setup::Parameter;
use crate::topology::Topology;
use crate::wave::echo::Echo;

/// The messages between nodes, of the election or of the echo and the lift.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A message of the election.
    Election(echo_election::Message),
    /// A message of the echo and the lift.
    Lift(echo_lift::Message),
}

impl From<echo_election::Message> for Message {
    fn from(message: echo_election::Message) -> Self {
        Self::Election(message)
    }
}

impl From<echo_lift::Message> for Message {
    fn from(message: echo_lift::Message) -> Self {
        Self::Lift(message)
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &["CANDIDATE", "AGREED", "LEADER", "EXPLORER", "ECHO", "REQUEST", "TOKEN"];
    fn kind(&self) -> usize {
        match self {
            Self::Election(message) => message.kind(),
            Self::Lift(message) => echo_election::Message::KINDS.len() + message.kind(),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Election(message) => message.fmt(f),
            Self::Lift(message) => message.fmt(f),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ElectedLift {
    election: EchoElection,
    lift: EchoLift,
}

/// The nodes of a set-up.
pub fn recipe() -> Recipe<ElectedLift> {
    Recipe::new(|setup| {
        let graph = setup.topology.graph(setup.group)?;
        Ok(move |id| {
            let wave = Echo::among(id, graph.neighbours(id).into());
            ElectedLift { election: EchoElection::new(id, &graph), lift: EchoLift::new(id, wave) }
        })
    })
}

impl ElectedLift {
    /// Lets the election act, and starts if it is over and this node has won.
    fn on_election<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut EchoElection, &mut Up<'_, EchoElection, Self, E>),
    ) {
        let mut heard = Vec::new();
        act(&mut self.election, &mut Up::new(fx, &mut heard));
        for leader in heard.into_iter().filter_map(ElectionNotice::leader) {
            if leader == self.lift.me {
                self.on_lift(fx, |lift, up| lift.start(up));
            }
        }
    }

    /// Lets the echo and the lift act, and tells the application what they tell.
    pub(super) fn on_lift<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut EchoLift, &mut Up<'_, EchoLift, Self, E>) -> T,
    ) -> T {
        let mut heard = Vec::new();
        let done = act(&mut self.lift, &mut Up::new(fx, &mut heard));
        for notice in heard {
            fx.notify(notice);
        }
        done
    }
}

impl Protocol for ElectedLift {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.on_election(fx, |election, up| {
            election.on_command(ElectionCommand::Elect, up).expect("anybody may call");
        });
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.on_lift(fx, |lift, up| lift.on_command(command, up))
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election(message) => {
                self.on_election(fx, |election, up| election.on_message(from, message, up));
            }
            Message::Lift(message) => {
                self.on_lift(fx, |lift, up| lift.on_message(from, message, up));
            }
        }
    }

    fn state(&self) -> NodeState {
        self.lift.state().beneath("election", self.election.state())
    }
}

/// The invariants of its layers.
pub const INVARIANTS: &[Invariant<ElectedLift>] =
    &[of_election::<0>(), of_election::<1>(), of_lift::<0>(), of_lift::<1>(), of_lift::<2>()];

/// One of the election, in its layer.
const fn of_election<const PLACE: usize>() -> Invariant<ElectedLift> {
    Invariant {
        name: echo_election::INVARIANTS[PLACE].name,
        holds: |at| {
            let inner = at.within(
                |node| &node.election,
                |message| match message {
                    Message::Election(message) => Some(message),
                    Message::Lift(_) => None,
                },
            );
            (echo_election::INVARIANTS[PLACE].holds)(&inner)
        },
    }
}

/// One of the echo and the lift, in their layer.
const fn of_lift<const PLACE: usize>() -> Invariant<ElectedLift> {
    Invariant {
        name: echo_lift::INVARIANTS[PLACE].name,
        holds: |at| {
            let inner = at.within(
                |node| &node.lift,
                |message| match message {
                    Message::Lift(message) => Some(message),
                    Message::Election(_) => None,
                },
            );
            (echo_lift::INVARIANTS[PLACE].holds)(&inner)
        },
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "elected-lift",
    title: "Election, echo, then lift",
    solves: "mutual exclusion",
    citation: "lecture notes; Tel, 2000, §7.3; Chang, 1982; after Raymond, 1989",
    assumes: Assumes::ANY_ORDER.on(Layout::Connected(&Topology::Grid)),
    takes: &[Parameter::Topology],
    terms: Terms { tokens: &["TOKEN"], ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|at| Span::between(0.0, UNTIL_INSIDE * at.others())),
        RESPONSE.costs(|at| echo_lift::response(at, UNTIL_INSIDE)),
        BUSIEST.costs(messages),
    ],
    flaws: FLAWS,
    page: page!("elected_lift.rs"),
};

/// How often the first that enters may have to wait for what goes through all nodes: the wave of
/// the election and its way back, the wave that makes the tree, the request and the token.
const UNTIL_INSIDE: f64 = 5.0;

/// The election, in which all call, and what comes after it.
fn messages(at: &Setting) -> Span {
    let Ok(graph) = at.setup.topology.graph(at.setup.group) else {
        return Span::between(0.0, f64::INFINITY);
    };
    let all: Vec<NodeId> = at.setup.group.members().collect();
    Span::between(0.0, messages_among(&graph, &all).high + echo_lift::messages(at).high)
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "everyone-starts",
        what: "a node that wants to enter takes the token and starts the wave, without being \
               elected",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "result-suffices",
        what: "every node that learns of the leader starts the wave, unless it has been reached",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};

    use vorrang_protocol::{Effect, Group, Message as _, NodeSet, Outbox, Situation};

    use super::*;
    use crate::election::echo_election::Mark;
    use crate::election::echo_election::Message::{Agreed, Candidate, Leader};
    use crate::mutex::tree_token;
    use crate::mutex::{Claim, NOT_INSIDE};
    use crate::setup::Setup;
    use crate::wave::{Gathered, echo};

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const MARK: Mark = Mark { round: 1, candidate: NodeId(1) };
    const AGREED: Message = Message::Election(Agreed(MARK));
    const LEADER: Message = Message::Election(Leader(MARK));
    const CANDIDATE: Message = Message::Election(Candidate(MARK));
    const EXPLORER: Message = Message::Lift(echo_lift::Message::Wave(echo::Message::Explorer));

    /// A node of two, and what it does when it starts.
    fn node(id: u32) -> (ElectedLift, Vec<String>) {
        let setup = Setup { topology: Topology::Line, ..Setup::new(Group::of(2)) };
        let mut node = recipe().nodes(&setup).unwrap()(NodeId(id));
        let done = effects(&mut node, Protocol::on_start);
        (node, done)
    }

    fn effects(
        node: &mut ElectedLift,
        step: impl FnOnce(&mut ElectedLift, &mut Outbox<ElectedLift>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        step(node, &mut fx);
        let shown = |effect: &Effect<ElectedLift>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::Notify(notice) => notice.to_string(),
            Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match *timer {},
        };
        fx.take().iter().map(shown).collect()
    }

    fn wants(node: &mut ElectedLift) -> Vec<String> {
        effects(node, |node, fx| node.on_command(ACQUIRE, fx).unwrap())
    }

    fn hears(node: &mut ElectedLift, from: u32, message: Message) -> Vec<String> {
        effects(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    #[test]
    fn whoever_is_elected_takes_the_token_and_starts_the_wave() {
        let (mut highest, called) = node(1);
        assert_eq!(called, ["0 CANDIDATE(1, round 1)"]);
        assert_eq!(wants(&mut highest), [""; 0], "it may not win");
        let led = hears(&mut highest, 0, AGREED);
        assert_eq!(led, ["0 LEADER(1, round 1)", "0 EXPLORER", "entered"]);
    }

    #[test]
    fn others_wait_for_the_wave_and_not_for_the_result() {
        let (mut lowest, called) = node(0);
        assert_eq!(called, ["1 CANDIDATE(0, round 1)"]);
        assert_eq!(wants(&mut lowest), [""; 0]);
        assert_eq!(hears(&mut lowest, 1, CANDIDATE), ["1 AGREED(1, round 1)"]);
        let mut told = lowest.clone();
        assert_eq!(hears(&mut told, 1, LEADER), [""; 0], "there is no way to the token yet");
        assert_eq!(hears(&mut lowest, 1, EXPLORER), ["1 ECHO(1,0)", "1 REQUEST"]);
        assert_eq!(hears(&mut lowest, 1, LEADER), [""; 0], "late, and no harm done");
    }

    /// Nobody who keeps to the rules calls twice.
    #[test]
    fn whoever_is_elected_again_makes_no_second_token() {
        let (mut highest, _) = node(1);
        hears(&mut highest, 0, AGREED);
        let again = Mark { round: 2, ..MARK };
        let lower = Mark { candidate: NodeId(0), ..again };
        let called = hears(&mut highest, 0, Message::Election(Candidate(lower)));
        assert_eq!(called, ["0 CANDIDATE(1, round 2)"]);
        let before = highest.lift.clone();
        let led = hears(&mut highest, 0, Message::Election(Agreed(again)));
        assert_eq!(led, ["0 LEADER(1, round 2)"]);
        assert_eq!(highest.lift, before);
    }

    #[test]
    fn a_node_alone_leads_at_once() {
        let mut alone = recipe().nodes(&Setup::new(Group::of(1))).unwrap()(NodeId(0));
        assert_eq!(effects(&mut alone, Protocol::on_start), [""; 0]);
        assert_eq!(wants(&mut alone), ["entered"]);
        let mut fx = Outbox::default();
        alone.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(alone.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
    }

    #[test]
    fn kinds_are_those_of_all_layers_and_no_two_are_the_same() {
        let lift = |it| Message::Lift(echo_lift::Message::Lift(it));
        let echo = Message::Lift(echo_lift::Message::Wave(echo::Message::Echo(Gathered::NOTHING)));
        let (request, token) = (tree_token::Message::Request, tree_token::Message::Token);
        let all = [CANDIDATE, AGREED, LEADER, EXPLORER, echo, lift(request), lift(token)];
        let mut names: Vec<&str> = all.iter().map(Message::kind_name).collect();
        assert_eq!(names, Message::KINDS);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Message::KINDS.len());
    }

    #[test]
    fn what_holds_of_each_layer_holds_of_both_and_objects() {
        let (mut nodes, _): (Vec<_>, Vec<_>) = [node(0), node(1)].into_iter().unzip();
        let judged = |nodes: &[ElectedLift], flight: &[(u32, u32, Message)]| {
            let flight = flight.iter().map(|(from, to, it)| (NodeId(*from), NodeId(*to), it));
            let at = Situation::new(nodes.iter().collect(), NodeSet::EMPTY, flight.collect());
            at.judge(&INVARIANTS.iter().map(Into::into).collect::<Vec<_>>())
                .err()
                .map(|violation| violation.property)
        };
        assert_eq!(judged(&nodes, &[(1, 0, CANDIDATE)]), None);
        assert_eq!(judged(&nodes, &[(0, 1, AGREED)]), Some("no way back"));
        assert_eq!(judged(&nodes, &[(1, 0, LEADER)]), Some("no way back"));
        let token = Message::Lift(echo_lift::Message::Lift(tree_token::Message::Token));
        assert_eq!(
            judged(&nodes, &[(1, 0, token.clone())]),
            Some("one token"),
            "nobody has started"
        );
        hears(&mut nodes[0], 1, CANDIDATE);
        hears(&mut nodes[1], 0, AGREED);
        assert_eq!(judged(&nodes, &[(1, 0, LEADER), (1, 0, EXPLORER)]), None);
        assert_eq!(judged(&nodes, &[(1, 0, token)]), Some("one token"), "it has it");
        let request = Message::Lift(echo_lift::Message::Lift(tree_token::Message::Request));
        assert_eq!(judged(&nodes, &[(1, 0, request)]), Some("the wave comes first"));
    }
}
