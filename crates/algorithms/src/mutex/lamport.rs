//! Leslie Lamport, "Time, clocks, and the ordering of events in a distributed system",
//! Communications of the ACM 21(7), 1978: the mutual exclusion algorithm that the clocks were
//! introduced with.
//!
//! Every node keeps the same queue of requests, ordered by time and number. A request goes to all,
//! and all acknowledge it; a node enters when its own request is the oldest in its queue and it has
//! heard from everyone something with a later time than that request's. Leaving is announced to
//! all, who strike the request from their queues.
//!
//! **Use it** to learn: it is the first of its kind, and its queue is easy to follow. Ricart and
//! Agrawala's does the same with a third fewer messages.
//!
//! ```text
//!   0  ──REQUEST(1)─┬───────────▲──▲──[ inside ]──RELEASE(6)─┬────────────────────►
//!                   │           │  │                         │
//!   1  ──REQUEST(1)─▼──ACK(3)───┘  │  (1, 0) is older        ▼──[ inside ]────────►
//!                   │              │                         │
//!   2  ─────────────▼──ACK(2)──────┘                         ▼────────────────────►
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 3(N−1), always |
//! | synchronisation delay | T |
//! | response without contention | 2T + E |
//! | response under saturation | up to N(T + E) + T |
//!
//! **Assumes** that messages between two nodes keep their order, that none is lost or doubled, and
//! that no node fails. Without the order it is unsafe: an acknowledgement that overtakes a request
//! says "I have no older request" while one is under way (flaw `unordered-links`).
//!
//! **Why it is safe.** Say i and j are inside, i's request the older. Before j entered it had heard
//! from i something later than its own request. Links keep order, so it had also received i's
//! older request, sent earlier; i has not left, so that request was in j's queue, and j's own was
//! not the oldest.
//!
//! **Why no request starves.** Every request is acknowledged at once with a later time. So a
//! request waits only for older ones; there are finitely many, and each is released in the end.
//! Entries happen in the order of the stamps, and so respect happened-before.
//!
//! **Where we depart from the paper.** The paper keeps the latest time heard from every node. It is
//! enough to remember the nodes from which nothing later than our own request has come yet. (It
//! would not be enough to remember which nodes have been heard at all since we asked: a message may
//! have been sent before an older request that is still in flight; flaw `any-word-will-do`.) The
//! clock is the kind that stamps before it counts; messages are ordered by it just as well.

use alloc::vec::Vec;

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Message as _, Never, NodeId, NodeSet, NodeState,
    Protocol, Refused, StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, EVERYONE, Flaw, Load, MESSAGES, Promises, RESPONSE, SYNC_DELAY,
    Setting, Terms,
};
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::clock::{LateClock, Stamp};

/// The messages between nodes. Every message carries its sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// I want in, since this time.
    Request {
        /// The request's time, which is also the message's.
        time: u64,
    },
    /// I have your request.
    Ack {
        /// The message's time.
        time: u64,
    },
    /// I have left.
    Release {
        /// The message's time.
        time: u64,
        /// The time of the request that is done.
        request: u64,
    },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "ACK", "RELEASE"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Ack { .. } => 1,
            Self::Release { .. } => 2,
        }
    }

    fn counters(&mut self, _: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Request { time } | Self::Ack { time } => visit(Counter::Common, time),
            Self::Release { time, request } => {
                visit(Counter::Common, time);
                visit(Counter::Common, request);
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { time } | Self::Ack { time } => {
                write!(f, "{}({time})", self.kind_name())
            }
            Self::Release { time, request } => write!(f, "RELEASE({time}, of {request})"),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lamport {
    pub(super) me: NodeId,
    pub(super) group: Group,
    pub(super) clock: LateClock,
    pub(super) phase: Phase,
    /// All requests known, our own included, oldest first.
    pub(super) queue: Vec<Stamp>,
}

/// Where a node stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting {
        /// The time of our request.
        time: u64,
        /// The nodes from which nothing later than our request has come yet.
        unheard: NodeSet,
    },
    Inside {
        /// The time of our request.
        time: u64,
    },
}

impl Lamport {
    pub(super) const fn is_inside(&self) -> bool {
        matches!(self.phase, Phase::Inside { .. })
    }

    /// A node of `group` that has neither asked nor been asked.
    pub fn new(me: NodeId, group: Group) -> Self {
        let clock = LateClock::default();
        Self { me, group, clock, phase: Phase::Outside, queue: Vec::new() }
    }

    fn enqueue(&mut self, request: Stamp) {
        let place = self.queue.partition_point(|stamp| *stamp < request);
        self.queue.insert(place, request);
    }

    /// Takes note that `from` has been heard at `time`.
    fn hear(&mut self, from: NodeId, time: u64) {
        self.clock.receive(time);
        if let Phase::Waiting { time: ours, unheard } = &mut self.phase
            && Stamp::new(time, from) > Stamp::new(*ours, self.me)
        {
            unheard.remove(from);
        }
    }

    fn enter_if_first(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { time, unheard } = &self.phase
            && unheard.is_empty()
            && self.queue.first() == Some(&Stamp::new(*time, self.me))
        {
            self.phase = Phase::Inside { time: *time };
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for Lamport {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                self.clock.local();
                let time = self.clock.send();
                let unheard = self.group.others(self.me).collect();
                self.phase = Phase::Waiting { time, unheard };
                self.enqueue(Stamp::new(time, self.me));
                fx.broadcast(self.group.others(self.me), Message::Request { time });
                self.enter_if_first(fx);
            }
            (Command::Release, &Phase::Inside { time: request }) => {
                self.phase = Phase::Outside;
                self.queue.retain(|stamp| stamp.node != self.me);
                if self.group.size() > 1 {
                    let time = self.clock.send();
                    fx.broadcast(self.group.others(self.me), Message::Release { time, request });
                }
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside { .. }) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { time } => {
                self.hear(from, time);
                self.enqueue(Stamp::new(time, from));
                let time = self.clock.send();
                fx.send(from, Message::Ack { time });
            }
            Message::Ack { time } => self.hear(from, time),
            Message::Release { time, request } => {
                self.hear(from, time);
                self.queue.retain(|stamp| *stamp != Stamp::new(request, from));
            }
        }
        self.enter_if_first(fx);
    }

    fn state(&self) -> NodeState {
        let (phase, time, unheard) = match &self.phase {
            Phase::Outside => ("outside", None, None),
            Phase::Waiting { time, unheard } => ("waiting", Some(*time), Some(unheard)),
            Phase::Inside { time } => ("inside", Some(*time), None),
        };
        NodeState::new()
            .with("phase", phase)
            .with("clock", self.clock.now())
            .with("request", time)
            .with("queue", StateValue::list(self.queue.iter().copied()))
            .with("unheard", unheard)
    }

    /// Times are compared with times and counted on from; none means anything by itself.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.clock.counters(visit);
        match &mut self.phase {
            Phase::Waiting { time, .. } | Phase::Inside { time } => visit(Counter::Common, time),
            Phase::Outside => {}
        }
        self.queue.iter_mut().for_each(|stamp| visit(Counter::Common, &mut stamp.time));
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "lamport",
    title: "Lamport",
    solves: "mutual exclusion",
    citation: "Lamport, CACM 21(7), 1978",
    assumes: Assumes::FIFO,
    takes: &[],
    terms: Terms {
        promises: Promises { ordering: |_| true, bypass: Some(|_| 1), stamps: true },
        needs: EVERYONE,
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(|at| Span::exactly(3.0 * at.others())),
        SYNC_DELAY.costs(|_| Span::exactly(1.0)),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_all(3.0 * at.others(), at)),
    ],
    flaws: FLAWS,
    page: page!("lamport.rs"),
};

/// As elsewhere; but a rival's own request counts as having been heard, so of two nodes that ask at
/// once the first enters after a single message delay.
fn response(at: &Setting) -> Span {
    let queue = theory::round_trip_or_queue(at);
    match at.load {
        Load::Heavy if at.nodes() > 1 => queue.or(Span::exactly(1.0 + at.hold)),
        Load::Heavy | Load::Light => queue,
    }
}

/// Known mistakes of the literature; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "unordered-links",
        what: "the algorithm as it is, on links where an acknowledgement may overtake a request",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "copies-stamped-apart",
        what: "each copy of a request gets a time of its own, so that queues disagree",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 1]).fifo(),
    },
    Flaw {
        name: "any-word-will-do",
        what: "any message after the request counts as an answer to it, even if it is older",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[2, 2]).fifo(),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn node(me: u32) -> (Lamport, Outbox<Lamport>) {
        (Lamport::new(NodeId(me), Group::of(3)), Outbox::default())
    }
    fn send(to: u32, message: Message) -> Effect<Lamport> {
        Effect::Send { to: NodeId(to), message }
    }

    #[test]
    fn a_request_is_acknowledged_at_once_with_a_later_time() {
        let (mut node, mut fx) = node(2);
        node.on_message(NodeId(0), Message::Request { time: 1 }, &mut fx);
        assert_eq!(fx.take(), [send(0, Message::Ack { time: 2 })]);
        node.on_message(NodeId(1), Message::Request { time: 1 }, &mut fx);
        assert_eq!(fx.take(), [send(1, Message::Ack { time: 4 })]);
    }

    #[test]
    fn the_published_run_of_two_equal_times() {
        let (mut first, mut fx) = node(0);
        first.on_command(ACQUIRE, &mut fx).unwrap();
        let request = Message::Request { time: 1 };
        assert_eq!(fx.take(), [send(1, request), send(2, request)]);
        first.on_message(NodeId(1), request, &mut fx);
        assert_eq!(fx.take(), [send(1, Message::Ack { time: 3 })]);
        first.on_message(NodeId(1), Message::Ack { time: 3 }, &mut fx);
        assert_eq!(fx.take(), [], "node 2 has not been heard");
        first.on_message(NodeId(2), Message::Ack { time: 2 }, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        first.on_command(Command::Release, &mut fx).unwrap();
        let release = Message::Release { time: 6, request: 1 };
        assert_eq!(fx.take(), [send(1, release), send(2, release)]);
    }

    #[test]
    fn an_older_request_goes_first_and_its_release_lets_us_in() {
        let (mut second, mut fx) = node(1);
        second.on_command(ACQUIRE, &mut fx).unwrap();
        second.on_message(NodeId(0), Message::Request { time: 1 }, &mut fx);
        second.on_message(NodeId(0), Message::Ack { time: 3 }, &mut fx);
        second.on_message(NodeId(2), Message::Ack { time: 4 }, &mut fx);
        fx.take();
        second.on_message(NodeId(0), Message::Release { time: 6, request: 1 }, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        second.on_command(Command::Release, &mut fx).unwrap();
        let release = Message::Release { time: 7, request: 1 };
        assert_eq!(fx.take(), [send(0, release), send(2, release)]);
        assert_eq!(second.queue, vec![]);
    }

    #[test]
    fn a_younger_request_counts_as_having_been_heard() {
        let (mut node, mut fx) = node(0);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), Message::Request { time: 1 }, &mut fx);
        node.on_message(NodeId(2), Message::Request { time: 9 }, &mut fx);
        assert_eq!(fx.take().last(), Some(&Effect::Notify(Notice::Entered)));
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let group = Command::Acquire(Claim::Group(1));
        assert_eq!(node.on_command(group, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        for other in [1, 2] {
            node.on_message(NodeId(other), Message::Ack { time: 5 }, &mut fx);
        }
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }
}
