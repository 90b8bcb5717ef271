//! Leases: an application is inside for no longer than it can prove that it belongs to the view.
//! After Cary G. Gray and David R. Cheriton, "Leases: an efficient fault-tolerant mechanism for
//! distributed file cache consistency", SOSP 1989.
//!
//! A node inside periodically asks all [voters](crate::group::views::Views::voters) on the next
//! view whether they have voted for one. When so many have answered that they have not that none
//! can be decided without one of them (a [primary set](crate::group::view::is_primary)), the node
//! has a lease, for a length of time that began when it *asked*. Without a lease it does not enter,
//! and when the lease expires it loses the lock.
//!
//! In the next view no member enters before all leases of evicted members have expired. For each
//! such lease, one of the voters for the view has answered before it voted; so the view began after
//! each of these leases did, and to wait for their length is enough. A clock may be faster or
//! slower than it should by a share ρ at most: then a length L by the slowest clock is L (1 + ρ) ∕
//! (1 − ρ) by the fastest, and so long do they wait.
//!
//! *Evicted* is every member of the old view that has not reported in the incarnation that this
//! view has. That another incarnation has begun under its number proves nothing: it may be a second
//! process, somewhere else, while the first is cut off and inside. For the same reason a group that
//! is founded by nodes without stable storage begins with this wait: they may have forgotten a
//! group of which a member is still inside. A member that leaves has reported, and costs no wait.
//!
//! **Assumes** the bound on drift, and that no node pauses between its look at the clock and its
//! action. Without that, only fencing tokens help (see
//! [`FencingToken`](crate::mutex::FencingToken)). **Costs** 2(N − 1) messages to and from all N
//! nodes in every period while a node is inside, and after the crash of a member a wait, since it
//! might have been inside and might not be down.
//!
//! **Grace.** Work under a lock may take time to be stopped. With a [grace](Lease::with_grace)
//! those inside are warned so long before a lease ends that was not renewed, and meanwhile the
//! member lets nobody else in by it. A renewal that comes after all takes the warning back.

use core::time::Duration;

use vorrang_protocol::{Delay, Effects, NodeId, NodeSet, NodeState};

use super::{Current, Ended, InViews, Inner};
use crate::group::locks::message::{Message, Timer, ViewMessage};
use crate::group::view::is_primary;

/// How long leases are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lease {
    length: Duration,
    wait: Duration,
    grace: Duration,
}

impl Lease {
    /// Leases of this length, by clocks that are wrong by so many parts in a thousand at most.
    ///
    /// # Panics
    ///
    /// If a clock may stand still.
    pub const fn new(length: Duration, drift_per_mille: u32) -> Self {
        assert!(drift_per_mille < 1000, "a clock runs");
        let (fast, slow) = (1000 + drift_per_mille, 1000 - drift_per_mille);
        // Rounded up.
        let wait =
            length.saturating_mul(fast).saturating_add(Duration::from_nanos(slow as u64 - 1));
        let wait = Duration::from_nanos((wait.as_nanos() / slow as u128) as u64);
        Self { length, wait, grace: Duration::ZERO }
    }

    /// The same, and those inside are warned so long before a lease ends that was not renewed: for
    /// work that takes time to be stopped. From then on nobody else is let in by it either.
    ///
    /// # Panics
    ///
    /// If nothing of a lease is left before.
    #[must_use]
    pub const fn with_grace(self, grace: Duration) -> Self {
        assert!(grace.as_nanos() < self.length.as_nanos(), "a lease is longer than its grace");
        Self { grace, ..self }
    }

    /// How long the next view waits for those who were left behind.
    pub const fn wait(&self) -> Duration {
        self.wait
    }
}

/// A timer has the number of its question modulo this. So many last questions are never of interest
/// at a time: the one with which a lease began, and the one that is open. Other numbers without end
/// would be other timers without end, which drivers may keep.
const TIMERS: u32 = 8;

/// The lease of a node, and the answers so far.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::group::locks) struct LeaseState {
    /// The number of its last question.
    round: u32,
    /// Whether too few have answered yet.
    is_open: bool,
    /// The voters that have answered.
    answered: NodeSet,
    /// The question that its lease began with, if it has one.
    pub(super) valid: Option<u32>,
    /// The last question from which on so much time has passed that a lease which began with it
    /// ends soon.
    risk: Option<u32>,
}

impl LeaseState {
    /// Whether it has a lease that does not end soon.
    pub(super) fn is_safe(&self) -> bool {
        self.valid.is_some_and(|valid| self.risk < Some(valid))
    }

    /// The timer of the question with which its lease began, if it has one.
    pub(super) fn timer<T>(&self) -> Option<Timer<T>> {
        self.valid.map(|round| Timer::Lease(round % TIMERS))
    }

    /// The last question of which the timers have this number.
    const fn question(&self, timer: u32) -> u32 {
        self.round.saturating_sub(self.round.wrapping_sub(timer) % TIMERS)
    }

    /// As it is shown.
    pub(super) fn state(&self) -> NodeState {
        NodeState::new()
            .with("question", self.round)
            .with("open", self.is_open)
            .with("answered", &self.answered)
            .with("valid since", self.valid)
            .with("at risk", self.risk)
    }
}

impl<A: Inner> InViews<A> {
    /// Whether it must prove that it belongs to the view.
    fn needs_lease(&self) -> bool {
        self.lease.is_some() && self.current.is_some() && self.inner.needs_lease()
    }

    /// Asks whether the others are there. If it is answered, a lease began now.
    pub(super) fn renew(&mut self, fx: &mut impl Effects<Self>) {
        let Some(Lease { length, grace, .. }) = self.lease else { return };
        self.tenure.round += 1;
        self.tenure.is_open = true;
        self.tenure.answered.clear();
        let timer = self.tenure.round % TIMERS;
        fx.set_timer(Timer::Lease(timer), Delay::exactly(length));
        if !grace.is_zero() {
            fx.set_timer(Timer::Risk(timer), Delay::exactly(length.saturating_sub(grace)));
        }
        self.ask_the_others(fx);
        // It may have voted for the next view while its own has not ended.
        if self.views.vouches_for(self.view()) {
            self.on_there(self.me, self.tenure.round, fx);
        }
    }

    fn ask_the_others(&self, fx: &mut impl Effects<Self>) {
        let Some(Current { view, .. }) = self.current else { return };
        let LeaseState { round, answered, .. } = &self.tenure;
        let silent = |it: &NodeId| *it != self.me && !answered.contains(*it);
        let clock = self.clock.now();
        let others = self.views.voters().into_iter().filter(silent);
        fx.broadcast(
            others,
            Message::Within { view, clock, word: ViewMessage::AreYouThere(*round) },
        );
    }

    /// Asks anew, or once more if too few have answered.
    pub(super) fn keep_lease(&mut self, fx: &mut impl Effects<Self>) {
        if self.needs_lease() {
            if self.tenure.is_open { self.ask_the_others(fx) } else { self.renew(fx) }
        }
    }

    /// A node inside in this view asks whether another view may have begun.
    pub(super) fn vouch(&self, to: NodeId, view: u64, round: u32, fx: &mut impl Effects<Self>) {
        if self.views.vouches_for(view) {
            let clock = self.clock.now();
            fx.send(to, Message::Within { view, clock, word: ViewMessage::IAmThere(round) });
        }
    }

    /// Another was there after it was asked.
    pub(super) fn on_there(&mut self, from: NodeId, round: u32, fx: &mut impl Effects<Self>) {
        if !self.tenure.is_open || round != self.tenure.round {
            return;
        }
        self.tenure.answered.insert(from);
        if is_primary(&self.views.voters(), &self.tenure.answered) {
            let was_at_risk = self.is_at_risk();
            self.tenure.is_open = false;
            self.tenure.answered.clear();
            if let Some(before) = self.tenure.valid.replace(round) {
                fx.cancel_timer(Timer::Lease(before % TIMERS));
                fx.cancel_timer(Timer::Risk(before % TIMERS));
            }
            self.tell_risk(was_at_risk, fx);
            self.enter(fx);
        }
    }

    /// Whether it has a lease that ends soon.
    fn is_at_risk(&self) -> bool {
        self.tenure.valid.is_some() && !self.tenure.is_safe()
    }

    fn tell_risk(&mut self, was_so: bool, fx: &mut impl Effects<Self>) {
        let is_so = self.is_at_risk();
        if is_so != was_so {
            self.within(fx, |inner, effects| inner.risk(is_so, effects));
        }
    }

    pub(super) fn on_risk(&mut self, timer: u32, fx: &mut impl Effects<Self>) {
        let (round, was_at_risk) = (self.tenure.question(timer), self.is_at_risk());
        self.tenure.risk = self.tenure.risk.max(Some(round));
        self.tell_risk(was_at_risk, fx);
        self.keep_lease(fx);
    }

    pub(super) fn on_lease_over(&mut self, timer: u32, fx: &mut impl Effects<Self>) {
        let round = self.tenure.question(timer);
        if self.tenure.valid == Some(round) {
            self.tenure.valid = None;
            self.within(fx, |inner, effects| inner.lose(Ended::LeaseOver, effects));
        } else if self.tenure.is_open && self.tenure.round == round {
            self.tenure.is_open = false;
            self.tenure.answered.clear();
            self.keep_lease(fx);
        }
    }

    /// In a new view: waits for those who may not know that they were left behind.
    pub(super) fn wait_for_the_left_behind(&self, fx: &mut impl Effects<Self>) {
        if let (Some(Current { view, is_early: true }), Some(lease)) = (self.current, self.lease) {
            fx.set_timer(Timer::Over(view), Delay::exactly(lease.wait));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Group, Message as _, Outbox, Protocol};

    use super::*;
    use crate::group::input::Input;
    use crate::group::locks::instance::Application;
    use crate::group::locks::{Locks, NodeFactory};
    use crate::mutex::ricart_agrawala::RicartAgrawala;
    use crate::mutex::{Claim, Command, FencingToken, Notice};

    type Node = Locks<RicartAgrawala>;

    /// Three members with leases, and what is under way between them.
    struct Stage {
        nodes: Vec<Node>,
        flight: Vec<(NodeId, NodeId, <Node as Protocol>::Message)>,
    }

    impl Stage {
        fn new() -> Self {
            let (universe, founders) = (Group::of(3), [0, 1, 2].map(NodeId));
            let lease = Some(Lease::new(Duration::from_millis(20), 0));
            let node = |id| {
                let anew = NodeFactory::new(RicartAgrawala::new);
                Locks::new(id, universe, &founders, anew).with_lease(lease)
            };
            let mut stage =
                Self { nodes: universe.members().map(node).collect(), flight: Vec::new() };
            for at in universe.members() {
                stage.happens(at, Protocol::on_start);
            }
            stage
        }

        fn happens(&mut self, at: NodeId, act: impl FnOnce(&mut Node, &mut Outbox<Node>)) {
            let mut fx = Outbox::default();
            act(&mut self.nodes[at.index()], &mut fx);
            for effect in fx.take() {
                if let Effect::Send { to, message } = effect {
                    self.flight.push((at, to, message));
                }
            }
        }

        fn command(&mut self, at: u32, command: Input<Command>) {
            self.happens(NodeId(at), |node, fx| node.on_command(command, fx).unwrap());
        }

        /// Delivers what is as wanted, the first first, until there is no such thing.
        fn deliver(&mut self, is_wanted: impl Fn(u32, u32, &str) -> bool) {
            while let Some(at) = self
                .flight
                .iter()
                .position(|(from, to, message)| is_wanted(from.0, to.0, message.kind_name()))
            {
                let (from, to, message) = self.flight.remove(at);
                self.happens(to, |node, fx| node.on_message(from, message, fx));
            }
        }
    }

    /// Node 0 is inside in a view of 0 and 1, votes for one of 1 and 2, and does not hear that this
    /// was decided. Node 2 has heard of nothing: with its word alone there is no lease.
    #[test]
    fn whoever_has_voted_for_the_next_view_does_not_vouch_for_itself() {
        let mut stage = Stage::new();
        stage.command(0, Input::Ask(Command::Acquire(Claim::Exclusive)));
        stage.deliver(|_, _, _| true);
        assert_eq!(
            stage.nodes[0].inner.instance.application,
            Application::Inside(Claim::Exclusive)
        );
        stage.command(0, Input::Suspect(NodeId(2)));
        stage.deliver(|_, _, _| true);
        assert_eq!(stage.nodes.iter().map(Locks::view).collect::<Vec<_>>(), [2, 2, 2]);
        stage.command(0, Input::Beat);
        stage.deliver(|_, _, _| true);
        let valid = stage.nodes[0].tenure.valid;
        assert!(valid.is_some(), "others say that they have not voted");

        stage.command(1, Input::Suspect(NodeId(0)));
        stage.deliver(|from, to, kind| from != 2 && to != 2 && kind != "NEWVIEW");
        assert_eq!(stage.nodes.iter().map(Locks::view).collect::<Vec<_>>(), [2, 3, 2]);
        stage.flight.clear();
        stage.command(0, Input::Beat);
        stage.deliver(|from, to, _| from + to == 2);
        assert!(stage.nodes[0].tenure.answered.contains(NodeId(2)), "2 has not voted");
        assert_eq!(stage.nodes[0].tenure.valid, valid, "no other lease");
    }

    /// Node 0 asks and enters, with nodes below this number. Its token.
    fn token_of(stage: &mut Stage, below: u32) -> FencingToken {
        let mut token = None;
        // The leases of those that were left behind are over.
        let view = stage.nodes[0].view();
        stage.happens(NodeId(0), |node, fx| node.on_timer(Timer::Over(view), fx));
        let acquire = Input::Ask(Command::Acquire(Claim::Exclusive));
        stage.command(0, acquire);
        while !stage.flight.is_empty() {
            let (from, to, message) = stage.flight.remove(0);
            if from.0.max(to.0) >= below {
                continue;
            }
            let mut fx = Outbox::default();
            stage.nodes[to.index()].on_message(from, message, &mut fx);
            for effect in fx.take() {
                match effect {
                    Effect::Send { to: next, message } => stage.flight.push((to, next, message)),
                    Effect::Notify(Notice::EnteredAs(it)) if to == NodeId(0) => token = Some(it),
                    _ => {}
                }
            }
        }
        token.expect("it enters")
    }

    /// A word with a clock, said to node 0 in this view.
    fn said(stage: &mut Stage, from: u32, view: u64, clock: u64) {
        let message = Message::Within { view, clock, word: ViewMessage::Left };
        stage.happens(NodeId(0), |node, fx| node.on_message(NodeId(from), message, fx));
    }

    #[test]
    fn of_a_clock_only_members_are_believed_and_no_leap() {
        for (from, view, clock, counts) in [
            (3, 1, 1000, false),
            (3, 2, (1 << 56) - 1, false),
            (3, (1 << 56) - 1, (1 << 56) - 1, false),
            (1, 1, (1 << 56) - 1, false),
            (1, 2, (1 << 56) - 1, false),
            (1, 1, 1000, true),
        ] {
            let mut stage = Stage::new();
            said(&mut stage, from, view, clock);
            let token = token_of(&mut stage, 3);
            let expected = if counts { clock + 1 } else { 1 };
            assert_eq!(token.clock, expected, "node {from} in view {view} says {clock}");
        }
    }

    #[test]
    fn what_was_said_before_a_view_begins_counts_when_it_has_begun_if_it_can_be() {
        for (from, clock, expected) in [(1, 1000, 1001), (1, 1 << 55, 1), (3, 1000, 1)] {
            let mut stage = Stage::new();
            said(&mut stage, from, 2, clock);
            assert_eq!(stage.nodes[0].clock.now(), 0);
            stage.command(0, Input::Suspect(NodeId(2)));
            stage.deliver(|from, to, _| from + to == 1);
            assert_eq!(stage.nodes[0].view(), 2);
            assert_eq!(token_of(&mut stage, 2).clock, expected, "{from} {clock}");
        }
    }

    /// More is said early than is kept: it begins the view, and asks for another at once.
    #[test]
    fn whoever_has_missed_something_of_a_view_asks_for_another() {
        let mut stage = Stage::new();
        for _ in 0..1 << 13 {
            said(&mut stage, 1, 2, 0);
        }
        stage.command(0, Input::Suspect(NodeId(2)));
        stage.deliver(|from, to, _| from + to == 1);
        assert_eq!(stage.nodes[0].view(), 3);
        assert_eq!(token_of(&mut stage, 2).view, 3);
    }

    #[test]
    fn whoever_leaves_is_out_at_once_and_nobody_waits_for_its_lease() {
        let mut stage = Stage::new();
        stage.command(1, Input::Ask(Command::Acquire(Claim::Exclusive)));
        stage.flight.clear();
        let mut asks = false;
        stage.happens(NodeId(1), |node, fx| asks = node.on_leave(fx));
        assert!(asks, "it waits for the next view");
        stage.deliver(|_, _, _| true);
        let views = stage.nodes.iter().map(|node| (node.view(), node.views.is_inside()));
        assert_eq!(views.collect::<Vec<_>>(), [(2, true), (2, false), (2, true)]);
        assert!(!stage.nodes[0].current.unwrap().is_early, "nobody was left behind");
        stage.happens(NodeId(0), |node, fx| asks = node.on_leave(fx));
        stage.deliver(|_, _, _| true);
        stage.happens(NodeId(2), |node, fx| asks = node.on_leave(fx));
        assert!(!asks, "the last one waits for nobody");
    }

    #[test]
    fn the_slowest_clock_s_lease_is_over_when_the_fastest_has_waited() {
        let ms = Duration::from_millis;
        assert_eq!(Lease::new(ms(20), 0).wait(), ms(20));
        assert_eq!(Lease::new(ms(9), 100).wait(), ms(11));
        for drift in [1, 7, 100, 333, 999] {
            let lease = Lease::new(Duration::from_nanos(1_000_003), drift);
            let slowest = lease.length.as_nanos() * 1000 * 1000 / u128::from(1000 - drift);
            let fastest = lease.wait.as_nanos() * 1000 * 1000 / u128::from(1000 + drift);
            assert!(fastest + 1 >= slowest, "{drift}: {fastest} {slowest}");
        }
    }

    #[test]
    fn however_often_a_lease_is_renewed_its_timers_are_few_and_mean_the_last_questions() {
        let mut stage = Stage::new();
        stage.command(0, Input::Ask(Command::Acquire(Claim::Exclusive)));
        stage.deliver(|_, _, _| true);
        let mut timers = Vec::new();
        for _ in 0..3 * TIMERS {
            let before = stage.nodes[0].tenure.timer::<()>();
            stage.command(0, Input::Beat);
            stage.deliver(|_, _, _| true);
            let node = &mut stage.nodes[0];
            let Some(Timer::<()>::Lease(timer)) = node.tenure.timer() else { panic!("a lease") };
            assert_eq!(node.tenure.question(timer), node.tenure.round);
            // What runs out late of the one before ends nothing.
            let Some(Timer::Lease(before)) = before else { panic!("a lease") };
            let (valid, mut fx) = (node.tenure.valid, Outbox::default());
            node.on_lease_over(before, &mut fx);
            assert_eq!(node.tenure.valid, valid);
            timers.push(timer);
        }
        timers.sort_unstable();
        timers.dedup();
        assert_eq!(timers, (0..TIMERS).collect::<Vec<_>>());
        let Some(Timer::<()>::Lease(timer)) = stage.nodes[0].tenure.timer() else { panic!() };
        stage.happens(NodeId(0), |node, fx| node.on_lease_over(timer, fx));
        assert_eq!(stage.nodes[0].tenure.valid, None, "its own ends it");
    }

    #[test]
    fn an_answer_to_an_earlier_question_makes_no_lease() {
        let mut stage = Stage::new();
        stage.command(0, Input::Ask(Command::Acquire(Claim::Exclusive)));
        stage.deliver(|_, _, _| true);
        stage.happens(NodeId(0), |node, fx| {
            node.renew(fx);
            let earlier = node.tenure.round;
            node.renew(fx);
            node.on_there(NodeId(1), earlier, fx);
        });
        let tenure = &stage.nodes[0].tenure;
        assert!(tenure.is_open && tenure.valid != Some(tenure.round), "{tenure:?}");
        stage.deliver(|_, _, _| true);
        let tenure = &stage.nodes[0].tenure;
        assert_eq!((tenure.is_open, tenure.valid), (false, Some(tenure.round)));
    }
}
