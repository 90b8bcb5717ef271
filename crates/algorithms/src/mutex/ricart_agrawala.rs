//! Glenn Ricart and Ashok K. Agrawala, "An optimal algorithm for mutual exclusion in computer
//! networks", Communications of the ACM 24(1), 1981.
//!
//! A node that wants in asks everyone, with a Lamport time on its request, and enters when everyone
//! has replied. A node that is asked replies at once, unless it is inside or has an older request
//! of its own; then it defers the reply until it leaves. Since every two requests are ordered by
//! time and number, of two rivals exactly one defers to the other.
//!
//! **Use it** where nodes are few and reliable and the next one is to enter as soon as possible, T
//! after the last; one node that stops, stops all.
//!
//! ```text
//!   0  ──REQUEST(1)─┬───────────────▲──▲──[ inside ]──REPLY(1)──┬────────────────►
//!                   │               │  │                        │
//!   1  ─────────────▼────REPLY(1)───┘  │                        │
//!                   │                  │                        │
//!   2  ──REQUEST(1)─▼────REPLY(1)──────┘  0 defers 2:           ▼──[ inside ]────►
//!                                         (1, 0) before (1, 2)
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 2(N−1), always |
//! | synchronisation delay | T |
//! | response without contention | 2T + E |
//! | response under saturation | up to N(T + E) + T |
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. One node that stops, even an idle one, stops all.
//!
//! **Why it is safe.** Let i and j both be inside. Each has the other's reply to its request. Say
//! i's request is the older. If j replied to i before asking itself, its clock had seen i's time,
//! so its own request is younger, as said; then i, waiting or inside, defers its reply to j until
//! it leaves. If j asked before replying, it replied with an older or a younger request of its own
//! pending: older contradicts the choice of i, younger means that i defers j as before. In other
//! words, as soon as i has j's reply, a request of j that i has answered is served, one that i
//! defers stays younger, and one that i has yet to hear of is younger; the checker tries these
//! three conditions in every state.
//!
//! **Why no request starves.** Deferring goes from younger to older, so it has no cycle: the oldest
//! request is deferred only by the node inside, which leaves. Entries happen in the order of the
//! requests' stamps; so a request that happened before another enters before it.
//!
//! **Where we depart from the paper.** A reply names the request that it answers, and replies are
//! kept as a set of nodes rather than counted: a stale or doubled reply then cannot let anyone in.
//! A reply also carries its sender's clock. In the paper only requests advance clocks; then a node
//! that has heard of a request through a reply may still stamp its own with an older time and enter
//! first, so entries respect the stamps but not happened-before (the flaw `replies-carry-no-clock`
//! shows the run). The paper's clock update on a request's receipt is kept exactly; without it the
//! algorithm is not merely unfair but unsafe.

use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Never, NodeId, NodeSet, NodeState, Protocol, Refused,
    StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, EVERYONE, Flaw, MESSAGES, Promises, RESPONSE, SYNC_DELAY, Terms,
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
    /// May I, at this time?
    Request {
        /// The asker's clock when it asked.
        time: u64,
    },
    /// You may, as far as I am concerned.
    Reply {
        /// The time of the request that this answers.
        time: u64,
        /// The replier's clock, so that the next request of the receiver is later than all that the
        /// replier has seen.
        clock: u64,
    },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "REPLY"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Reply { .. } => 1,
        }
    }

    fn counters(&mut self, _: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        match self {
            Self::Request { time } => visit(Counter::Common, time),
            Self::Reply { time, clock } => {
                visit(Counter::Common, time);
                visit(Counter::Common, clock);
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { time } => write!(f, "REQUEST({time})"),
            Self::Reply { time, clock } => write!(f, "REPLY({time}, clock {clock})"),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RicartAgrawala {
    pub(super) me: NodeId,
    pub(super) group: Group,
    /// The highest time counted or seen.
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    /// The requests that wait for our reply, oldest first.
    pub(super) deferred: Vec<Stamp>,
}

/// Where a node stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting {
        /// The time of our request.
        time: u64,
        /// The nodes that have yet to reply.
        missing: NodeSet,
    },
    Inside,
}

impl RicartAgrawala {
    /// A node of `group` that has neither asked nor been asked.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self::with_clock(me, group, Clock::default())
    }

    /// A node whose clock has already counted.
    pub fn with_clock(me: NodeId, group: Group, clock: Clock) -> Self {
        Self { me, group, clock, phase: Phase::Outside, deferred: Vec::new() }
    }

    pub(super) fn is_inside(&self) -> bool {
        self.phase == Phase::Inside
    }

    fn on_request(&mut self, theirs: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.witness(theirs.time);
        let we_go_first = match self.phase {
            Phase::Outside => false,
            Phase::Waiting { time, .. } => Stamp::new(time, self.me) < theirs,
            Phase::Inside => true,
        };
        if we_go_first {
            let place = self.deferred.partition_point(|stamp| *stamp < theirs);
            self.deferred.insert(place, theirs);
        } else {
            fx.send(theirs.node, self.reply_to(theirs));
        }
    }

    fn reply_to(&self, request: Stamp) -> Message {
        Message::Reply { time: request.time, clock: self.clock.now() }
    }

    fn on_reply(&mut self, from: NodeId, answered: u64, fx: &mut impl Effects<Self>) {
        match &mut self.phase {
            Phase::Waiting { time, missing } if *time == answered => {
                missing.remove(from);
                self.enter_if_all_replied(fx);
            }
            Phase::Outside | Phase::Waiting { .. } | Phase::Inside => {}
        }
    }

    fn enter_if_all_replied(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { missing, .. } = &self.phase
            && missing.is_empty()
        {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for RicartAgrawala {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                let time = self.clock.tick();
                let missing = self.group.others(self.me).collect();
                self.phase = Phase::Waiting { time, missing };
                fx.broadcast(self.group.others(self.me), Message::Request { time });
                self.enter_if_all_replied(fx);
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                let mut deferred = mem::take(&mut self.deferred);
                for request in deferred.drain(..) {
                    fx.send(request.node, self.reply_to(request));
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
            Message::Reply { time, clock } => {
                self.clock.witness(clock);
                self.on_reply(from, time, fx);
            }
        }
    }

    fn state(&self) -> NodeState {
        let (phase, time, missing) = match &self.phase {
            Phase::Outside => ("outside", None, None),
            Phase::Waiting { time, missing } => ("waiting", Some(*time), Some(missing)),
            Phase::Inside => ("inside", None, None),
        };
        NodeState::new()
            .with("phase", phase)
            .with("our number", time)
            .with("highest number", self.clock.now())
            .with("awaits reply", missing)
            .with("deferred", StateValue::list(self.deferred.iter().copied()))
    }

    /// Times are compared with times and counted on from; none means anything by itself.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.clock.counters(visit);
        match &mut self.phase {
            Phase::Waiting { time, .. } => visit(Counter::Common, time),
            Phase::Outside | Phase::Inside => {}
        }
        self.deferred.iter_mut().for_each(|stamp| visit(Counter::Common, &mut stamp.time));
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "ricart-agrawala",
    title: "Ricart–Agrawala",
    solves: "mutual exclusion",
    citation: "Ricart and Agrawala, CACM 24(1), 1981",
    assumes: Assumes::ANY_ORDER,
    takes: &[],
    terms: Terms {
        promises: Promises { ordering: |_| true, bypass: Some(|_| 1), stamps: true },
        needs: EVERYONE,
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(|at| Span::exactly(2.0 * at.others())),
        SYNC_DELAY.costs(|_| Span::exactly(1.0)),
        RESPONSE.costs(theory::round_trip_or_queue),
        BUSIEST.costs(|at| theory::handled_by_all(2.0 * at.others(), at)),
    ],
    flaws: FLAWS,
    page: page!("ricart_agrawala.rs"),
};

/// Known mistakes of the literature; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "clock-not-advanced",
        what: "a request's receipt does not advance the clock, so a later request may look older",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "replies-carry-no-clock",
        what: "only requests advance clocks, as in the paper: stamps are respected, cause is not",
        breaks: "ordering",
        shown_by: Demonstration::of(&[2, 1, 1]).fifo(),
    },
    Flaw {
        name: "deferred-never-cleared",
        what: "deferred replies are sent again at every release, and replies are only counted",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[3, 3]).fifo(),
    },
    Flaw {
        name: "majority",
        what: "a majority of replies lets a node in, though an idle node replies to everybody",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 1]),
    },
    Flaw {
        name: "no-tie-break",
        what: "requests are compared by time alone, so two of the same time both get replies",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1]),
    },
    Flaw {
        name: "stamp-lowered",
        what: "a waiting node takes an older stamp than a request that it hears of, so both defer",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::{Effect, Message as _, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn send(to: u32, message: Message) -> Effect<RicartAgrawala> {
        Effect::Send { to: NodeId(to), message }
    }
    fn request(time: u64) -> Message {
        Message::Request { time }
    }
    fn reply(time: u64) -> Message {
        Message::Reply { time, clock: 0 }
    }
    fn reply_at(clock: u64, time: u64) -> Message {
        Message::Reply { time, clock }
    }
    /// Node `me` of three, its clock at `time`, and a sink.
    fn node(me: u32, time: u64) -> (RicartAgrawala, Outbox<RicartAgrawala>) {
        let node = RicartAgrawala::with_clock(NodeId(me), Group::of(3), Clock::at(time));
        (node, Outbox::default())
    }

    #[test]
    fn asks_everyone_with_one_time_and_enters_when_all_have_replied() {
        let (mut node, mut fx) = node(1, 0);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, request(1)), send(2, request(1))]);
        node.on_message(NodeId(0), reply(1), &mut fx);
        assert_eq!(fx.take(), [], "one reply is missing");
        node.on_message(NodeId(2), reply(1), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn the_published_run_with_times_8_and_12() {
        let (mut p0, mut fx) = node(0, 11);
        p0.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(1, request(12)), send(2, request(12))]);
        p0.on_message(NodeId(1), request(8), &mut fx);
        assert_eq!(fx.take(), [send(1, reply_at(12, 8))], "theirs is older");

        let (mut p1, mut fx) = node(1, 7);
        p1.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        p1.on_message(NodeId(0), request(12), &mut fx);
        assert_eq!(fx.take(), [], "ours is older: deferred");
        assert_eq!(p1.clock.now(), 12);
        p1.on_message(NodeId(0), reply(8), &mut fx);
        p1.on_message(NodeId(2), reply(8), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        p1.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, reply_at(12, 12))]);
        p1.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take()[0], send(0, request(13)), "later than all that it has seen");
    }

    #[test]
    fn of_equal_times_the_lower_node_goes_first() {
        let (mut low, mut fx) = node(1, 4);
        low.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        low.on_message(NodeId(2), request(5), &mut fx);
        assert_eq!(fx.take(), [], "(5, 1) is older than (5, 2)");

        let (mut high, mut fx) = node(2, 4);
        high.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        high.on_message(NodeId(1), request(5), &mut fx);
        assert_eq!(fx.take(), [send(1, reply_at(5, 5))]);
    }

    #[test]
    fn while_inside_everyone_is_deferred_and_answered_oldest_first() {
        for asked in [[(0, 9), (2, 4)], [(2, 4), (0, 9)]] {
            let (mut node, mut fx) = node(1, 0);
            node.on_command(ACQUIRE, &mut fx).unwrap();
            node.on_message(NodeId(0), reply(1), &mut fx);
            node.on_message(NodeId(2), reply(1), &mut fx);
            fx.take();
            for (from, time) in asked {
                node.on_message(NodeId(from), request(time), &mut fx);
            }
            assert_eq!(fx.take(), []);
            node.on_command(Command::Release, &mut fx).unwrap();
            assert_eq!(fx.take(), [send(2, reply_at(9, 4)), send(0, reply_at(9, 9))]);
            assert_eq!(node.deferred, vec![], "answered once");
        }
    }

    #[test]
    fn whoever_hears_of_a_request_by_a_reply_asks_later_than_it() {
        let (mut node, mut fx) = node(1, 0);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(0), reply_at(7, 1), &mut fx);
        node.on_message(NodeId(2), reply_at(3, 1), &mut fx);
        node.on_command(Command::Release, &mut fx).unwrap();
        fx.take();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take()[0], send(0, request(8)));
    }

    #[test]
    fn stale_and_doubled_replies_let_nobody_in() {
        let (mut node, mut fx) = node(1, 6);
        node.on_message(NodeId(0), reply(3), &mut fx);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(0), reply(6), &mut fx);
        node.on_message(NodeId(2), reply(7), &mut fx);
        node.on_message(NodeId(2), reply(7), &mut fx);
        assert_eq!(fx.take(), [], "node 0 has not answered this request");
        node.on_message(NodeId(0), reply(7), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        node.on_message(NodeId(0), reply(7), &mut fx);
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn alone_a_node_enters_at_once() {
        let mut node = RicartAgrawala::new(NodeId(0), Group::of(1));
        let mut fx = Outbox::default();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused_and_change_nothing() {
        let (mut node, mut fx) = node(0, 0);
        let outside = node.clone();
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        assert_eq!((&node, fx.take()), (&outside, vec![]));

        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        let waiting = node.clone();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        assert_eq!((&node, fx.take()), (&waiting, vec![]));

        node.on_message(NodeId(1), reply(1), &mut fx);
        node.on_message(NodeId(2), reply(1), &mut fx);
        fx.take();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn messages_name_their_kinds() {
        assert_eq!(request(1).kind_name(), "REQUEST");
        assert_eq!(reply(1).kind_name(), "REPLY");
    }
}
