//! Maekawa's algorithm (Mamoru Maekawa, ACM Transactions on Computer Systems 3(2), 1985) with
//! another quorum where a member of the node's own is down: Divyakant Agrawal and Amr El Abbadi,
//! "An efficient and fault-tolerant solution for distributed mutual exclusion", ACM TOCS 9(1),
//! 1991, choose among the quorums of a tree like this; here it may be any system.
//!
//! A node that waits probes the members of its quorum whose locks it does not have. One that does
//! not answer in time is suspected, and the node asks a quorum without any that it suspects, with
//! the same stamp; it keeps the locks that it has. It enters with the locks of the whole of one
//! quorum, and when it leaves it tells all that it has ever asked.
//!
//! **Use it** like Maekawa's, where idle arbiters may crash and messages take no longer than a
//! known time.
//!
//! ```text
//!   1  ──REQUEST─┬──PROBE─┬──────REQUEST─┬───▲──[ inside ]──RELEASE─┬──────►
//!                │        │              │   │                      │
//!   0  ──────────▼──╳     ╳              │   │                      │
//!                   crashed              │   │                      │
//!   2  ──────────────────────────────────▼─LOCKED───────────────────▼──────►
//! ```
//!
//! | per entry, quorums of K | cost |
//! | --- | --- |
//! | messages | 3(K−1) without contention; more by probes, and for every quorum that is asked |
//! | synchronisation delay | up to 4T |
//! | response without contention | 2T + E |
//! | recovery | 4 × the bound on message delay, until another quorum is asked |
//!
//! A node that comes up again says so to all (RESTARTED): which of its requests are over, and which
//! request of the other it knows last. What was sent to it while it was down is lost, and the
//! others make up for it. Who waits, and has asked or suspected it, begins anew: its request is
//! over, and it makes another, with a later stamp. Who is asked about a request that is over says
//! that it is (RELEASE).
//!
//! **Assumes** that messages take no longer than a known bound and are not lost or duplicated, but
//! for those to a node that is down. Nodes that neither wait nor are inside may crash, and come up
//! again, as long as a quorum is left. An arbiter that comes up again has not forgotten to whom it
//! has given its lock. Two things are not covered, since no suspicion takes a lock back. If a node
//! crashes while it waits or is inside, its locks are gone until it comes up again. And if a node
//! leaves while one of its arbiters is down, and is itself down when that one comes up, the arbiter
//! is locked for it until both are up.
//!
//! **Why it is safe.** Whoever is inside has had the locks of all members of one quorum, and no
//! arbiter takes its lock back from a node inside. Two quorums of the system have a member in
//! common, which is looked at before nodes are made. If that member is up, it has given its lock to
//! one of the two only. If it has crashed, it gave it to one of the two before, and the other
//! cannot enter with a quorum that contains it: any quorum that it does enter with meets the first
//! one in some other member, to which the same applies. None of this rests on suspicions: a node
//! that suspects wrongly asks more nodes than it needs. So it is safe on links of any delay (`check
//! maekawa-fallback --asynchronous --only safety` looks for a run that is not, as far as
//! `--max-states` lets it: probes never end there). What RESTARTED brings about is safe at any
//! moment, too: a node says of its own requests that they are over, which they are for ever, and
//! whatever is still under way names a request that is over.
//!
//! **Why no request waits for ever.** A member that is down is suspected after two rounds, and then
//! a quorum of those that are up is asked. Of these, as in Maekawa's algorithm, each but the oldest
//! request is told that it is not the oldest, and gives back what it is asked for. Two rules are
//! added since a node may enter without the locks of some that it has asked: RELEASE also takes a
//! request out of an arbiter's queue, and a LOCKED for a request that is over, which has crossed
//! the RELEASE, is answered with another.
//!
//! A restart: whatever was lost at a node that was down was sent to it before its RESTARTED
//! arrives. So a request that waits after that has lost nothing of what it has said to that
//! arbiter, be it REQUEST or RELINQUISH, since it was made later; and of a request that is over the
//! arbiter has been told. A node that has no quorum without suspects asks nobody any more; but one
//! that was suspected rightly and is up again has said so, and then it asks anew. Every restart
//! makes a request younger once, so none is put off for ever by finitely many.

use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Invariant, NodeId, NodeState, Protocol, Refused, Situation};

use super::card::{Card, Demonstration, Flaw, Terms};
use super::fallback::{Fallback, THEORY, fallbacks};
use super::locking::{Answer, Arbiter, Message as Lock, Phase, Request};
use super::self_messages::HandlesSelfMessages;
use super::stamps::Stamping;
use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::card::Assumes;
use crate::clock::{Clock, Stamp};
use crate::recipe::Recipe;
use crate::setup::Parameter;

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Those of Maekawa's algorithm.
    Lock(Lock),
    /// A requester: are you there?
    Probe(u64),
    /// An arbiter: I am.
    Alive(u64),
    /// A node: I was down.
    Restarted {
        /// Its own requests up to this time are over.
        over: u64,
        /// The last request of the receiver that it knows as an arbiter; 0 if it knows none.
        known: u64,
    },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &[
        "REQUEST",
        "LOCKED",
        "FAILED",
        "INQUIRE",
        "RELINQUISH",
        "RELEASE",
        "PROBE",
        "ALIVE",
        "RESTARTED",
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Lock(message) => message.kind(),
            Self::Probe(_) => 6,
            Self::Alive(_) => 7,
            Self::Restarted { .. } => 8,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(message) => message.fmt(f),
            Self::Probe(time) => write!(f, "PROBE({time})"),
            Self::Alive(time) => write!(f, "ALIVE({time})"),
            Self::Restarted { over, known } => write!(f, "RESTARTED({over},{known})"),
        }
    }
}

/// The timer of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// Whoever was probed would have answered, and it is time to probe again.
    Probe,
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MaekawaFallback {
    me: NodeId,
    /// The quorums, and whom it asks.
    pub(super) fallback: Fallback,
    clock: Clock,
    arbiter: Arbiter,
    request: Request,
}

impl Stamping for MaekawaFallback {
    fn time(&self) -> u64 {
        self.clock.now()
    }
    fn is_inside(&self) -> bool {
        self.request.is_inside()
    }
    fn waits_since(&self) -> Option<u64> {
        match self.request.phase {
            Phase::Waiting(time) => Some(time),
            Phase::Outside | Phase::Inside(_) => None,
        }
    }
}

impl MaekawaFallback {
    /// A node with these quorums.
    pub fn new(me: NodeId, fallback: Fallback) -> Self {
        let (clock, arbiter, request) = (Clock::default(), Arbiter::default(), Request::default());
        Self { me, fallback, clock, arbiter, request }
    }

    // --- the arbiter

    fn on_request(&mut self, new: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.witness(new.time);
        match self.arbiter.on_request(new) {
            Answer::Nothing => {}
            Answer::Give => self.give(fx),
            Answer::Say(to, message) => send(to, message, fx),
        }
    }

    fn on_relinquish(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        if self.arbiter.on_relinquish(request) {
            self.give(fx);
        }
    }

    /// It may wait here: then it has entered with the locks of others. Those before it are over as
    /// well, and a RELEASE for them may be lost.
    fn on_release(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        if self.arbiter.end(request) {
            self.give(fx);
        }
    }

    fn give(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(next) = self.arbiter.next() {
            self.arbiter.lock = Some(next);
            send(next.node, Lock::Locked { time: next.time }, fx);
        }
    }

    // --- the requester

    fn is_waiting(&self, arbiter: NodeId, time: u64) -> bool {
        self.request.phase == Phase::Waiting(time) && self.fallback.has_asked(arbiter)
    }

    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let time = self.clock.tick();
        self.request.phase = Phase::Waiting(time);
        fx.broadcast(self.fallback.begin(), Message::Lock(Lock::Request { time }));
        fx.set_timer(Timer::Probe, self.fallback.round());
    }

    fn enter_if_complete(&mut self, fx: &mut impl Effects<Self>) {
        let Request { phase, locked, failed, inquired } = &mut self.request;
        if let Phase::Waiting(time) = *phase
            && self.fallback.quorum.iter().all(|&id| locked.contains(id))
        {
            *phase = Phase::Inside(time);
            locked.clear();
            failed.clear();
            inquired.clear();
            self.fallback.enter();
            fx.cancel_timer(Timer::Probe);
            fx.notify(Notice::Entered);
        }
    }

    fn on_locked(&mut self, arbiter: NodeId, fx: &mut impl Effects<Self>) {
        self.request.failed.remove(arbiter);
        self.request.locked.insert(arbiter);
        self.enter_if_complete(fx);
        self.give_back(fx);
    }

    fn on_failed(&mut self, arbiter: NodeId, fx: &mut impl Effects<Self>) {
        self.request.on_failed(arbiter);
        self.give_back(fx);
    }

    fn on_inquire(&mut self, arbiter: NodeId, fx: &mut impl Effects<Self>) {
        self.request.inquired.insert(arbiter);
        self.give_back(fx);
    }

    fn give_back(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting(time) = self.request.phase else { return };
        while let Some(arbiter) = self.request.give_back() {
            send(arbiter, Lock::Relinquish { time }, fx);
        }
    }

    fn leave(&mut self, time: u64, fx: &mut impl Effects<Self>) {
        self.request.phase = Phase::Outside;
        fx.broadcast(self.fallback.leave(), Message::Lock(Lock::Release { time }));
    }

    /// What a node was told while it was down it does not know.
    fn on_restarted(
        &mut self,
        from: NodeId,
        was_suspected: bool,
        known: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let current = match self.request.phase {
            Phase::Waiting(time) | Phase::Inside(time) => Some(time),
            Phase::Outside => None,
        };
        if known > 0 && current != Some(known) {
            send(from, Lock::Release { time: known }, fx);
        }
        if let Phase::Waiting(time) = self.request.phase
            && (was_suspected || self.fallback.has_asked(from))
        {
            self.request = Request::default();
            self.leave(time, fx);
            self.ask(fx);
        }
    }

    fn on_lock(&mut self, from: NodeId, message: Lock, fx: &mut impl Effects<Self>) {
        let theirs = |time| Stamp::new(time, from);
        match message {
            Lock::Request { time } => self.on_request(theirs(time), fx),
            Lock::Relinquish { time } => self.on_relinquish(theirs(time), fx),
            Lock::Release { time } => self.on_release(theirs(time), fx),
            Lock::Locked { time } if self.is_waiting(from, time) => self.on_locked(from, fx),
            Lock::Failed { time } if self.is_waiting(from, time) => self.on_failed(from, fx),
            Lock::Inquire { time } if self.is_waiting(from, time) => self.on_inquire(from, fx),
            // The request is over, and the arbiter did not know of it yet.
            Lock::Locked { time } if self.request.phase != Phase::Inside(time) => {
                send(from, Lock::Release { time }, fx);
            }
            Lock::Locked { .. } | Lock::Failed { .. } | Lock::Inquire { .. } => {}
        }
    }
}

fn send(to: NodeId, message: Lock, fx: &mut impl Effects<MaekawaFallback>) {
    fx.send(to, Message::Lock(message));
}

impl HandlesSelfMessages for MaekawaFallback {
    fn me(&self) -> NodeId {
        self.me
    }

    fn obey(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.request.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => self.ask(fx),
            (Command::Release, Phase::Inside(time)) => self.leave(time, fx),
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
        let was_suspected = self.fallback.hear(from);
        match message {
            Message::Lock(message) => self.on_lock(from, message, fx),
            Message::Probe(time) => fx.send(from, Message::Alive(time)),
            Message::Alive(_) => {}
            Message::Restarted { over, known } => {
                self.on_release(Stamp::new(over, from), fx);
                self.on_restarted(from, was_suspected, known, fx);
            }
        }
    }

    /// Whoever was probed and has not answered is suspected. Whoever is missing is probed.
    fn expire(&mut self, Timer::Probe: Timer, fx: &mut impl Effects<Self>) {
        let Phase::Waiting(time) = self.request.phase else { return };
        let Some(new) = self.fallback.end_round() else { return };
        fx.broadcast(new, Message::Lock(Lock::Request { time }));
        self.enter_if_complete(fx);
        if self.request.phase == Phase::Waiting(time) {
            let (me, locked) = (self.me, &self.request.locked);
            let probed = self.fallback.probe(|id| id != me && !locked.contains(id));
            fx.broadcast(probed.iter(), Message::Probe(time));
            fx.set_timer(Timer::Probe, self.fallback.round());
        }
    }
}

impl Protocol for MaekawaFallback {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.obey_at_home(command, fx)
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        self.hear_at_home(from, message, fx);
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.expire_at_home(timer, fx);
    }

    /// Its requests are over, and what it was told meanwhile it does not know.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let over = self.clock.now();
        for id in self.fallback.others(self.me) {
            let known = self.arbiter.last_of(id).map_or(0, |it| it.time);
            fx.send(id, Message::Restarted { over, known });
        }
        self.hear_at_home(self.me, Message::Lock(Lock::Release { time: over }), fx);
    }

    /// Maekawa's lists, and which quorum is asked.
    fn state(&self) -> NodeState {
        self.request
            .state(self.clock)
            .and(self.arbiter.state("locked for"))
            .and(self.fallback.state())
    }

    /// Lock, queue and clock lie on stable storage.
    fn after_crash(&self, fresh: Self) -> Self {
        Self { clock: self.clock, arbiter: self.arbiter.clone(), ..fresh }
    }
}

/// The nodes of a set-up: all know all quorums, any two of which meet.
pub fn recipe() -> Recipe<MaekawaFallback> {
    Recipe::new(|setup| {
        let fallback = fallbacks(setup)?;
        Ok(move |me| MaekawaFallback::new(me, fallback(me)))
    })
}

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<MaekawaFallback>] =
    &[Invariant { name: "one lock an arbiter", holds: one_lock_an_arbiter }];

/// A waiting node that has an arbiter's lock is the one that the arbiter has given it to.
fn one_lock_an_arbiter(at: &Situation<'_, MaekawaFallback>) -> Result<(), String> {
    for (id, node) in at.up() {
        let Phase::Waiting(time) = node.request.phase else { continue };
        for arbiter in node.request.locked.iter() {
            if at.node(arbiter).arbiter.lock != Some(Stamp::new(time, id)) {
                return Err(format!(
                    "node {id} has the lock of arbiter {arbiter}, which has not given it to that \
                     node"
                ));
            }
        }
    }
    Ok(())
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "maekawa-fallback",
    title: "Maekawa with fallback quorums",
    solves: "mutual exclusion",
    citation: "after Maekawa, ACM TOCS 3(2), 1985, and Agrawal and El Abbadi, ACM TOCS 9(1), 1991",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Quorum, Parameter::Within],
    terms: Terms::PLAIN,
    theory: THEORY,
    flaws: FLAWS,
    page: page!("maekawa_fallback.rs"),
};

const TREE: &[(Parameter, &str)] = &[(Parameter::Quorum, "tree")];

/// Built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "dead-members-dropped",
        what: "a node goes on with what is left of its quorum instead of asking another one: what \
               is left of two quorums need not meet",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[0, 1, 1]).given(TREE).crashing(1, 0),
    },
    Flaw {
        name: "arbiter-forgets",
        what: "an arbiter that comes up again has forgotten to whom it has given its lock",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[0, 1, 1]).given(TREE).crashing(1, 1),
    },
    Flaw {
        name: "waits-for-the-dead",
        what: "no other quorum is asked: a node whose quorum has a dead member waits for ever",
        breaks: "progress",
        shown_by: Demonstration::of(&[0, 1, 0]).given(TREE).crashing(1, 0),
    },
    Flaw {
        name: "restart-unheeded",
        what: "a node that waits takes no notice of an arbiter that comes up again: its request, \
               which came while the arbiter was down, is not repeated, and probes are answered",
        breaks: "progress",
        shown_by: Demonstration::of(&[0, 1, 0]).given(TREE).crashing(1, 1),
    },
];

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::time::Duration;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<MaekawaFallback> = Effect::Notify(Notice::Entered);

    /// Node 1 of three on a tree: its own quorum is the root and itself.
    fn node() -> (MaekawaFallback, Outbox<MaekawaFallback>) {
        let quorums = [[0, 1], [0, 2], [1, 2]].map(|ids| ids.map(NodeId).to_vec());
        let within = Duration::from_secs(1);
        let fallback = Fallback::new(Group::of(3), quorums.to_vec().into(), within);
        (MaekawaFallback::new(NodeId(1), fallback), Outbox::default())
    }

    fn hears(node: &mut MaekawaFallback, from: u32, message: Lock) -> Vec<Effect<MaekawaFallback>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), Message::Lock(message), &mut fx);
        fx.take()
    }

    fn sent(to: u32, message: Lock) -> Effect<MaekawaFallback> {
        Effect::Send { to: NodeId(to), message: Message::Lock(message) }
    }

    /// It has asked, and probed twice, and the root has not answered.
    fn fallen_back() -> MaekawaFallback {
        let (mut node, mut fx) = node();
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_timer(Timer::Probe, &mut fx);
        fx.take();
        node.on_timer(Timer::Probe, &mut fx);
        assert_eq!(fx.take()[0], sent(2, Lock::Request { time: 1 }));
        node
    }

    #[test]
    fn whoever_does_not_answer_is_replaced_and_told_of_the_exit_all_the_same() {
        let mut node = fallen_back();
        let cancelled = Effect::CancelTimer(Timer::Probe);
        assert_eq!(hears(&mut node, 2, Lock::Locked { time: 1 }), [cancelled, ENTERED]);
        let mut fx = Outbox::default();
        node.on_command(Command::Release, &mut fx).unwrap();
        let release = Lock::Release { time: 1 };
        assert_eq!(fx.take(), [sent(0, release), sent(2, release)]);
    }

    #[test]
    fn the_locks_of_two_quorums_do_not_make_a_third() {
        let mut node = fallen_back();
        // Late, from one that was suspected wrongly: 0 and 1 are a quorum, but not the asked one.
        assert_eq!(hears(&mut node, 0, Lock::Locked { time: 1 }), []);
        assert!(node.fallback.suspected.is_empty());
        let entered = hears(&mut node, 2, Lock::Locked { time: 1 });
        assert_eq!(entered.last(), Some(&ENTERED));
    }

    #[test]
    fn a_lock_for_a_request_that_is_over_is_given_back() {
        let mut node = fallen_back();
        hears(&mut node, 2, Lock::Locked { time: 1 });
        assert_eq!(hears(&mut node, 0, Lock::Locked { time: 1 }), [], "it will be told");
        node.on_command(Command::Release, &mut Outbox::default()).unwrap();
        let back = vec![sent(0, Lock::Release { time: 1 })];
        assert_eq!(hears(&mut node, 0, Lock::Locked { time: 1 }), back);
    }

    #[test]
    fn a_release_takes_a_waiting_request_out_of_the_queue() {
        let (mut arbiter, _) = node();
        hears(&mut arbiter, 0, Lock::Request { time: 1 });
        hears(&mut arbiter, 2, Lock::Request { time: 2 });
        assert_eq!(hears(&mut arbiter, 2, Lock::Release { time: 2 }), []);
        assert_eq!(hears(&mut arbiter, 0, Lock::Release { time: 1 }), [], "nobody waits");
        assert_eq!(arbiter.arbiter, Arbiter::default());
    }

    #[test]
    fn an_arbiter_does_not_forget_and_a_probe_is_answered() {
        let (mut arbiter, mut fx) = node();
        hears(&mut arbiter, 0, Lock::Request { time: 1 });
        let restarted = arbiter.after_crash(node().0);
        assert_eq!(restarted.arbiter, arbiter.arbiter);
        arbiter.on_message(NodeId(2), Message::Probe(7), &mut fx);
        let alive = Effect::Send { to: NodeId(2), message: Message::Alive(7) };
        assert_eq!(fx.take(), [alive]);
    }

    fn heard(node: &mut MaekawaFallback, from: u32, known: u64) -> Vec<Effect<MaekawaFallback>> {
        let mut fx = Outbox::default();
        node.on_message(NodeId(from), Message::Restarted { over: 0, known }, &mut fx);
        fx.take()
    }

    #[test]
    fn who_waits_for_an_arbiter_that_was_down_asks_anew_with_a_later_stamp() {
        let mut node = fallen_back();
        let [release, request] = [Lock::Release { time: 1 }, Lock::Request { time: 2 }];
        let timer = Effect::SetTimer { timer: Timer::Probe, delay: node.fallback.round() };
        let anew = [sent(0, release), sent(2, release), sent(0, request), timer];
        assert_eq!(heard(&mut node, 0, 1), anew, "its own quorum, which has no suspects");
        assert_eq!(node.arbiter.lock, Some(Stamp::new(2, NodeId(1))), "at home as well");
        assert_eq!(heard(&mut node, 2, 0), [], "not asked, and not suspected");
        assert_eq!(heard(&mut node, 2, 1), [sent(2, release)], "the RELEASE was lost");
        hears(&mut node, 0, Lock::Locked { time: 2 });
        assert_eq!(heard(&mut node, 0, 2), [], "inside: it will be told");
    }

    #[test]
    fn a_node_that_has_given_up_asks_again_when_one_comes_up() {
        let mut node = fallen_back();
        let mut fx = Outbox::default();
        node.on_timer(Timer::Probe, &mut fx);
        assert_eq!(fx.take(), [], "0 and 2 are suspected");
        assert_eq!(heard(&mut node, 2, 0)[2], sent(2, Lock::Request { time: 2 }));
    }

    #[test]
    fn who_comes_up_says_which_requests_are_over_and_which_it_knows() {
        let (mut node, mut fx) = node();
        hears(&mut node, 0, Lock::Request { time: 4 });
        node.on_command(ACQUIRE, &mut fx).unwrap();
        hears(&mut node, 2, Lock::Request { time: 7 });
        fx.take();
        let mut again = node.after_crash(super::tests::node().0);
        again.on_restart(&mut fx);
        let restarted = |to, known| Effect::Send {
            to: NodeId(to),
            message: Message::Restarted { over: 7, known },
        };
        assert_eq!(fx.take(), [restarted(0, 4), restarted(2, 7)]);
        assert_eq!(again.arbiter.waiting, [Stamp::new(7, NodeId(2))], "its own is over");
        // That of another, of which the locks come back.
        again.on_message(NodeId(0), Message::Restarted { over: 4, known: 0 }, &mut fx);
        assert_eq!(fx.take(), [sent(2, Lock::Locked { time: 7 })]);
    }

    #[test]
    fn quorums_that_are_too_many_are_refused() {
        let mut setup = crate::setup::Setup::new(vorrang_protocol::Group::of(40));
        setup.set(Parameter::Quorum, "majority").unwrap();
        let unfit = recipe().nodes(&setup).err().unwrap();
        assert_eq!(unfit.0, "--quorum majority: more than 10000 members in all quorums");
    }
}
