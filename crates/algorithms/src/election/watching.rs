//! An election that is called when its leader fails: a failure detector beside it, as Chandra and
//! Toueg, 1996, would have it.
//!
//! An election is held when a node calls for it; the algorithms leave open when to call. This layer
//! around [bully](super::bully) or the [ring](super::ring_election) decides: the leader sends
//! [heartbeats](crate::detection::heartbeat) to all, the other nodes watch it, and call when they
//! suspect it. Two leaders, each followed by some after a partition or late messages, hear each
//! other's heartbeats: then they call as well. So does a node that hears the heartbeat of a leader
//! that it was never told of, or that is lower than itself.
//!
//! ```text
//!   0  ──▲──────────▲───────────────[ suspects 2 ]──ELECTION… ──[ 1 leads ]──▲──►
//!        │          │                                                        │
//!   1  ──│─▲────────│─▲─────────────[ suspects 2 ]──ELECTION… ──[ 1 leads ]──HEARTBEAT──►
//!        │ │        │ │
//!   2  ──HEARTBEAT──HEARTBEAT──✗  (down)
//! ```
//!
//! | M nodes are up | cost |
//! | --- | --- |
//! | messages | N − 1 heartbeats in every period, and an election when the leader goes down |
//! | duration | a leader's crash is noticed after a period and 2T at most, then as the election |
//!
//! **Assumes** what the election does; with late messages a leader may be suspected wrongly, which
//! costs an election.
//!
//! **Safe** as the election is: the layer only ever calls. **Live**: if there is no leader, a
//! follower hears no heartbeats, suspects and calls; if there are two leaders that can hear each
//! other, they call; and a node that follows a former leader hears no heartbeats either. So if no
//! node has a reason to call, all follow one leader.
//!
//! A heartbeat must come within a period and the margin, which is as long as a message takes: then
//! a timely leader is never suspected. A node that hears of the result before the leader does (on
//! the ring, by up to a round) waits for longer at first.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Delay, DynEffects, Effects, Lift, NodeId, NodeState, Protocol, Refused};

use super::{Command, Notice};
use crate::detection::Notice as Belief;
use crate::detection::heartbeat::{self, Heartbeat, Pace};
use crate::layer::kinds::{MOST_KINDS, with};
use crate::setup::Setup;

/// An election whose leader can be watched.
pub trait Watched: Protocol<Command = Command, Notice = Notice> {
    /// A node that is set up like this.
    fn of(me: NodeId, setup: &Setup) -> Self;
    /// How long after a node has been told who leads that one knows it, too.
    fn head_start(setup: &Setup) -> Duration;
}

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<M> {
    /// I lead, and am up.
    Heartbeat,
    /// A message of the election.
    Election(M),
}

impl<M> From<heartbeat::Message> for Message<M> {
    fn from(heartbeat::Message::Heartbeat: heartbeat::Message) -> Self {
        Self::Heartbeat
    }
}

impl<M: vorrang_protocol::Message> Message<M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &with(["HEARTBEAT"], M::KINDS);
}

impl<M: vorrang_protocol::Message> vorrang_protocol::Message for Message<M> {
    const KINDS: &'static [&'static str] = Self::KINDS_AND_MORE.split_at(1 + M::KINDS.len()).0;

    fn kind(&self) -> usize {
        match self {
            Self::Heartbeat => 0,
            Self::Election(message) => 1 + message.kind(),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heartbeat => heartbeat::Message::Heartbeat.fmt(f),
            Self::Election(message) => message.fmt(f),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer<T> {
    /// By the detector.
    Heartbeat(heartbeat::Timer),
    /// By the election.
    Election(T),
}

/// As each is called without the other.
impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heartbeat(timer) => timer.fmt(f),
            Self::Election(timer) => timer.fmt(f),
        }
    }
}

impl<T> From<heartbeat::Timer> for Timer<T> {
    fn from(timer: heartbeat::Timer) -> Self {
        Self::Heartbeat(timer)
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watching<P: Watched> {
    me: NodeId,
    head_start: Duration,
    election: P,
    detector: Heartbeat,
    leader: Option<NodeId>,
}

impl<P: Watched> Watching<P> {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let pace = Pace::of(setup).with_margin(setup.within);
        Self {
            me,
            head_start: P::head_start(setup),
            election: P::of(me, setup),
            detector: Heartbeat::with(me, setup, pace),
            leader: None,
        }
    }

    /// Lets the election act, and watches the leader that it reports.
    fn on_election<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut P, &mut Through<'_, E>) -> T,
    ) -> T {
        let mut told = Vec::new();
        let done = act(&mut self.election, &mut Through { fx, told: &mut told });
        for leader in told.into_iter().filter_map(Notice::leader) {
            fx.notify(Notice::Leader(leader));
            self.follow(leader, fx);
        }
        done
    }

    /// Lets the detector act, and calls if it suspects the leader.
    fn on_detector<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut Heartbeat, &mut Lift<'_, Heartbeat, Self, E>),
    ) {
        let mut believed = Vec::new();
        act(&mut self.detector, &mut Lift::new(fx, &mut believed));
        for belief in believed {
            match belief {
                Belief::Suspect(node) if self.leader == Some(node) => self.call(fx),
                // The leader will be heard of; the election decides which node it is.
                Belief::Suspect(_) | Belief::Trust(_) => {}
            }
        }
    }

    /// Whether it believes that it leads itself.
    fn leads(&self) -> bool {
        self.leader == Some(self.me)
    }

    /// Whether a heartbeat comes from a wrong leader: this node leads itself, or has no leader, or
    /// is higher. A node that follows another leader leaves it to that one.
    pub(super) fn is_news(&self, from: NodeId) -> bool {
        self.leads() || self.leader.is_none() || from < self.me
    }

    /// Believes that there is no leader.
    fn call(&mut self, fx: &mut impl Effects<Self>) {
        self.on_election(fx, |election, through| {
            election.on_command(Command::Elect, through).expect("an election may always be called");
        });
    }

    fn follow(&mut self, leader: NodeId, fx: &mut impl Effects<Self>) {
        self.leader = Some(leader);
        let (is_me, head_start) = (leader == self.me, self.head_start);
        self.on_detector(fx, |detector, up| {
            if is_me {
                detector.watch_only(None, up);
                // Not at once: a heartbeat is not to overtake the news of who leads.
                detector.beat_soon(up);
            } else {
                detector.fall_silent(up);
                detector.watch_only(Some(leader), up);
                detector.watch(leader, head_start, up);
            }
        });
    }
}

impl<P: Watched> Protocol for Watching<P> {
    type Message = Message<P::Message>;
    type Timer = Timer<P::Timer>;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.on_election(fx, |election, through| election.on_start(through));
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let fx = &mut DynEffects(fx);
        self.on_election(fx, |election, through| election.on_command(command, through))
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: Message<P::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        let fx = &mut DynEffects(fx);
        match message {
            Message::Election(message) => {
                self.on_election(fx, |election, through| {
                    election.on_message(from, message, through);
                });
            }
            Message::Heartbeat if self.is_news(from) => self.call(fx),
            Message::Heartbeat => {
                self.on_detector(fx, |detector, up| {
                    detector.on_message(from, heartbeat::Message::Heartbeat, up);
                });
            }
        }
    }

    fn on_timer(&mut self, timer: Timer<P::Timer>, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        match timer {
            Timer::Heartbeat(timer) => {
                self.on_detector(fx, |detector, up| detector.on_timer(timer, up));
            }
            Timer::Election(timer) => {
                self.on_election(fx, |election, through| election.on_timer(timer, through));
            }
        }
    }

    /// The election handles the restart; there is no leader to watch before.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut DynEffects(fx);
        self.on_election(fx, |election, through| election.on_restart(through));
    }

    fn state(&self) -> NodeState {
        NodeState::new()
            .with("leader", self.leader)
            .beneath("election", self.election.state())
            .beneath("detector", self.detector.state())
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { election: self.election.after_crash(fresh.election), ..fresh }
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        Some(Self { election: self.election.without_memory(life)?, ..self })
    }
}

/// The effects of the election: what it tells is heard by the layer first.
struct Through<'a, E> {
    fx: &'a mut E,
    told: &'a mut Vec<Notice>,
}

impl<P: Watched, E: Effects<Watching<P>>> Effects<P> for Through<'_, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.fx.send(to, Message::Election(message));
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        self.fx.send_to_each(to, Message::Election(message));
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(Timer::Election(timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer::Election(timer));
    }
    fn notify(&mut self, notice: Notice) {
        self.told.push(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// How long it takes until all follow one leader again: until it is noticed that one is missing, or
/// is one too many, and an election that takes so long; each of them may be in vain once.
pub(super) fn settles(setup: &Setup, election: Duration) -> Duration {
    notices(setup).saturating_add(election).saturating_mul(3)
}

/// How long it takes until a node notices that its leader is missing, or is one too many.
pub(super) fn notices(setup: &Setup) -> Duration {
    setup.beat.saturating_add(setup.late).saturating_add(setup.within).saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use vorrang_protocol::{Effect, Group, Message as _, Outbox};

    use super::*;
    use crate::election::bully::{self, Bully};
    use crate::election::ring_election::RingElection;

    fn node(id: u32) -> Watching<Bully> {
        Watching::of(NodeId(id), &Setup::new(Group::of(3)))
    }

    fn came<P: Watched>(
        node: &mut Watching<P>,
        act: impl FnOnce(&mut Watching<P>, &mut Outbox<Watching<P>>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        act(node, &mut fx);
        let shown = |effect: Effect<Watching<P>>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, delay } => format!("{timer:?} in {:?}", delay.min),
            Effect::CancelTimer(timer) => format!("no {timer:?}"),
            Effect::Notify(notice) => format!("{notice}"),
        };
        fx.take().into_iter().map(shown).collect()
    }

    fn hear(
        node: &mut Watching<Bully>,
        from: u32,
        message: Message<bully::Message>,
    ) -> Vec<String> {
        came(node, |node, fx| node.on_message(NodeId(from), message, fx))
    }

    const COORDINATOR: Message<bully::Message> = Message::Election(bully::Message::Coordinator(1));

    #[test]
    fn whoever_leads_is_heard_and_hears_of_others_that_lead() {
        let mut highest = node(2);
        let called = came(&mut highest, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        let leads = ["0 COORDINATOR(1)", "1 COORDINATOR(1)", "node 2 leads", "Beat in 5ms"];
        assert_eq!(called, leads);
        let beat = Timer::Heartbeat(heartbeat::Timer::Beat);
        let beats = came(&mut highest, |node, fx| node.on_timer(beat, fx));
        assert_eq!(beats, ["0 HEARTBEAT", "1 HEARTBEAT", "Beat in 5ms"]);
        let again = hear(&mut highest, 1, Message::Heartbeat);
        let says_so = ["0 COORDINATOR(2)", "1 COORDINATOR(2)", "node 2 leads"];
        assert_eq!(again, says_so, "and beats on");
    }

    #[test]
    fn whoever_follows_watches_and_calls_when_it_suspects() {
        let mut node = node(1);
        assert_eq!(hear(&mut node, 2, COORDINATOR), ["node 2 leads", "Overdue(2) in 6ms"]);
        assert_eq!(hear(&mut node, 2, Message::Heartbeat), ["Overdue(2) in 6ms"]);
        let mut lower = self::node(0);
        hear(&mut lower, 2, COORDINATOR);
        assert_eq!(hear(&mut lower, 1, Message::Heartbeat), [""; 0], "node 2 will hear it, too");
        let mut untold = self::node(0);
        let calls = ["1 ELECTION(0)", "2 ELECTION(0)", "Answer in 2ms"];
        assert_eq!(hear(&mut untold, 1, Message::Heartbeat), calls, "it was never told");
        let higher = hear(&mut node.clone(), 0, Message::Heartbeat);
        assert_eq!(higher, ["2 ELECTION(1)", "Answer in 2ms"], "a lower one leads");
        let overdue = Timer::Heartbeat(heartbeat::Timer::Overdue(NodeId(2)));
        let suspects = came(&mut node, |node, fx| node.on_timer(overdue, fx));
        assert_eq!(suspects, ["2 ELECTION(1)", "Answer in 2ms"]);
        let late = hear(&mut node, 2, Message::Heartbeat);
        assert_eq!(late, ["Overdue(2) in 7ms"], "the election goes on; next time it waits longer");
        let answer = Timer::Election(bully::Timer::Answer);
        let leads = came(&mut node, |node, fx| node.on_timer(answer, fx));
        let watches_no_more = ["0 COORDINATOR(2)", "no Answer", "node 1 leads", "no Overdue(2)"];
        assert_eq!(leads[..4], watches_no_more);
        assert_eq!(leads[4..], ["Beat in 5ms"]);
        let deposed = Message::Election(bully::Message::Coordinator(3));
        let follows = hear(&mut node, 2, deposed);
        assert_eq!(follows, ["node 2 leads", "no Beat", "Overdue(2) in 7ms"]);
    }

    #[test]
    fn on_the_ring_a_leader_is_waited_for_until_it_knows() {
        let setup = Setup::new(Group::of(3));
        let head_start = RingElection::head_start(&setup);
        assert_eq!(head_start, Duration::from_millis(48), "two rounds of everyone, in vain");
        let mut node = Watching::<RingElection>::of(NodeId(0), &setup);
        let follows = came(&mut node, |node, fx| node.follow(NodeId(2), fx));
        assert_eq!(follows, ["Overdue(2) in 54ms"]);
    }

    #[test]
    fn what_the_election_keeps_is_kept_and_nobody_is_watched_after_a_crash() {
        let mut before = node(2);
        came(&mut before, |node, fx| node.on_command(Command::Elect, fx).unwrap());
        let mut after = before.after_crash(node(2));
        assert_eq!(after.leader, None);
        let up = came(&mut after, Watching::on_restart);
        let leads = ["0 COORDINATOR(2)", "1 COORDINATOR(2)", "node 2 leads", "Beat in 5ms"];
        assert_eq!(up, leads);
    }

    #[test]
    fn kinds_are_those_of_both() {
        let all = ["HEARTBEAT", "ELECTION", "ANSWER", "COORDINATOR", "OUTDATED"];
        assert_eq!(Message::<bully::Message>::KINDS, all);
        assert_eq!(COORDINATOR.kind_name(), "COORDINATOR");
        assert_eq!(Message::<bully::Message>::Heartbeat.kind_name(), "HEARTBEAT");
    }
}
