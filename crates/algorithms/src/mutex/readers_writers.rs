//! Readers and writers: Pierre-Jacques Courtois, F. Heymans and David L. Parnas, "Concurrent
//! control with 'readers' and 'writers'", Communications of the ACM 14(10), 1971, solved by the
//! rule of Ricart and Agrawala, who suggest it in section 6 of their paper of 1981.
//!
//! A request says whether it is to read or to write. A node that is asked replies at once, unless
//! the two conflict *and* it is inside or has an older request: readers never wait for readers.
//! A younger reader does wait for an older writer's reply, so writers are not starved.
//!
//! **Use it** where many read and few write: readers do not wait for each other.
//!
//! ```text
//!   0  ──REQUEST(read)─┬───▲──▲──[ inside ]──────────REPLY─┬───────────────►
//!                      │   │  │                            │
//!   1  ──REQUEST(read)─▼─REPLY┼──[ inside as well ]──REPLY─┼───────────────►
//!                      │      │                            │
//!   2  ──REQUEST(write)▼─REPLY┘  0 and 1 are older         ▼──[ inside ]───►
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 2(N−1), always |
//! | synchronisation delay | T between claims that conflict; 0 … 2T if some do not |
//! | response without contention | 2T + E |
//! | response under saturation | up to N(T + E) + T |
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter.
//!
//! **Why it is safe.** As Ricart–Agrawala, for any two requests that conflict: the older is replied
//! to, the younger deferred. Nothing is asked of requests that do not conflict, so the rule holds
//! for any symmetric relation between claims; it need not be transitive.
//!
//! **Why no request starves.** A request waits only for older ones that conflict with it and for
//! those inside. Conflicting requests enter in the order of their stamps, which respects
//! happened-before, since replies carry the clock.
//!
//! **On views** those who share are inside together, and no chain of messages orders their entries:
//! their numbers only tell an entry of this view from those of older ones.

use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Never, NodeId, NodeSet, NodeState, Protocol, Refused,
    StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, EVERYONE, Flaw, MESSAGES, Promises, RESPONSE, SYNC_DELAY,
    Setting, Terms,
};
use super::spec::Admission;
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, CLAIM_NOT_GRANTED, Claim, Command, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Cost, Span};
use crate::clock::{Clock, Stamp};

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// May I, with this claim, at this time?
    Request {
        /// The asker's clock when it asked.
        time: u64,
        /// Its claim.
        claim: Claim,
    },
    /// You may, as far as I am concerned.
    Reply {
        /// The time of the request that this answers.
        time: u64,
        /// The replier's clock.
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
            Self::Request { time, .. } => visit(Counter::Common, time),
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
            Self::Request { time, claim } => write!(f, "REQUEST({time}, {claim})"),
            Self::Reply { time, clock } => write!(f, "REPLY({time}, clock {clock})"),
        }
    }
}

/// One node, for any claims: readers and writers here, groups in
/// [`group_exclusion`](super::group_exclusion), sets of resources in
/// [`resource_sets`](super::resource_sets).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClaimedExclusion {
    pub(super) me: NodeId,
    pub(super) group: Group,
    /// Groups, sets of resources, or else readers and writers.
    sharing: Sharing,
    /// The highest time counted or seen.
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    /// The requests that wait for our reply, oldest first.
    deferred: Vec<Stamp>,
}

/// Which claims are granted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Sharing {
    ReadersWriters,
    Groups,
    Resources,
}

/// Where a node stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting {
        /// Our claim.
        claim: Claim,
        /// The time of our request.
        time: u64,
        /// The nodes that have yet to reply.
        missing: NodeSet,
    },
    Inside {
        /// Our claim.
        claim: Claim,
    },
}

impl ClaimedExclusion {
    /// A node of `group` that reads (shared claims) and writes (exclusive claims).
    pub fn readers_writers(me: NodeId, group: Group) -> Self {
        Self::new(me, group, Sharing::ReadersWriters)
    }

    /// A node of `group` that enters with members of its class.
    pub fn groups(me: NodeId, group: Group) -> Self {
        Self::new(me, group, Sharing::Groups)
    }

    /// A node of `group` that enters beside all who need other resources.
    pub fn resources(me: NodeId, group: Group) -> Self {
        Self::new(me, group, Sharing::Resources)
    }

    fn new(me: NodeId, group: Group, sharing: Sharing) -> Self {
        let clock = Clock::default();
        Self { me, group, sharing, clock, phase: Phase::Outside, deferred: Vec::new() }
    }

    const fn grants(&self, claim: Claim) -> bool {
        match self.sharing {
            Sharing::ReadersWriters => matches!(claim, Claim::Exclusive | Claim::Shared),
            Sharing::Groups => matches!(claim, Claim::Group(_)),
            Sharing::Resources => matches!(claim, Claim::Of(set) if !set.is_empty()),
        }
    }

    fn on_request(&mut self, theirs: Stamp, claim: Claim, fx: &mut impl Effects<Self>) {
        self.clock.witness(theirs.time);
        let we_go_first = match self.phase {
            Phase::Outside => false,
            Phase::Waiting { claim: ours, time, .. } => {
                ours.conflicts_with(claim) && Stamp::new(time, self.me) < theirs
            }
            Phase::Inside { claim: ours } => ours.conflicts_with(claim),
        };
        if we_go_first {
            self.defer(theirs);
        } else {
            fx.send(theirs.node, self.reply_to(theirs));
        }
    }

    pub(super) fn defer(&mut self, request: Stamp) {
        let place = self.deferred.partition_point(|stamp| *stamp < request);
        self.deferred.insert(place, request);
    }

    fn reply_to(&self, request: Stamp) -> Message {
        Message::Reply { time: request.time, clock: self.clock.now() }
    }

    fn on_reply(&mut self, from: NodeId, answered: u64, fx: &mut impl Effects<Self>) {
        match &mut self.phase {
            Phase::Waiting { time, missing, .. } if *time == answered => {
                missing.remove(from);
                self.enter_if_all_replied(fx);
            }
            Phase::Outside | Phase::Waiting { .. } | Phase::Inside { .. } => {}
        }
    }

    pub(super) fn enter_if_all_replied(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { claim, missing, .. } = &self.phase
            && missing.is_empty()
        {
            self.phase = Phase::Inside { claim: *claim };
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for ClaimedExclusion {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, &self.phase) {
            (Command::Acquire(claim), Phase::Outside) if self.grants(claim) => {
                let time = self.clock.tick();
                let missing = self.group.others(self.me).collect();
                self.phase = Phase::Waiting { claim, time, missing };
                fx.broadcast(self.group.others(self.me), Message::Request { time, claim });
                self.enter_if_all_replied(fx);
            }
            (Command::Release, Phase::Inside { .. }) => {
                self.phase = Phase::Outside;
                let mut deferred = mem::take(&mut self.deferred);
                for request in deferred.drain(..) {
                    fx.send(request.node, self.reply_to(request));
                }
                self.deferred = deferred; // empty: only its room is kept
            }
            (Command::Acquire(_), Phase::Outside) => return Err(CLAIM_NOT_GRANTED),
            (Command::Acquire(_), Phase::Waiting { .. }) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside { .. }) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting { .. }) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { time, claim } => self.on_request(Stamp::new(time, from), claim, fx),
            Message::Reply { time, clock } => {
                self.clock.witness(clock);
                self.on_reply(from, time, fx);
            }
        }
    }

    fn state(&self) -> NodeState {
        let (phase, claim, time, missing) = match &self.phase {
            Phase::Outside => ("outside", None, None, None),
            Phase::Waiting { claim, time, missing } => {
                ("waiting", Some(claim), Some(*time), Some(missing))
            }
            Phase::Inside { claim } => ("inside", Some(claim), None, None),
        };
        NodeState::new()
            .with("phase", phase)
            .with("claim", claim.map(|claim| StateValue::shown(claim)))
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
            Phase::Outside | Phase::Inside { .. } => {}
        }
        self.deferred.iter_mut().for_each(|stamp| visit(Counter::Common, &mut stamp.time));
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "readers-writers",
    title: "Readers and writers",
    solves: "shared exclusion",
    citation: "after Ricart and Agrawala, CACM 24(1), 1981, §6",
    assumes: Assumes::ANY_ORDER,
    takes: &[],
    terms: Terms { claims: &[Claim::Shared, Claim::Exclusive], ..SHARING },
    theory: THEORY,
    flaws: FLAWS,
    page: page!("readers_writers.rs"),
};

/// Invariants for every kind of claims.
pub(super) const SHARING: Terms = Terms {
    admission: |_| Admission::Compatible,
    promises: Promises { ordering: |_| true, bypass: Some(|_| 1), ..Promises::NONE },
    needs: EVERYONE,
    ..Terms::PLAIN
};

/// Costs that do not depend on which claims conflict: at the worst all do.
pub(super) const THEORY: &[Cost<Setting>] = &[
    MESSAGES.costs(|at| Span::exactly(2.0 * at.others())),
    SYNC_DELAY.costs(|_| Span::between(0.0, 2.0)),
    RESPONSE.costs(theory::round_trip_or_queue),
    BUSIEST.costs(|at| theory::handled_by_all(2.0 * at.others(), at)),
];

/// A tempting optimisation that is wrong; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "readers-pass-waiting-writers",
        what: "a waiting writer replies to every reader, and still counts on replies that it has",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 1]).claiming(&[
            Claim::Shared,
            Claim::Shared,
            Claim::Exclusive,
        ]),
    },
    Flaw {
        name: "readers-preference",
        what: "readers go before every writer that waits: readers that take turns never let one in",
        breaks: "no starvation",
        shown_by: Demonstration::of(&[1, 2, 1]).fifo().claiming(&[
            Claim::Exclusive,
            Claim::Shared,
            Claim::Shared,
        ]),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const READ: Command = Command::Acquire(Claim::Shared);
    const WRITE: Command = Command::Acquire(Claim::Exclusive);

    fn node(me: u32) -> (ClaimedExclusion, Outbox<ClaimedExclusion>) {
        (ClaimedExclusion::readers_writers(NodeId(me), Group::of(3)), Outbox::default())
    }
    fn request(time: u64, claim: Claim) -> Message {
        Message::Request { time, claim }
    }
    fn replied_to(time: u64, effects: &[Effect<ClaimedExclusion>]) -> bool {
        match effects {
            [Effect::Send { message: Message::Reply { time: answered, .. }, .. }] => {
                *answered == time
            }
            _ => false,
        }
    }

    #[test]
    fn a_reader_inside_lets_readers_in_and_keeps_writers_out() {
        let (mut node, mut fx) = node(0);
        node.on_command(READ, &mut fx).unwrap();
        for other in [1, 2] {
            node.on_message(NodeId(other), Message::Reply { time: 1, clock: 0 }, &mut fx);
        }
        assert_eq!(fx.take().last(), Some(&Effect::Notify(Notice::Entered)));
        node.on_message(NodeId(1), request(2, Claim::Shared), &mut fx);
        assert!(replied_to(2, &fx.take()));
        node.on_message(NodeId(2), request(3, Claim::Exclusive), &mut fx);
        assert_eq!(fx.take(), vec![]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert!(replied_to(3, &fx.take()));
    }

    #[test]
    fn a_waiting_writer_goes_before_younger_readers_and_after_older_ones() {
        let (mut node, mut fx) = node(1);
        node.on_message(NodeId(0), request(4, Claim::Shared), &mut fx);
        fx.take();
        node.on_command(WRITE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(2), request(6, Claim::Shared), &mut fx);
        assert_eq!(fx.take(), vec![], "ours is of time 5");
        node.on_message(NodeId(0), request(5, Claim::Shared), &mut fx);
        assert!(replied_to(5, &fx.take()), "(5, 0) is older than (5, 1)");
    }

    #[test]
    fn groups_are_for_another_algorithm() {
        let (mut node, mut fx) = node(0);
        let group = Command::Acquire(Claim::Group(1));
        assert_eq!(node.on_command(group, &mut fx), Err(CLAIM_NOT_GRANTED));
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        node.on_command(READ, &mut fx).unwrap();
        assert_eq!(node.on_command(READ, &mut fx), Err(ALREADY_WAITING));
        for other in [1, 2] {
            node.on_message(NodeId(other), Message::Reply { time: 1, clock: 0 }, &mut fx);
        }
        assert_eq!(node.on_command(WRITE, &mut fx), Err(ALREADY_INSIDE));
    }
}
