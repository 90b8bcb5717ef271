//! Heartbeats with time-outs that learn: Tushar Deepak Chandra and Sam Toueg, "Unreliable failure
//! detectors for reliable distributed systems", JACM 43(2), 1996, §9.
//!
//! Every node sends heartbeats. A node that has not been heard for longer than the time-out is
//! suspected; if it is heard after all, it is trusted again, and its margin is doubled.
//!
//! ```text
//!   0  ──HEARTBEAT──┐ ──HEARTBEAT──┐ ──HEARTBEAT──┐     (down)
//!                   ▼              ┊ late         ▼
//!   1  ─────────────●···beat+margin···[ suspects ]─[ trusts ]···beat+2·margin···[ suspects ]──►
//! ```
//!
//! | N nodes | cost |
//! | --- | --- |
//! | messages | N(N − 1) in every period |
//! | detection time | between T + margin and T + margin + period |
//! | mistakes | none if all messages take equally long; else a few at first, see below |
//!
//! **Assumes** partial synchrony: an unknown bound on the difference between message delays holds
//! from some time on. Then it is eventually perfect, as the paper calls it. Messages may be
//! reordered. A lost heartbeat counts as late by a period.
//!
//! **Complete**: a crashed node sends nothing, its last heartbeat arrives, the next time-out runs
//! out, and no heartbeat takes that back. **Eventually accurate**: if no message takes longer than
//! another by more than s, two heartbeats arrive at most a period and s apart, in any order. A
//! margin of at least s is never exceeded, and it is reached after ⌈log₂(s ∕ margin)⌉ mistakes.
//!
//! **Departures**: margins stop growing at 1024 times the first, so that a node that was away for
//! long is not waited for as long again; if s is greater, mistakes never end. The paper lengthens a
//! time-out by a constant; doubling takes fewer mistakes, and in the end may wait for nearly twice
//! the margin that it needs.
//! The published estimators of arrival times (Chen, Toueg and Aguilera, 2002) need a clock, which
//! a node here has not. A node that comes up again is taken for one that was late.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Delay, Effects, NodeId, NodeState, Protocol, Refused, StateValue};

use super::card::{
    Card, DETECTION, Demonstration, Flaw, Jitter, MESSAGES, MISTAKES, Setting, Terms,
};
use super::{Command, Notice};
use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};

/// The messages between nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// I am up.
    Heartbeat,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["HEARTBEAT"];

    fn kind(&self) -> usize {
        match self {
            Self::Heartbeat => 0,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HEARTBEAT")
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// To say that it is up.
    Beat,
    /// This node has not been heard in time.
    Overdue(NodeId),
}

/// As it is called on a stage.
impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beat => f.write_str("Beat"),
            Self::Overdue(of) => write!(f, "Overdue({of})"),
        }
    }
}

/// How often heartbeats come and how late they may be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pace {
    beat: Delay,
    margin: Duration,
    late: Duration,
}

impl Pace {
    /// How often a margin is doubled at most.
    const MOST_DOUBLINGS: u32 = 10;

    /// As it is set up.
    pub(crate) const fn of(setup: &Setup) -> Self {
        let beat = Delay::between(setup.beat, setup.beat.saturating_add(setup.late));
        Self { beat, margin: setup.margin, late: setup.late }
    }

    /// The same, with another margin.
    pub(crate) const fn with_margin(self, margin: Duration) -> Self {
        Self { margin, ..self }
    }

    const fn margin(self, mistakes: u32) -> Duration {
        self.margin.saturating_mul(
            1 << if mistakes < Self::MOST_DOUBLINGS { mistakes } else { Self::MOST_DOUBLINGS },
        )
    }

    /// The time-out of a node after so many false suspicions.
    const fn patience(self, mistakes: u32) -> Delay {
        let least = self.beat.max.saturating_add(self.margin(mistakes));
        Delay::between(least, least.saturating_add(self.late))
    }
}

/// One node; a layer around it may start its heartbeats, and choose the nodes that it watches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Heartbeat {
    pace: Pace,
    others: Vec<NodeId>,
    beats: bool,
    /// Those that were ever watched.
    pub(super) peers: BTreeMap<NodeId, Peer>,
}

/// The belief of a node about another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Peer {
    pub(super) belief: Belief,
    /// How often it was suspected and then heard, as far as that matters.
    mistakes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Belief {
    /// It is not watched.
    Unwatched,
    Up,
    Down,
}

impl Heartbeat {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        Self::with(me, setup, Pace::of(setup))
    }

    pub(crate) fn with(me: NodeId, setup: &Setup, pace: Pace) -> Self {
        let others = setup.group.others(me).collect();
        Self { pace, others, beats: false, peers: BTreeMap::new() }
    }

    /// Says that it is up, now and from now on, unless it does already.
    pub(crate) fn beat(&mut self, fx: &mut impl Effects<Self>) {
        if !self.beats {
            self.beats = true;
            self.on_timer(Timer::Beat, fx);
        }
    }

    /// Says a period from now that it is up, and from then on, unless it does already.
    pub(crate) fn beat_soon(&mut self, fx: &mut impl Effects<Self>) {
        if !self.beats {
            self.beats = true;
            fx.set_timer(Timer::Beat, self.pace.beat);
        }
    }

    /// Says no more that it is up.
    pub(crate) fn fall_silent(&mut self, fx: &mut impl Effects<Self>) {
        if self.beats {
            self.beats = false;
            fx.cancel_timer(Timer::Beat);
        }
    }

    /// Suspects this node if it is not heard in time, which begins so much later.
    pub(crate) fn watch(&mut self, peer: NodeId, later: Duration, fx: &mut impl Effects<Self>) {
        let new = Peer { belief: Belief::Up, mistakes: 0 };
        let peer_now = self.peers.entry(peer).or_insert(new);
        peer_now.belief = Belief::Up;
        let Delay { min, max } = self.pace.patience(peer_now.mistakes);
        let delay = Delay::between(min.saturating_add(later), max.saturating_add(later));
        fx.set_timer(Timer::Overdue(peer), delay);
    }

    /// Watches only this node.
    pub(crate) fn watch_only(&mut self, peer: Option<NodeId>, fx: &mut impl Effects<Self>) {
        for (&other, it) in &mut self.peers {
            if Some(other) != peer {
                if it.belief == Belief::Up {
                    fx.cancel_timer(Timer::Overdue(other));
                }
                it.belief = Belief::Unwatched;
            }
        }
        // A peer in its initial state is not stored, so that equal states are equal.
        self.peers.retain(|_, it| it.belief != Belief::Unwatched || it.mistakes > 0);
    }

    /// Resets the false suspicions of this node: it was not late.
    pub(crate) fn forgive(&mut self, peer: NodeId) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.mistakes = 0;
        }
    }

    /// A heartbeat of a peer, if it is watched.
    fn hear(&mut self, from: NodeId, fx: &mut impl Effects<Self>) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        match peer.belief {
            Belief::Unwatched => return,
            Belief::Up => {}
            Belief::Down => {
                peer.belief = Belief::Up;
                peer.mistakes = (peer.mistakes + 1).min(Pace::MOST_DOUBLINGS);
                fx.notify(Notice::Trust(from));
            }
        }
        fx.set_timer(Timer::Overdue(from), self.pace.patience(peer.mistakes));
    }

    /// Is heard by all, and watches all.
    fn begin(&mut self, fx: &mut impl Effects<Self>) {
        self.beat(fx);
        for peer in self.others.clone() {
            self.watch(peer, Duration::ZERO, fx);
        }
    }
}

impl Protocol for Heartbeat {
    type Message = Message;
    type Timer = Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.begin(fx);
    }

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) -> Result<(), Refused> {
        match command {}
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Heartbeat => self.hear(from, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Beat => {
                fx.broadcast(self.others.iter().copied(), Message::Heartbeat);
                fx.set_timer(Timer::Beat, self.pace.beat);
            }
            Timer::Overdue(of) => {
                if let Some(peer) = self.peers.get_mut(&of) {
                    peer.belief = Belief::Down;
                    fx.notify(Notice::Suspect(of));
                }
            }
        }
    }

    /// There is nothing that it keeps over a crash.
    fn without_memory(self, _: u64) -> Option<Self> {
        Some(self)
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.begin(fx);
    }

    /// Those that it watches, by what it believes of them, and its mistakes about each.
    fn state(&self) -> NodeState {
        let believed = |belief: Belief| {
            let peers = self.peers.iter().filter(move |(_, peer)| peer.belief == belief);
            StateValue::set(peers.map(|(&id, _)| id))
        };
        let mistakes = self.peers.iter().filter(|(_, peer)| peer.mistakes > 0);
        NodeState::new()
            .with("beats", self.beats)
            .with("alive", believed(Belief::Up))
            .with("suspected", believed(Belief::Down))
            .with("unwatched", believed(Belief::Unwatched))
            .with("mistakes", StateValue::list(mistakes.map(|(&id, peer)| (id, peer.mistakes))))
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "heartbeat",
    title: "Heartbeats",
    solves: "failure detection",
    citation: "Chandra and Toueg, JACM 43(2), 1996",
    assumes: Assumes { reliable: false, ..Assumes::ANY_ORDER },
    takes: &[Parameter::Beat, Parameter::Margin, Parameter::Late],
    terms: Terms { mistakes, detects },
    theory: &[MESSAGES.costs(messages), MISTAKES.costs(most_mistakes), DETECTION.costs(detection)],
    flaws: FLAWS,
    source: include_str!("heartbeat.rs"),
};

/// As many doublings as it takes until the margin is no less than the spread. The first heartbeat
/// is waited for since the node itself began, and may take as long as a message can.
fn mistakes(setup: &Setup, Jitter { longest, spread }: Jitter) -> Option<u32> {
    let pace = Pace::of(setup);
    let needed = spread.max(longest.saturating_sub(setup.beat));
    (0..=Pace::MOST_DOUBLINGS).find(|&mistakes| pace.margin(mistakes) >= needed)
}

/// The last heartbeat is sent just before the crash, and arrives.
fn detects(setup: &Setup, longest: Duration, mistakes: Option<u32>) -> Duration {
    let mistakes = mistakes.unwrap_or(Pace::MOST_DOUBLINGS);
    Pace::of(setup).patience(mistakes).max.saturating_add(longest)
}

/// Everyone tells all others at the beginning, and then in every period until it goes down.
fn messages(at: &Setting) -> Span {
    let (beat, others) = (at.setup.beat.as_nanos(), f64::from(at.nodes()) - 1.0);
    let often = |id: NodeId| {
        let down = at.crashes.iter().filter(|(node, _)| *node == id).map(|(_, at)| at.as_nanos());
        down.min().map_or(at.lasts.as_nanos() / beat + 1, |down| down.div_ceil(beat)) as f64
    };
    let most: f64 = at.setup.group.members().map(|id| often(id) * others).sum();
    if at.setup.late.is_zero() { Span::exactly(most) } else { Span::between(0.0, most) }
}

/// For every two nodes as many as are allowed.
fn most_mistakes(at: &Setting) -> Span {
    let pairs = f64::from(at.nodes()) * (f64::from(at.nodes()) - 1.0);
    match at.jitter.map(|jitter| mistakes(&at.setup, jitter)) {
        Some(Some(0)) => Span::exactly(0.0),
        Some(Some(each)) => Span::between(0.0, pairs * f64::from(each)),
        Some(None) | None => Span::between(0.0, f64::INFINITY),
    }
}

/// The period and the margin after the last heartbeat has arrived; from the beginning, if there was
/// none.
fn detection(at: &Setting) -> Span {
    let Some(unit) = at.constant().filter(|unit| !unit.is_zero()) else {
        return Span::between(0.0, f64::INFINITY);
    };
    let in_units = |time: Duration| time.as_nanos() as f64 / unit.as_nanos() as f64;
    let patience = in_units(Pace::of(&at.setup).patience(0).min);
    let late = in_units(at.setup.late);
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for (_, crash) in &at.crashes {
        let (least, most) = match crash.as_nanos() {
            0 => (patience, patience + late),
            _ if late > 0.0 => (1.0 + in_units(at.setup.margin), 1.0 + patience + late),
            ns => {
                let beat = at.setup.beat.as_nanos();
                let since = (ns - 1) % beat + 1;
                let after = 1.0 + patience - since as f64 / unit.as_nanos() as f64;
                (after, after)
            }
        };
        (low, high) = (low.min(least), high.max(most));
    }
    if low < high { Span::between(low, high) } else { Span::exactly(high) }
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "never-recovers",
        what: "a suspected node stays suspected, heard or not: after one late message it counts \
               as crashed for good",
        breaks: "accuracy",
        shown_by: Demonstration::of(2, 0),
    },
    Flaw {
        name: "learns-nothing",
        what: "time-outs are never raised: a node whose heartbeats are late now and then is \
               suspected again and again",
        breaks: "accuracy",
        shown_by: Demonstration::of(2, 0),
    },
    Flaw {
        name: "first-awaited-for-ever",
        what: "a node is watched from its first heartbeat on: one that starts after a crash never \
               misses the crashed node",
        breaks: "completeness",
        shown_by: Demonstration::of(2, 2).restarting(1),
    },
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;

    fn setup(nodes: u32) -> Setup {
        Setup::new(Group::of(nodes))
    }

    fn came(
        node: &mut Heartbeat,
        act: impl FnOnce(&mut Heartbeat, &mut Outbox<Heartbeat>),
    ) -> Vec<String> {
        let mut fx = Outbox::default();
        act(node, &mut fx);
        let shown = |effect: Effect<Heartbeat>| match effect {
            Effect::Send { to, message } => format!("{to} {message}"),
            Effect::SetTimer { timer, delay } => format!("{timer:?} in {:?}", delay.min),
            Effect::CancelTimer(timer) => format!("no {timer:?}"),
            Effect::Notify(notice) => format!("{notice}"),
        };
        fx.take().into_iter().map(shown).collect()
    }

    fn hear(node: &mut Heartbeat, from: u32) -> Vec<String> {
        came(node, |node, fx| node.on_message(NodeId(from), Message::Heartbeat, fx))
    }

    fn overdue(node: &mut Heartbeat, of: u32) -> Vec<String> {
        came(node, |node, fx| node.on_timer(Timer::Overdue(NodeId(of)), fx))
    }

    #[test]
    fn everyone_tells_all_others_again_and_again() {
        let mut node = Heartbeat::of(NodeId(1), &setup(3));
        let begun = came(&mut node, Heartbeat::on_start);
        let watches = ["Overdue(0) in 5.5ms", "Overdue(2) in 5.5ms"];
        let beats = ["0 HEARTBEAT", "2 HEARTBEAT", "Beat in 5ms"];
        assert_eq!(begun, [&beats[..], &watches[..]].concat());
        assert_eq!(came(&mut node, |node, fx| node.on_timer(Timer::Beat, fx)), beats);
    }

    #[test]
    fn whoever_is_not_heard_is_suspected_and_may_be_later_when_it_is_heard_after_all() {
        let mut node = Heartbeat::of(NodeId(0), &setup(2));
        came(&mut node, Heartbeat::on_start);
        assert_eq!(hear(&mut node, 1), ["Overdue(1) in 5.5ms"]);
        assert_eq!(overdue(&mut node, 1), ["node 1 seems to be down"]);
        assert_eq!(hear(&mut node, 1), ["node 1 is up", "Overdue(1) in 6ms"]);
        assert_eq!(hear(&mut node, 1), ["Overdue(1) in 6ms"]);
        for _ in 0..30 {
            overdue(&mut node, 1);
            hear(&mut node, 1);
        }
        assert_eq!(hear(&mut node, 1), ["Overdue(1) in 517ms"], "and no later than this");
        assert_eq!(hear(&mut node, 7), [""; 0], "a stranger");
    }

    #[test]
    fn a_layer_watches_whom_it_cares_about_and_margins_are_remembered() {
        let mut node = Heartbeat::of(NodeId(0), &setup(3));
        let ms = Duration::from_millis;
        let watch = |node: &mut Heartbeat, peer| {
            came(node, |node, fx| {
                node.watch_only(Some(NodeId(peer)), fx);
                node.watch(NodeId(peer), ms(2), fx);
            })
        };
        assert_eq!(watch(&mut node, 1), ["Overdue(1) in 7.5ms"]);
        overdue(&mut node, 1);
        hear(&mut node, 1);
        assert_eq!(watch(&mut node, 2), ["no Overdue(1)", "Overdue(2) in 7.5ms"]);
        assert_eq!(hear(&mut node, 1), [""; 0], "nobody cares");
        assert_eq!(watch(&mut node, 1), ["no Overdue(2)", "Overdue(1) in 8ms"], "once wrong");
        assert_eq!(came(&mut node, Heartbeat::fall_silent), [""; 0]);
        assert_eq!(came(&mut node, Heartbeat::beat).len(), 3);
        assert_eq!(came(&mut node, Heartbeat::beat), [""; 0], "it does already");
        assert_eq!(came(&mut node, Heartbeat::fall_silent), ["no Beat"]);
    }

    #[test]
    fn a_timer_that_may_be_late_is_waited_for() {
        let mut late = setup(2);
        late.set(Parameter::Late, "1ms").unwrap();
        let pace = Pace::of(&late);
        assert_eq!(pace.beat.max, Duration::from_millis(6));
        let patience = pace.patience(0);
        assert_eq!(patience.min, Duration::from_micros(6500), "the other's may be late");
        assert_eq!(patience.max, Duration::from_micros(7500), "and its own");
    }

    #[test]
    fn as_many_mistakes_as_doublings_to_the_spread() {
        let us = Duration::from_micros;
        let most = |longest, spread| {
            mistakes(&setup(2), Jitter { longest: us(longest), spread: us(spread) })
        };
        assert_eq!(most(1000, 0), Some(0));
        assert_eq!(most(1000, 500), Some(0), "as late as it may be");
        assert_eq!(
            (most(1000, 501), most(2000, 1001), most(4000, 4000)),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!(most(6000, 0), Some(1), "the first heartbeat takes longer than a period");
        assert_eq!(most(600_000, 600_000), None, "longer than it is ever patient");
    }

    #[test]
    fn costs_are_what_the_last_heartbeat_says() {
        let ms = Duration::from_millis;
        let at = |crashes: &[(u32, u64)]| Setting {
            setup: setup(3),
            lasts: ms(20),
            jitter: Some(Jitter { longest: ms(1), spread: Duration::ZERO }),
            crashes: crashes.iter().map(|&(id, at)| (NodeId(id), ms(at))).collect(),
        };
        assert_eq!(messages(&at(&[])), Span::exactly(30.0), "at 0, 5, 10, 15 and 20");
        assert_eq!(messages(&at(&[(1, 7)])), Span::exactly(24.0), "at 0 and 5");
        assert_eq!(
            messages(&at(&[(1, 0), (2, 5)])),
            Span::exactly(12.0),
            "whoever is down is silent"
        );
        assert_eq!(most_mistakes(&at(&[])), Span::exactly(0.0));
        assert_eq!(detection(&at(&[(1, 7)])), Span::exactly(4.5), "5.5 after 5 + 1, which is 11.5");
        assert_eq!(detection(&at(&[(1, 5)])), Span::exactly(1.5), "it does not come to the next");
        assert_eq!(detection(&at(&[(1, 0)])), Span::exactly(5.5), "there was none");
        assert_eq!(detection(&at(&[(1, 5), (0, 7)])), Span::between(1.5, 4.5));
    }
}
