//! Osvaldo S. F. Carvalho and Gérard Roucairol, "On mutual exclusion in computer networks,
//! technical correspondence", Communications of the ACM 26(2), 1983: Ricart–Agrawala with
//! permissions that are kept.
//!
//! Between any two nodes there is one permission; it lies at one of them or travels in a reply. A
//! node enters when it has the permissions of all others, and keeps them when it leaves: it asks
//! only those whose permission it has given away since. A node that is asked gives the permission
//! away, unless it is inside or has an older request; if it still needs it itself, it asks for it
//! back in the same breath.
//!
//! **Use it** where the same few nodes enter again and again, without a message if nobody else
//! asks. At worst it costs what Ricart and Agrawala's does.
//!
//! ```text
//!   0  ──REQUEST(1)─┬───────────▲──▲──[ inside ]───[ inside again, no messages ]──►
//!                   │           │  │
//!   1  ─────────────▼──REPLY────┘  │
//!                   │              │
//!   2  ─────────────▼──REPLY───────┘
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 0 … 2(N−1); about 2(m−1) if only m of N nodes ever ask |
//! | synchronisation delay | T; none for a node that enters again |
//! | response without contention | E … 2T + E |
//! | response under saturation | up to N(T + E) + T |
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. A node that holds no permission may stop unnoticed until another node asks it.
//!
//! **Why it is safe.** The node inside has all its permissions, and the one between two nodes is
//! never at both.
//!
//! **Why no request starves.** A request goes to every node whose permission is missing, and is
//! deferred only by an older one or by the node inside. The oldest request of all is deferred by no
//! other: it gets every permission. Once a request has reached a node, that node's next request is
//! younger; so it enters at most once more before it. (The request itself must have arrived: a
//! reply that travels before it does not count.) Entries do not follow the stamps: a node that has
//! all permissions enters while an older request is still in flight.
//!
//! **Where we depart from the paper.** Nothing is assumed to lie anywhere at first: two nodes that
//! have never met both ask, and the first reply makes the permission.

use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Never, NodeId, NodeSet, NodeState, Protocol, Refused,
    StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::clock::{Clock, Stamp};

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// May I have our permission? I asked at this time.
    Request {
        /// The asker's clock when it asked.
        time: u64,
    },
    /// Here it is.
    Reply,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "REPLY"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Reply => 1,
        }
    }

    fn counters(&mut self, _: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Request { time } => visit(Counter::Common, time),
            Self::Reply => {}
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { time } => write!(f, "REQUEST({time})"),
            Self::Reply => f.write_str("REPLY"),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CarvalhoRoucairol {
    me: NodeId,
    group: Group,
    /// The highest time counted or seen.
    clock: Clock,
    phase: Phase,
    /// Whose permissions are elsewhere: at the other node, or under way.
    missing: NodeSet,
    /// The requests that wait for our reply, oldest first.
    deferred: Vec<Stamp>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Outside,
    Waiting {
        /// The time of our request.
        time: u64,
    },
    Inside,
}

impl CarvalhoRoucairol {
    pub(super) const fn now(&self) -> u64 {
        self.clock.now()
    }

    pub(super) const fn is_inside(&self) -> bool {
        matches!(self.phase, Phase::Inside)
    }

    /// A node of `group` in its initial state.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self {
            me,
            group,
            clock: Clock::default(),
            phase: Phase::Outside,
            missing: group.others(me).collect(),
            deferred: Vec::new(),
        }
    }

    fn on_request(&mut self, theirs: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.witness(theirs.time);
        match self.phase {
            Phase::Outside => self.give_away(theirs.node, fx),
            Phase::Waiting { time } if theirs < Stamp::new(time, self.me) => {
                // A permission kept from an earlier entry: we never asked for it this time, so the
                // other does not know that we need it. One that is missing we have asked for.
                let is_kept = !self.missing.contains(theirs.node);
                self.give_away(theirs.node, fx);
                if is_kept {
                    fx.send(theirs.node, Message::Request { time });
                }
            }
            Phase::Waiting { .. } | Phase::Inside => {
                let place = self.deferred.partition_point(|stamp| *stamp < theirs);
                self.deferred.insert(place, theirs);
            }
        }
    }

    fn give_away(&mut self, to: NodeId, fx: &mut impl Effects<Self>) {
        self.missing.insert(to);
        fx.send(to, Message::Reply);
    }

    fn enter_if_nothing_is_missing(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { .. } = self.phase
            && self.missing.is_empty()
        {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for CarvalhoRoucairol {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                let time = self.clock.tick();
                self.phase = Phase::Waiting { time };
                fx.broadcast(self.missing.iter(), Message::Request { time });
                self.enter_if_nothing_is_missing(fx);
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                let mut deferred = mem::take(&mut self.deferred);
                for request in deferred.drain(..) {
                    self.give_away(request.node, fx);
                }
                self.deferred = deferred; // empty: only its room is kept
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { time } => self.on_request(Stamp::new(time, from), fx),
            Message::Reply => {
                self.missing.remove(from);
                self.enter_if_nothing_is_missing(fx);
            }
        }
    }

    /// A: whose authorisation it has.
    fn state(&self) -> NodeState {
        let (phase, time) = match self.phase {
            Phase::Outside => ("outside", None),
            Phase::Waiting { time } => ("waiting", Some(time)),
            Phase::Inside => ("inside", None),
        };
        let authorised = self.group.members().map(|id| u32::from(!self.missing.contains(id)));
        NodeState::new()
            .with("phase", phase)
            .with("our number", time)
            .with("highest number", self.clock.now())
            .with("A", StateValue::vector(authorised))
            .with("deferred", StateValue::list(self.deferred.iter().copied()))
    }

    /// Times are compared with times and counted on from; none means anything by itself.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.clock.counters(visit);
        match &mut self.phase {
            Phase::Waiting { time } => visit(Counter::Common, time),
            Phase::Outside | Phase::Inside => {}
        }
        self.deferred.iter_mut().for_each(|stamp| visit(Counter::Common, &mut stamp.time));
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "carvalho-roucairol",
    title: "Carvalho–Roucairol",
    solves: "mutual exclusion",
    citation: "Carvalho and Roucairol, CACM 26(2), 1983",
    assumes: Assumes::ANY_ORDER,
    takes: &[],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|at| match at.load {
            Load::Light => Span::between(0.0, 1.0),
            Load::Heavy => Span::exactly(1.0),
        }),
        RESPONSE.costs(|at| theory::round_trip_or_queue(at).or(Span::exactly(at.hold))),
        BUSIEST.costs(|at| Span::between(0.0, all(at))),
    ],
    flaws: FLAWS,
    page: page!("carvalho_roucairol.rs"),
};

/// A node asks those who have entered since it last did: under saturation all contenders; if
/// requests come one at a time from anyone, each of the others with probability one half.
fn messages(at: &Setting) -> Span {
    let rivals = f64::from(at.contenders - 1);
    Span::between(0.0, all(at)).typically(match at.load {
        Load::Light => rivals,
        Load::Heavy => 2.0 * rivals,
    })
}

fn all(at: &Setting) -> f64 {
    2.0 * at.others()
}

/// Known mistakes of the literature; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "no-re-request",
    what: "a kept permission that is given away to an older request is not asked for again",
    breaks: "progress",
    shown_by: Demonstration::of(&[2, 2, 1]),
}];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn send(to: u32, message: Message) -> Effect<CarvalhoRoucairol> {
        Effect::Send { to: NodeId(to), message }
    }
    fn request(time: u64) -> Message {
        Message::Request { time }
    }
    /// Node 0 of three, once inside and out again: it has both permissions.
    fn rich() -> (CarvalhoRoucairol, Outbox<CarvalhoRoucairol>) {
        let mut node = CarvalhoRoucairol::new(NodeId(0), Group::of(3));
        let mut fx = Outbox::default();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(1, request(1)), send(2, request(1))]);
        node.on_message(NodeId(1), Message::Reply, &mut fx);
        node.on_message(NodeId(2), Message::Reply, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), []);
        (node, fx)
    }

    #[test]
    fn with_all_permissions_kept_entering_again_is_free() {
        let (mut node, mut fx) = rich();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn only_those_who_were_given_permission_since_are_asked() {
        let (mut node, mut fx) = rich();
        node.on_message(NodeId(1), request(2), &mut fx);
        assert_eq!(fx.take(), [send(1, Message::Reply)]);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(1, request(3))]);
    }

    #[test]
    fn a_kept_permission_that_an_older_request_takes_is_asked_for_again_with_the_same_time() {
        let (mut node, mut fx) = rich();
        node.on_message(NodeId(2), request(3), &mut fx);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, Message::Reply), send(2, request(4))]);
        node.on_message(NodeId(1), request(2), &mut fx);
        assert_eq!(fx.take(), [send(1, Message::Reply), send(1, request(4))]);
        node.on_message(NodeId(2), request(3), &mut fx);
        assert_eq!(fx.take(), [send(2, Message::Reply)], "already asked for");
    }

    #[test]
    fn younger_requests_and_those_while_inside_are_deferred() {
        let (mut node, mut fx) = rich();
        node.on_message(NodeId(2), request(2), &mut fx);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(1), request(4), &mut fx);
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(2), Message::Reply, &mut fx);
        node.on_message(NodeId(2), request(3), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, Message::Reply), send(1, Message::Reply)]);
        assert_eq!(node.missing.len(), 2);
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let mut node = CarvalhoRoucairol::new(NodeId(0), Group::of(2));
        let mut fx = Outbox::default();
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        node.on_message(NodeId(1), Message::Reply, &mut fx);
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }
}
