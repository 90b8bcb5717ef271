//! Locks that arbiters give, and take back for an older request: what Maekawa's algorithm and
//! Sanders' have in common.
//!
//! Every node is two things. As an *arbiter* it has one lock, which it gives to one request at a
//! time. As a *requester* it needs the locks of some arbiters, itself among them or not. Which
//! nodes it asks, and which it informs when it leaves, is a [`Structure`]: in Maekawa's algorithm
//! both are the node's quorum, and every arbiter keeps its lock until it is informed. In Sanders'
//! algorithm they may be different sets, and an arbiter that will not be informed of an exit gives
//! a permission without being locked. The files of the two explain the algorithms; this one
//! implements them.
//!
//! Every message names the request that it is about, by its time: the node that goes with it is the
//! one that sends the message or the one that gets it. A message about another request than the
//! current one of its receiver is dropped. So no order of messages is needed, and no message can
//! act on a request that it is not about.

use alloc::vec::Vec;
use core::fmt::{self, Debug};
use core::hash::Hash;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Counter, CounterVisitor, Effects, Never, NodeId, NodeSet, NodeState, Protocol, Refused,
};

use super::self_messages::HandlesSelfMessages;
use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};
use crate::clock::{Clock, Stamp};
use crate::quorum::QuorumSchedule;

/// The messages between nodes, each about the request of this time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the time of the request, in all of them")]
pub enum Message {
    /// A requester: may I have your lock?
    Request { time: u64 },
    /// An arbiter: it is yours.
    Locked { time: u64 },
    /// An arbiter: not now, another request is before yours.
    Failed { time: u64 },
    /// An arbiter: would you give it back, if you cannot have all?
    Inquire { time: u64 },
    /// A requester: have it back, I wait for it again.
    Relinquish { time: u64 },
    /// A requester: I have left.
    Release { time: u64 },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &["REQUEST", "LOCKED", "FAILED", "INQUIRE", "RELINQUISH", "RELEASE"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Locked { .. } => 1,
            Self::Failed { .. } => 2,
            Self::Inquire { .. } => 3,
            Self::Relinquish { .. } => 4,
            Self::Release { .. } => 5,
        }
    }

    fn counters(&mut self, _: NodeId, _: NodeId, visit: CounterVisitor<'_>) {
        let (Self::Request { time }
        | Self::Locked { time }
        | Self::Failed { time }
        | Self::Inquire { time }
        | Self::Relinquish { time }
        | Self::Release { time }) = self;
        visit(Counter::Common, time);
    }
}

impl Message {
    const fn time(self) -> u64 {
        match self {
            Self::Request { time }
            | Self::Locked { time }
            | Self::Failed { time }
            | Self::Inquire { time }
            | Self::Relinquish { time }
            | Self::Release { time } => time,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", vorrang_protocol::Message::kind_name(self), self.time())
    }
}

/// The nodes that a node asks, those that it informs, and those that inform it.
pub trait Structure: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// Those whose permission a request needs, lowest first.
    fn asks(&self) -> &[NodeId];
    /// Those among them who are told of the exit, lowest first.
    fn informs(&self) -> &[NodeId];
    /// Whether `asker` will tell this node of its exit, so that it must be waited for.
    fn is_told_by(&self, asker: NodeId) -> bool;
    /// A request is over.
    fn turn(&mut self);
    /// The sets, under their names.
    fn sets(&self) -> NodeState;
}

/// Maekawa's: a node informs all that it asks.
impl Structure for QuorumSchedule {
    fn asks(&self) -> &[NodeId] {
        self.quorum()
    }
    fn informs(&self) -> &[NodeId] {
        self.quorum()
    }
    fn is_told_by(&self, _: NodeId) -> bool {
        true
    }
    fn turn(&mut self) {
        QuorumSchedule::turn(self);
    }
    fn sets(&self) -> NodeState {
        self.state()
    }
}

/// One lock, and those who want it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Arbiter {
    /// The request that has it.
    pub(super) lock: Option<Stamp>,
    /// The requests that wait for it, oldest last.
    pub(super) waiting: Vec<Stamp>,
}

/// The oldest request that an arbiter knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Oldest {
    /// It has the lock.
    Holds(Stamp),
    /// It waits, and the holder of the lock has been asked whether it would give it back.
    Waits(Stamp),
}

/// What an arbiter does about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Nothing,
    /// It gives the lock to the oldest.
    Give,
    /// It tells a node this.
    Say(NodeId, Message),
}

impl Arbiter {
    /// The oldest request, if any has the lock; if none has, none waits.
    pub(super) fn oldest(&self) -> Option<Oldest> {
        let lock = self.lock?;
        Some(match self.waiting.last() {
            Some(&first) if first < lock => Oldest::Waits(first),
            Some(_) | None => Oldest::Holds(lock),
        })
    }

    /// Lets a request wait; false if it is known.
    pub(super) fn enqueue(&mut self, request: Stamp) -> bool {
        let place = self.waiting.partition_point(|it| *it > request);
        let is_new = self.lock != Some(request) && self.waiting.get(place) != Some(&request);
        if is_new {
            self.waiting.insert(place, request);
        }
        is_new
    }

    /// A request for the lock. Of all requests that wait for it or have it, each but the oldest is
    /// told that it is not the oldest, or is asked to give the lock back if it cannot have all.
    pub(super) fn on_request(&mut self, new: Stamp) -> Answer {
        let oldest = self.oldest();
        if !self.enqueue(new) {
            return Answer::Nothing;
        }
        match oldest {
            None => Answer::Give,
            Some(Oldest::Holds(holder)) if new < holder => {
                Answer::Say(holder.node, Message::Inquire { time: holder.time })
            }
            Some(Oldest::Waits(first)) if new < first => {
                Answer::Say(first.node, Message::Failed { time: first.time })
            }
            Some(Oldest::Holds(_) | Oldest::Waits(_)) => {
                Answer::Say(new.node, Message::Failed { time: new.time })
            }
        }
    }

    /// A request gives the lock back and waits for it again; false if it does not have it.
    pub(super) fn on_relinquish(&mut self, request: Stamp) -> bool {
        self.unlock(request) && self.enqueue(request)
    }

    /// Takes the lock from a request; false if it does not have it.
    pub(super) fn unlock(&mut self, request: Stamp) -> bool {
        let has_it = self.lock == Some(request);
        if has_it {
            self.lock = None;
        }
        has_it
    }

    /// The requests of a node are over up to this one; whether the lock is free thereby.
    pub(super) fn end(&mut self, over: Stamp) -> bool {
        let is_over = |it: &Stamp| it.node == over.node && it.time <= over.time;
        self.waiting.retain(|it| !is_over(it));
        self.lock.take_if(|it| is_over(it)).is_some()
    }

    /// The last request of a node that is known here.
    pub(super) fn last_of(&self, node: NodeId) -> Option<Stamp> {
        self.waiting.iter().chain(&self.lock).copied().filter(|it| it.node == node).max()
    }

    /// Takes out the oldest waiting request, if the lock is free.
    pub(super) fn next(&mut self) -> Option<Stamp> {
        if self.lock.is_none() { self.waiting.pop() } else { None }
    }
}

/// The state of a node's own request.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Request {
    pub(super) phase: Phase,
    /// The arbiters whose lock it has.
    pub(super) locked: NodeSet,
    /// The arbiters that refused the request and have not given their lock since, and those to
    /// which it has given the lock back.
    pub(super) failed: NodeSet,
    /// Those who asked for their lock back and have no answer yet.
    pub(super) inquired: NodeSet,
}

impl Request {
    pub(super) const fn is_inside(&self) -> bool {
        matches!(self.phase, Phase::Inside(_))
    }

    /// An arbiter refuses; one that has given its lock since does not mean it any more.
    pub(super) fn on_failed(&mut self, arbiter: NodeId) {
        if !self.locked.contains(arbiter) {
            self.failed.insert(arbiter);
        }
    }

    /// An arbiter that has asked for its lock, which is of no use as long as others are missing.
    pub(super) fn obligations(&self) -> Option<NodeId> {
        if self.failed.is_empty() {
            return None;
        }
        self.inquired.iter().find(|&arbiter| self.locked.contains(arbiter))
    }

    /// A node that cannot have all locks now gives back those that it has and was asked for: the
    /// next one, which it no longer has. Having given one back is itself a reason to give back
    /// others.
    pub(super) fn give_back(&mut self) -> Option<NodeId> {
        let arbiter = self.obligations()?;
        self.locked.remove(arbiter);
        self.inquired.remove(arbiter);
        self.failed.insert(arbiter);
        Some(arbiter)
    }
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Phase {
    #[default]
    Outside,
    /// With a request of this time.
    Waiting(u64),
    /// The same.
    Inside(u64),
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Locking<S> {
    pub(super) me: NodeId,
    pub(super) structure: S,
    /// The highest time counted or seen in a request.
    pub(super) clock: Clock,
    pub(super) arbiter: Arbiter,
    pub(super) request: Request,
}

impl<S: Structure> Locking<S> {
    /// A node that has neither asked nor been asked.
    pub fn new(me: NodeId, structure: S) -> Self {
        let (clock, arbiter, request) = (Clock::default(), Arbiter::default(), Request::default());
        Self { me, structure, clock, arbiter, request }
    }

    // --- the arbiter

    fn on_request(&mut self, new: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.witness(new.time);
        match self.arbiter.on_request(new) {
            Answer::Nothing => {}
            Answer::Give => self.give(fx),
            Answer::Say(to, message) => fx.send(to, message),
        }
    }

    fn on_relinquish(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        if self.arbiter.on_relinquish(request) {
            self.give(fx);
        }
    }

    fn on_release(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        if self.arbiter.unlock(request) {
            self.give(fx);
        }
    }

    /// Gives the lock to the oldest waiting request; a node that will not inform this one of its
    /// exit gets a permission and no lock.
    fn give(&mut self, fx: &mut impl Effects<Self>) {
        while let Some(next) = self.arbiter.next() {
            if self.structure.is_told_by(next.node) {
                self.arbiter.lock = Some(next);
            }
            fx.send(next.node, Message::Locked { time: next.time });
        }
    }

    // --- the requester

    pub(super) fn waits_for(&self, arbiter: NodeId, time: u64) -> bool {
        self.request.phase == Phase::Waiting(time)
            && self.structure.asks().binary_search(&arbiter).is_ok()
    }

    fn on_locked(&mut self, arbiter: NodeId, fx: &mut impl Effects<Self>) {
        let Request { phase, locked, failed, inquired } = &mut self.request;
        failed.remove(arbiter);
        locked.insert(arbiter);
        if let Phase::Waiting(time) = *phase
            && locked.len() == self.structure.asks().len()
        {
            *phase = Phase::Inside(time);
            inquired.clear();
            fx.notify(Notice::Entered);
        } else {
            self.give_back(fx);
        }
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
            fx.send(arbiter, Message::Relinquish { time });
        }
    }

    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let time = self.clock.tick();
        self.request.phase = Phase::Waiting(time);
        fx.broadcast(self.structure.asks().iter().copied(), Message::Request { time });
    }

    fn leave(&mut self, time: u64, fx: &mut impl Effects<Self>) {
        self.request.phase = Phase::Outside;
        self.request.locked.clear();
        fx.broadcast(self.structure.informs().iter().copied(), Message::Release { time });
        self.structure.turn();
    }
}

impl<S: Structure> HandlesSelfMessages for Locking<S> {
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
        let theirs = Stamp::new(message.time(), from);
        match message {
            Message::Request { .. } => self.on_request(theirs, fx),
            Message::Relinquish { .. } => self.on_relinquish(theirs, fx),
            Message::Release { .. } => self.on_release(theirs, fx),
            Message::Locked { time } if self.waits_for(from, time) => self.on_locked(from, fx),
            Message::Failed { time } if self.waits_for(from, time) => self.on_failed(from, fx),
            Message::Inquire { time } if self.waits_for(from, time) => self.on_inquire(from, fx),
            // The node is inside and will leave, or the message is about a request that is over.
            Message::Locked { .. } | Message::Failed { .. } | Message::Inquire { .. } => {}
        }
    }
}

impl<S: Structure> Protocol for Locking<S> {
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
        self.shown()
    }

    /// Times are compared with times and counted on from; none means anything by itself.
    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.clock.counters(visit);
        match &mut self.request.phase {
            Phase::Waiting(time) | Phase::Inside(time) => visit(Counter::Common, time),
            Phase::Outside => {}
        }
        let stamps = self.arbiter.lock.iter_mut().chain(&mut self.arbiter.waiting);
        stamps.for_each(|stamp| visit(Counter::Common, &mut stamp.time));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::{Effect, Group, Outbox, Situation};

    use super::Message::{Failed, Inquire, Locked, Release, Relinquish, Request};
    use super::*;
    use crate::mutex::lemmas::locking::{
        nothing_is_kept_in_vain, one_lock_an_arbiter, those_in_the_way_are_told,
    };
    use crate::quorum::Quorums;

    type Node = Locking<QuorumSchedule>;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<Node> = Effect::Notify(Notice::Entered);

    fn send(to: u32, message: Message) -> Effect<Node> {
        Effect::Send { to: NodeId(to), message }
    }

    /// A node of so many.
    fn of(quorums: &str, nodes: u32, me: u32) -> (Node, Outbox<Node>) {
        let system = quorums.parse::<Quorums>().unwrap().system(Group::of(nodes)).unwrap();
        (Locking::new(NodeId(me), system.schedule(NodeId(me))), Outbox::default())
    }

    /// A node that asks 3, 4 and 5, and has asked at time 1.
    fn waiting(me: u32) -> (Node, Outbox<Node>) {
        let (mut node, mut fx) = of("sets:3-4-5,3-4-5,3-4-5,3-4-5,3-4-5,3-4-5", 6, me);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        (node, fx)
    }

    fn tell(node: &mut Node, fx: &mut Outbox<Node>, from: u32, message: Message) {
        node.on_message(NodeId(from), message, fx);
    }

    /// What a node does when it is told this.
    fn told(
        node: &mut Node,
        fx: &mut Outbox<Node>,
        from: u32,
        message: Message,
    ) -> Vec<Effect<Node>> {
        tell(node, fx, from, message);
        fx.take()
    }

    #[test]
    fn a_node_locks_itself_without_a_message_and_enters_when_all_have() {
        let (mut node, mut fx) = of("sets:0-1-2,0-1-2,0-1-2", 3, 1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, Request { time: 1 }), send(2, Request { time: 1 })]);
        assert_eq!(node.arbiter.lock, Some(Stamp::new(1, NodeId(1))));
        assert_eq!(told(&mut node, &mut fx, 2, Locked { time: 1 }), []);
        assert_eq!(told(&mut node, &mut fx, 0, Locked { time: 1 }), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, Release { time: 1 }), send(2, Release { time: 1 })]);
        assert_eq!((node.arbiter, node.request), (Arbiter::default(), super::Request::default()));
    }

    #[test]
    fn who_asks_only_itself_enters_at_once() {
        let (mut node, mut fx) = of("singleton", 4, 0);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [ENTERED]);
        tell(&mut node, &mut fx, 3, Request { time: 1 });
        assert_eq!(fx.take(), [send(3, Failed { time: 1 })], "of equal times the lower is older");
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(3, Locked { time: 1 })]);
    }

    #[test]
    fn whoever_is_not_the_oldest_is_told_so() {
        let (mut node, mut fx) = of("singleton", 9, 0);
        let mut ask = |from, time| told(&mut node, &mut fx, from, Request { time });
        assert_eq!(ask(4, 5), [send(4, Locked { time: 5 })]);
        assert_eq!(ask(5, 5), [send(5, Failed { time: 5 })], "younger than the holder");
        assert_eq!(ask(3, 5), [send(4, Inquire { time: 5 })], "older: the holder is asked, once");
        assert_eq!(ask(6, 4), [send(3, Failed { time: 5 })], "older still: 3 is overtaken");
        assert_eq!(ask(7, 4), [send(7, Failed { time: 4 })], "younger than who waits first");
        assert_eq!(
            told(&mut node, &mut fx, 4, Relinquish { time: 5 }),
            [send(6, Locked { time: 4 })]
        );
        // Now 6 has it and nobody is older; the next that is, asks for it again.
        assert_eq!(
            told(&mut node, &mut fx, 8, Request { time: 1 }),
            [send(6, Inquire { time: 4 })]
        );
        let order: Vec<u32> = core::iter::from_fn(|| {
            let Stamp { time, node: holder } = node.arbiter.lock?;
            tell(&mut node, &mut fx, holder.0, Release { time });
            Some(holder.0)
        })
        .collect();
        assert_eq!(order, [6, 8, 7, 3, 4, 5]);
    }

    #[test]
    fn who_was_refused_gives_back_all_that_it_is_asked_for() {
        let (mut node, mut fx) = waiting(0);
        for arbiter in [3, 4] {
            assert_eq!(told(&mut node, &mut fx, arbiter, Locked { time: 1 }), []);
            assert_eq!(told(&mut node, &mut fx, arbiter, Inquire { time: 1 }), [], "not yet");
        }
        assert_eq!(
            told(&mut node, &mut fx, 5, Failed { time: 1 }),
            [send(3, Relinquish { time: 1 }), send(4, Relinquish { time: 1 })]
        );
        assert_eq!(told(&mut node, &mut fx, 3, Locked { time: 1 }), []);
        assert_eq!(
            told(&mut node, &mut fx, 3, Inquire { time: 1 }),
            [send(3, Relinquish { time: 1 })]
        );
    }

    #[test]
    fn what_was_given_back_counts_as_refused_until_it_comes_again() {
        let (mut node, mut fx) = waiting(0);
        tell(&mut node, &mut fx, 3, Locked { time: 1 });
        tell(&mut node, &mut fx, 3, Inquire { time: 1 });
        tell(&mut node, &mut fx, 5, Failed { time: 1 });
        fx.take();
        tell(&mut node, &mut fx, 5, Locked { time: 1 });
        tell(&mut node, &mut fx, 4, Locked { time: 1 });
        assert_eq!(
            told(&mut node, &mut fx, 4, Inquire { time: 1 }),
            [send(4, Relinquish { time: 1 })],
            "3 has its lock back"
        );
        tell(&mut node, &mut fx, 3, Locked { time: 1 });
        assert_eq!(told(&mut node, &mut fx, 4, Locked { time: 1 }), [ENTERED]);
    }

    #[test]
    fn a_lock_makes_good_only_what_its_own_arbiter_refused() {
        let (mut node, mut fx) = waiting(0);
        tell(&mut node, &mut fx, 3, Failed { time: 1 });
        tell(&mut node, &mut fx, 4, Locked { time: 1 });
        assert_eq!(
            told(&mut node, &mut fx, 4, Inquire { time: 1 }),
            [send(4, Relinquish { time: 1 })]
        );
        let (mut node, mut fx) = waiting(0);
        tell(&mut node, &mut fx, 4, Failed { time: 1 });
        tell(&mut node, &mut fx, 4, Locked { time: 1 });
        assert_eq!(told(&mut node, &mut fx, 4, Inquire { time: 1 }), []);
    }

    #[test]
    fn an_inquiry_that_overtakes_its_lock_waits_for_it() {
        let (mut node, mut fx) = waiting(0);
        tell(&mut node, &mut fx, 3, Failed { time: 1 });
        assert_eq!(told(&mut node, &mut fx, 4, Inquire { time: 1 }), []);
        assert_eq!(
            told(&mut node, &mut fx, 4, Locked { time: 1 }),
            [send(4, Relinquish { time: 1 })]
        );
    }

    #[test]
    fn a_refusal_that_its_lock_overtakes_is_over() {
        let (mut node, mut fx) = waiting(0);
        tell(&mut node, &mut fx, 3, Locked { time: 1 });
        let before = node.clone();
        assert_eq!(told(&mut node, &mut fx, 3, Failed { time: 1 }), []);
        assert_eq!(node, before);
    }

    #[test]
    fn who_is_inside_gives_nothing_back() {
        let (mut node, mut fx) = waiting(0);
        tell(&mut node, &mut fx, 3, Inquire { time: 1 });
        for arbiter in 3..6 {
            tell(&mut node, &mut fx, arbiter, Locked { time: 1 });
        }
        assert_eq!(fx.take(), [ENTERED]);
        let asked = node.structure.asks().iter().copied().collect();
        let inside =
            super::Request { phase: Phase::Inside(1), locked: asked, ..Default::default() };
        assert_eq!(node.request, inside, "nothing is remembered");
        assert_eq!(told(&mut node, &mut fx, 4, Inquire { time: 1 }), []);
        assert_eq!(node.request, inside);
    }

    #[test]
    fn its_own_arbiter_asks_for_the_lock_like_any_other() {
        let (mut node, mut fx) = of("sets:0-1-2,0-1-2,0-1-2", 3, 2);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        tell(&mut node, &mut fx, 1, Failed { time: 1 });
        fx.take();
        // At home all happens at once: inquired, given back, given on.
        assert_eq!(told(&mut node, &mut fx, 0, Request { time: 1 }), [send(0, Locked { time: 1 })]);
        assert_eq!(told(&mut node, &mut fx, 0, Release { time: 1 }), []);
        assert_eq!(node.arbiter.lock, Some(Stamp::new(1, NodeId(2))));
        assert!(node.request.locked.contains(NodeId(2)));
    }

    #[test]
    fn strangers_and_other_requests_change_nothing() {
        let (mut node, mut fx) = waiting(4);
        tell(&mut node, &mut fx, 3, Locked { time: 1 });
        tell(&mut node, &mut fx, 0, Request { time: 7 });
        fx.take();
        let before = node.clone();
        for message in [Locked { time: 1 }, Failed { time: 1 }, Inquire { time: 1 }] {
            assert_eq!(told(&mut node, &mut fx, 1, message), [], "1 was not asked: {message}");
        }
        for time in [0, 2] {
            for message in [Locked { time }, Failed { time }, Inquire { time }] {
                assert_eq!(told(&mut node, &mut fx, 3, message), [], "not ours: {message}");
            }
        }
        // The lock is our own, and 0 waits for it.
        for (from, time) in [(0, 7), (0, 1), (1, 1), (2, 2)] {
            for message in [Relinquish { time }, Release { time }] {
                assert_eq!(told(&mut node, &mut fx, from, message), [], "not its own: {message}");
            }
        }
        assert_eq!(told(&mut node, &mut fx, 0, Request { time: 7 }), [], "known");
        assert_eq!(node, before);
    }

    #[test]
    fn requests_that_it_sees_make_its_own_later() {
        let (mut node, mut fx) = of("singleton", 4, 0);
        tell(&mut node, &mut fx, 3, Request { time: 6 });
        tell(&mut node, &mut fx, 3, Release { time: 6 });
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.request.phase, Phase::Inside(7));
    }

    #[test]
    fn quorums_are_taken_in_turn_and_those_who_were_asked_are_told() {
        let (mut node, mut fx) = of("triangle", 6, 3);
        let mut asked = Vec::new();
        for time in 1..4 {
            node.on_command(ACQUIRE, &mut fx).unwrap();
            let of = |effects: Vec<Effect<Node>>| -> Vec<u32> {
                effects
                    .into_iter()
                    .filter_map(
                        |it| if let Effect::Send { to, .. } = it { Some(to.0) } else { None },
                    )
                    .collect()
            };
            let requests = of(fx.take());
            for &arbiter in &requests {
                tell(&mut node, &mut fx, arbiter, Locked { time });
            }
            assert_eq!(fx.take(), [ENTERED]);
            node.on_command(Command::Release, &mut fx).unwrap();
            assert_eq!(of(fx.take()), requests);
            asked.push(requests);
        }
        assert_ne!(asked[0], asked[1]);
        assert_eq!(asked[0], asked[2]);
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = of("majority", 3, 0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        tell(&mut node, &mut fx, 1, Locked { time: 1 });
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }

    /// Nodes 0 and 1 ask arbiter 2; node 1 has its lock.
    fn three() -> [Node; 3] {
        let mut nodes = [0, 1, 2].map(|me| of("sets:2,2,2", 3, me).0);
        for id in [0, 1] {
            nodes[id].request.phase = Phase::Waiting(1);
        }
        nodes[1].request.locked.insert(NodeId(2));
        nodes[2].arbiter.lock = Some(Stamp::new(1, NodeId(1)));
        nodes
    }

    fn holds(nodes: &[Node; 3], flight: &[(u32, u32, Message)]) -> [bool; 3] {
        let flight = flight.iter().map(|(a, b, it)| (NodeId(*a), NodeId(*b), it)).collect();
        let at = Situation::new(nodes.iter().collect(), NodeSet::EMPTY, flight);
        [one_lock_an_arbiter, those_in_the_way_are_told, nothing_is_kept_in_vain]
            .map(|it| it(&at).is_ok())
    }

    #[test]
    fn a_lock_that_two_have_is_seen() {
        let mut nodes = three();
        assert_eq!(holds(&nodes, &[]), [true; 3]);
        assert_eq!(holds(&nodes, &[(2, 0, Locked { time: 1 })]), [false, true, true]);
        assert_eq!(holds(&nodes, &[(2, 0, Locked { time: 9 })]), [true; 3], "of no request");
        nodes[0].request.locked.insert(NodeId(2));
        assert_eq!(holds(&nodes, &[]), [false, true, true]);
    }

    #[test]
    fn whoever_does_not_know_that_it_is_in_the_way_is_seen() {
        let mut nodes = three();
        nodes[2].arbiter.waiting = vec![Stamp::new(1, NodeId(0))];
        assert_eq!(holds(&nodes, &[]), [true, false, true], "the holder was not asked");
        assert_eq!(holds(&nodes, &[(2, 1, Inquire { time: 1 })]), [true; 3]);
        assert_eq!(holds(&nodes, &[(1, 2, Release { time: 1 })]), [true; 3]);
        assert_eq!(holds(&nodes, &[(1, 2, Relinquish { time: 2 })]), [true, false, true]);
        nodes[1].request.inquired.insert(NodeId(2));
        assert_eq!(holds(&nodes, &[]), [true; 3]);
        nodes[1].request.phase = Phase::Inside(1);
        assert_eq!(holds(&nodes, &[]), [true; 3]);

        let mut nodes = three();
        nodes[0].request.phase = Phase::Waiting(2);
        nodes[2].arbiter.waiting = vec![Stamp::new(2, NodeId(0))];
        assert_eq!(holds(&nodes, &[]), [true, false, true], "the younger was not told");
        assert_eq!(holds(&nodes, &[(2, 0, Failed { time: 2 })]), [true; 3]);
        nodes[0].request.failed.insert(NodeId(2));
        assert_eq!(holds(&nodes, &[]), [true; 3]);
    }

    #[test]
    fn a_lock_that_is_kept_in_vain_is_seen() {
        let mut nodes = three();
        nodes[1].request.inquired.insert(NodeId(2));
        assert_eq!(holds(&nodes, &[]), [true; 3]);
        nodes[1].request.failed.insert(NodeId(0));
        assert_eq!(holds(&nodes, &[]), [true, true, false]);
    }
}
