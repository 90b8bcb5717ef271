//! The locks of M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems", ACM
//! Transactions on Computer Systems 3(2), 1985, without what the paper does against deadlock: to
//! see why the rest of it is needed.
//!
//! Every node has a quorum, and any two quorums meet. A node that wants in asks its quorum, and
//! enters when all of it have given it their lock. Each member gives its lock to one request at a
//! time, and lets the others wait, the oldest first; a node that leaves gives all locks back.
//!
//! **Use it** to see the deadlock that Maekawa's further rules are made against; it is right only
//! where requests come one at a time.
//!
//! ```text
//!   quorums {0, 1}, {1, 2}, {2, 0}: each has its own lock and waits for that of the next
//!
//!   0  ──REQUEST(1)─┬─────────────────▲──  has 0, waits for 1 ──►
//!                   │                 │
//!   1  ─────────────▼─REQUEST(1)─┬────│──  has 1, waits for 2 ──►
//!                                │    │
//!   2  ──REQUEST(1)──────────────▼────┘    has 2, waits for 0 ──►
//! ```
//!
//! | per entry, K in a quorum | cost |
//! | --- | --- |
//! | messages | 3(K−1), if the node is in its own quorum; else 3K |
//! | synchronisation delay | 2T, or T if the one lock that both need is with one of the two |
//! | response without contention | 2T + E |
//! | response under saturation | for ever, sooner or later |
//!
//! **Assumes** that requests come one at a time, that messages are not lost or duplicated and that
//! no node fails; their order does not matter. Where several nodes ask at once, they may deadlock.
//! So it is **not fit for use**: under heavy load it runs only with `--break-assumptions`.
//!
//! **Why it is safe.** Two inside have each the locks of a whole quorum. The quorums meet in an
//! arbiter, and that one has a single lock.
//!
//! **Why requests starve.** A lock that was given comes back only from inside. Three that have each
//! a lock which the next needs will never be inside. The checker finds it in six steps; in the
//! plane of 13 nodes that Maekawa draws, three requests and fifteen messages do
//! ([`maekawa`](super::maekawa) untangles the same run). One request at a time is always served.

use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Invariant, Never, NodeId, NodeSet, NodeState, Protocol, Refused, Situation,
};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::locking::{Arbiter, Phase};
use super::self_messages::HandlesSelfMessages;
use super::{
    ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice, theory,
};
use crate::card::{Assumes, Span};
use crate::clock::{Clock, Stamp};
use crate::quorum::QuorumSchedule;
use crate::setup::Parameter;

/// The messages between nodes, each about the request of this time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the time of the request, in all of them")]
pub enum Message {
    /// May I have your lock?
    Request { time: u64 },
    /// It is yours.
    Locked { time: u64 },
    /// I have left.
    Release { time: u64 },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "LOCKED", "RELEASE"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Locked { .. } => 1,
            Self::Release { .. } => 2,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { time } => write!(f, "REQUEST({time})"),
            Self::Locked { time } => write!(f, "LOCKED({time})"),
            Self::Release { time } => write!(f, "RELEASE({time})"),
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MaekawaBasic {
    me: NodeId,
    schedule: QuorumSchedule,
    /// The highest time counted or seen in a request.
    clock: Clock,
    arbiter: Arbiter,
    phase: Phase,
    /// The arbiters whose lock our request has.
    locked: NodeSet,
}

impl MaekawaBasic {
    /// A node that has neither asked nor been asked.
    pub fn new(me: NodeId, schedule: QuorumSchedule) -> Self {
        let (clock, arbiter) = (Clock::default(), Arbiter::default());
        Self { me, schedule, clock, arbiter, phase: Phase::Outside, locked: NodeSet::EMPTY }
    }

    /// Gives the lock to the oldest of those who wait, if it is here.
    fn give(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(next) = self.arbiter.next() {
            self.arbiter.lock = Some(next);
            fx.send(next.node, Message::Locked { time: next.time });
        }
    }

    fn everyone(&self, message: Message, fx: &mut impl Effects<Self>) {
        fx.broadcast(self.schedule.quorum().iter().copied(), message);
    }
}

impl HandlesSelfMessages for MaekawaBasic {
    fn me(&self) -> NodeId {
        self.me
    }

    fn obey(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                let time = self.clock.tick();
                self.phase = Phase::Waiting(time);
                self.everyone(Message::Request { time }, fx);
            }
            (Command::Release, Phase::Inside(time)) => {
                self.phase = Phase::Outside;
                self.locked.clear();
                self.everyone(Message::Release { time }, fx);
                self.schedule.turn();
            }
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), Phase::Outside) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Acquire(_), Phase::Waiting(_)) => return Err(ALREADY_WAITING),
            (Command::Acquire(_), Phase::Inside(_)) => return Err(ALREADY_INSIDE),
            (Command::Release, Phase::Outside | Phase::Waiting(_)) => return Err(NOT_INSIDE),
        }
        Ok(())
    }

    fn hear(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { time } => {
                self.clock.witness(time);
                self.arbiter.enqueue(Stamp::new(time, from));
                self.give(fx);
            }
            Message::Release { time } => {
                self.arbiter.unlock(Stamp::new(time, from));
                self.give(fx);
            }
            Message::Locked { time } if self.phase == Phase::Waiting(time) => {
                let quorum = self.schedule.quorum();
                if quorum.binary_search(&from).is_ok() {
                    self.locked.insert(from);
                }
                if self.locked.len() == quorum.len() {
                    self.phase = Phase::Inside(time);
                    fx.notify(Notice::Entered);
                }
            }
            Message::Locked { .. } => {}
        }
    }
}

impl Protocol for MaekawaBasic {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.obey_at_home(command, fx)
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        self.hear_at_home(from, message, fx);
    }

    fn state(&self) -> NodeState {
        self.phase
            .state()
            .with("clock", self.clock.now())
            .with("locks", &self.locked)
            .and(self.arbiter.state("locked for"))
            .and(self.schedule.state())
    }
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<MaekawaBasic>] =
    &[Invariant { name: "one lock an arbiter", holds: one_lock_an_arbiter }];

/// A node that has an arbiter's lock is the one that the arbiter has given it to.
fn one_lock_an_arbiter(at: &Situation<'_, MaekawaBasic>) -> Result<(), String> {
    for (id, node) in at.up() {
        let (Phase::Waiting(time) | Phase::Inside(time)) = node.phase else { continue };
        let given = Some(Stamp::new(time, id));
        if let Some(arbiter) = node.locked.iter().find(|&it| at.node(it).arbiter.lock != given) {
            return Err(format!(
                "node {id} has the lock of arbiter {arbiter}, which has not given it to that node"
            ));
        }
    }
    Ok(())
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "maekawa-basic",
    title: "Maekawa without rules against deadlock",
    solves: "mutual exclusion",
    citation: "Maekawa, ACM TOCS 3(2), 1985, in part",
    assumes: Assumes::ANY_ORDER.one_at_a_time(),
    takes: &[Parameter::Quorum],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|at| Span::between(theory::least_hand_over(at), f64::INFINITY)),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_some(messages(at), at)),
    ],
    flaws: FLAWS,
    page: page!("maekawa_basic.rs"),
};

fn messages(at: &Setting) -> Span {
    theory::of_quorums(at, |me, quorum| 3.0 * theory::others(me, quorum))
}

/// There and back; or never, where several ask.
fn response(at: &Setting) -> Span {
    let alone = theory::round_trip(at);
    match at.load {
        Load::Light | Load::Heavy if at.contenders == 1 => alone,
        Load::Light => alone,
        Load::Heavy => Span::between(alone.low, f64::INFINITY),
    }
}

/// Properties that it does not promise, with a counterexample; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "circle",
    what: "no mistake, but its limit: nodes that ask at the same time wait for each other",
    breaks: "progress",
    shown_by: Demonstration::of(&[1, 1, 1]).given(&[(Parameter::Quorum, "sets:0-1,1-2,0-2")]),
}];

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;
    use crate::quorum::Quorums;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

    /// Node `me` of three that ask themselves and the next.
    fn node(me: u32) -> (MaekawaBasic, Outbox<MaekawaBasic>) {
        let quorums: Quorums = "sets:0-1,1-2,0-2".parse().unwrap();
        let system = quorums.system(Group::of(3)).unwrap();
        (MaekawaBasic::new(NodeId(me), system.schedule(NodeId(me))), Outbox::default())
    }
    fn send(to: u32, message: Message) -> Effect<MaekawaBasic> {
        Effect::Send { to: NodeId(to), message }
    }

    #[test]
    fn a_lock_is_given_to_the_oldest_that_waits_when_it_comes_back() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, Message::Request { time: 1 })]);
        node.on_message(NodeId(0), Message::Request { time: 3 }, &mut fx);
        node.on_message(NodeId(2), Message::Request { time: 2 }, &mut fx);
        node.on_message(NodeId(2), Message::Request { time: 2 }, &mut fx);
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(2), Message::Locked { time: 1 }, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
        node.on_command(Command::Release, &mut fx).unwrap();
        let released =
            [send(2, Message::Release { time: 1 }), send(2, Message::Locked { time: 2 })];
        assert_eq!(fx.take(), released);
        node.on_message(NodeId(2), Message::Release { time: 2 }, &mut fx);
        assert_eq!(fx.take(), [send(0, Message::Locked { time: 3 })]);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(2, Message::Request { time: 4 })]);
    }

    #[test]
    fn strangers_and_other_requests_change_nothing() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        let before = node.clone();
        node.on_message(NodeId(0), Message::Locked { time: 1 }, &mut fx);
        node.on_message(NodeId(2), Message::Locked { time: 2 }, &mut fx);
        node.on_message(NodeId(0), Message::Release { time: 1 }, &mut fx);
        assert_eq!((node, fx.take()), (before, Vec::new()));
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        node.on_message(NodeId(1), Message::Locked { time: 1 }, &mut fx);
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }

    #[test]
    fn a_lock_that_two_have_is_seen() {
        let mut nodes = [0, 1, 2].map(|me| node(me).0);
        nodes[0].phase = Phase::Waiting(1);
        nodes[0].locked.insert(NodeId(1));
        nodes[1].arbiter.lock = Some(Stamp::new(1, NodeId(0)));
        let holds = |nodes: &[MaekawaBasic; 3]| {
            let at = Situation::new(nodes.iter().collect(), NodeSet::EMPTY, Vec::new());
            one_lock_an_arbiter(&at).is_ok()
        };
        assert!(holds(&nodes));
        nodes[1].arbiter.lock = Some(Stamp::new(2, NodeId(0)));
        assert!(!holds(&nodes));
    }
}
