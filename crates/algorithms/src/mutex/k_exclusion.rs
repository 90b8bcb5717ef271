//! Kerry Raymond, "A distributed algorithm for multiple entries to a critical section", Information
//! Processing Letters 30(4), 1989: Ricart–Agrawala for k equal resources.
//!
//! A node asks everyone and enters when at most k−1 others still owe it a reply: those may be
//! inside, and with it that makes k. The replies that it did not wait for come later, perhaps when
//! it has already asked again; so replies are counted as debts, node by node, and a reply says how
//! many requests it pays for.
//!
//! **Use it** where k nodes may be inside at once, as with k licences or k printers that are alike.
//!
//! ```text
//!   0  ──REQUEST─┬───▲──▲──[ inside ]──────────────REPLY(1)─┬─────────────►   k = 2, N = 4
//!                │   │  │                                   │
//!   1  ──REQUEST─┼───│──┼──[ inside as well ]───────────────│──REPLY(1)─┬─►
//!                │   │  │                                   │           │
//!   2  ──REQUEST─▼─REPLY┘  0 and 1 owe it a reply: too many ▼─[ inside ]▼─►
//!                │   │
//!   3  ──────────▼─REPLY───►  to all three
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 2N−k−1 … 2(N−1) |
//! | synchronisation delay | 0 … 2T: of k places another may be free or about to be |
//! | response without contention | 2T + E |
//! | response under saturation | up to N(T + E) + T |
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. Up to k−1 nodes may stop, but each that does takes one place with it.
//!
//! **Why it is safe.** Say k+1 nodes are inside, and i has the youngest of their requests. Each of
//! the k others was asked by i with a younger request than its own (or is asked while inside), so
//! it defers the reply until it leaves: k nodes owe i a reply, which is one too many.
//!
//! **Why no request starves.** The oldest waiting request is deferred only by nodes inside, and
//! they leave. With k = 1 this is Ricart–Agrawala. Entries do not follow the stamps: of two
//! waiting, the one whose debtors leave first enters first.
//!
//! **On views** several entries are valid at once, and no chain of messages orders them: their
//! numbers only tell an entry of this view from those of older ones.
//!
//! **Where we depart from the paper.** Nothing of substance; the paper counts replies due by node
//! as we do. Counting replies only in sum, or paying for several requests with a reply that counts
//! for one, are the two mistakes that its readers make (see the flaws).

use alloc::vec;
use alloc::vec::Vec;

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Group, Needs, Never, NodeId, NodeState, Protocol, Refused,
    StateValue,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::spec::Admission;
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::clock::{Clock, Stamp};
use crate::setup::{Parameter, Setup};

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
        /// How many requests this answers.
        count: u32,
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
            Self::Reply { .. } => {}
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { time } => write!(f, "REQUEST({time})"),
            Self::Reply { count } => write!(f, "REPLY(for {count})"),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KExclusion {
    me: NodeId,
    group: Group,
    /// How many may be inside together.
    k: u32,
    /// The highest time counted or seen.
    clock: Clock,
    pub(super) phase: Phase,
    /// How many replies each node owes us.
    pub(super) owed: Vec<u32>,
    /// How many requests of each node wait for our reply.
    deferred: Vec<u32>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting {
        /// The time of our request.
        time: u64,
    },
    Inside,
}

impl KExclusion {
    /// A node of `group`, where `k` may be inside together.
    ///
    /// # Panics
    ///
    /// If `k` is 0: then no node could ever enter.
    pub fn new(me: NodeId, group: Group, k: u32) -> Self {
        assert!(k > 0, "at least one may be inside");
        let none = vec![0; group.size() as usize];
        Self {
            me,
            group,
            k,
            clock: Clock::default(),
            phase: Phase::Outside,
            owed: none.clone(),
            deferred: none,
        }
    }

    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self::new(me, setup.group, setup.k)
    }

    fn on_request(&mut self, theirs: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.witness(theirs.time);
        let we_go_first = match self.phase {
            Phase::Outside => false,
            Phase::Waiting { time } => Stamp::new(time, self.me) < theirs,
            Phase::Inside => true,
        };
        if we_go_first {
            self.deferred[theirs.node.index()] += 1;
        } else {
            fx.send(theirs.node, Message::Reply { count: 1 });
        }
    }

    pub(super) fn enter_if_few_owe(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { .. } = self.phase
            && self.owed.iter().filter(|&&owed| owed > 0).count() < self.k as usize
        {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        }
    }
}

impl Protocol for KExclusion {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                let time = self.clock.tick();
                self.phase = Phase::Waiting { time };
                for other in self.group.others(self.me) {
                    self.owed[other.index()] += 1;
                    fx.send(other, Message::Request { time });
                }
                self.enter_if_few_owe(fx);
            }
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                for other in self.group.others(self.me) {
                    let count = core::mem::take(&mut self.deferred[other.index()]);
                    if count > 0 {
                        fx.send(other, Message::Reply { count });
                    }
                }
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
            Message::Reply { count } => {
                // A correct peer never pays more than it owes.
                let owed = &mut self.owed[from.index()];
                *owed = owed.saturating_sub(count);
                self.enter_if_few_owe(fx);
            }
        }
    }

    fn state(&self) -> NodeState {
        let (phase, time) = match self.phase {
            Phase::Outside => ("outside", None),
            Phase::Waiting { time } => ("waiting", Some(time)),
            Phase::Inside => ("inside", None),
        };
        NodeState::new()
            .with("phase", phase)
            .with("our number", time)
            .with("highest number", self.clock.now())
            .with("owed", StateValue::vector(self.owed.iter().copied()))
            .with("deferred", StateValue::vector(self.deferred.iter().copied()))
    }

    /// Times are compared with times and counted on from; none means anything by itself.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.clock.counters(visit);
        match &mut self.phase {
            Phase::Waiting { time } => visit(Counter::Common, time),
            Phase::Outside | Phase::Inside => {}
        }
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "k-exclusion",
    title: "Raymond's k-exclusion",
    solves: "k-exclusion",
    citation: "Raymond, IPL 30(4), 1989",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::K],
    terms: Terms {
        admission: |setup| Admission::UpTo(setup.k),
        // Answers of all but k − 1 of the others.
        needs: |setup| Needs::AllBut(setup.k - 1),
        ..Terms::PLAIN
    },
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|_| Span::between(0.0, 2.0)),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_all(messages(at).low, at).or(messages(at))),
    ],
    flaws: FLAWS,
    page: page!("k_exclusion.rs"),
};

/// Alone, every request is answered at once. Under load a reply may pay for several requests, but
/// at least N−k came before the entry.
fn messages(at: &Setting) -> Span {
    let others = at.others();
    match at.load {
        Load::Light => Span::exactly(2.0 * others),
        Load::Heavy => {
            let waited_for = f64::from(at.nodes().saturating_sub(at.setup.k));
            Span::between(others + waited_for, 2.0 * others)
        }
    }
}

fn response(at: &Setting) -> Span {
    let at_once = Span::exactly(at.hold);
    if at.nodes() <= at.setup.k { at_once } else { theory::round_trip_or_queue(at) }
}

/// Known misreadings of the paper; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "debts-forgotten",
        what: "replies are counted anew for every request, so that an old one counts for a new one",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[3, 1, 1]),
    },
    Flaw {
        name: "reply-counts-once",
        what: "a reply to several requests counts as one, so that a debt is never paid off",
        breaks: "progress",
        shown_by: Demonstration::of(&[3, 1, 1]).staying(&[2]),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    fn node(me: u32, k: u32) -> (KExclusion, Outbox<KExclusion>) {
        (KExclusion::new(NodeId(me), Group::of(4), k), Outbox::default())
    }
    fn reply(count: u32) -> Message {
        Message::Reply { count }
    }

    #[test]
    fn enters_when_at_most_k_minus_one_still_owe_a_reply() {
        let (mut node, mut fx) = node(0, 2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take().len(), 3);
        node.on_message(NodeId(1), reply(1), &mut fx);
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(2), reply(1), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn a_late_reply_pays_the_old_debt_and_not_the_new() {
        let (mut node, mut fx) = node(0, 2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), reply(1), &mut fx);
        node.on_message(NodeId(2), reply(1), &mut fx);
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), reply(1), &mut fx);
        fx.take();
        node.on_message(NodeId(3), reply(1), &mut fx);
        assert_eq!(fx.take(), [], "node 3 owed two replies, and node 2 owes one");
        node.on_message(NodeId(3), reply(1), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn a_reply_to_two_requests_pays_two_debts() {
        let (mut node, mut fx) = node(0, 2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), reply(1), &mut fx);
        node.on_message(NodeId(2), reply(1), &mut fx);
        node.on_command(Command::Release, &mut fx).unwrap();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), reply(1), &mut fx);
        fx.take();
        node.on_message(NodeId(3), reply(2), &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)], "only node 2 still owes a reply");
    }

    #[test]
    fn one_reply_answers_all_requests_of_a_node_that_waited() {
        let (mut node, mut fx) = node(0, 2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(1), reply(1), &mut fx);
        node.on_message(NodeId(2), reply(1), &mut fx);
        node.on_message(NodeId(3), Message::Request { time: 5 }, &mut fx);
        node.on_message(NodeId(3), Message::Request { time: 7 }, &mut fx);
        fx.take();
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [Effect::Send { to: NodeId(3), message: reply(2) }]);
    }

    #[test]
    fn as_many_nodes_as_places_never_wait() {
        let (mut node, mut fx) = node(0, 4);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take().last(), Some(&Effect::Notify(Notice::Entered)));
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0, 3);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        node.on_message(NodeId(1), reply(1), &mut fx);
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }
}
