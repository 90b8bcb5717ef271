//! Heartbeats with time-outs that learn: Tushar Deepak Chandra and Sam Toueg, "Unreliable failure
//! detectors for reliable distributed systems", JACM 43(2), 1996, §9.
//!
//! Every node sends heartbeats. A node that has not been heard for longer than the time-out is
//! suspected; if it is heard after all, it is trusted again, and its margin is doubled, up to a
//! cap. After a quiet time without such a mistake one doubling is taken back.
//!
//! **Use it** below whatever must know who is down. Where messages may be late it suspects wrongly
//! at times, and takes it back.
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
//! | after m mistakes | T + min(2ᵐ, cap) · margin + period at most |
//! | mistakes | none if no message is later than another by more than the margin; else see below |
//!
//! **Assumes** partial synchrony: a bound on the difference between message delays holds from some
//! time on. Messages may be reordered. A lost heartbeat counts as late by a period.
//!
//! **Complete**: a crashed node sends nothing, its last heartbeat arrives, the next time-out runs
//! out, and no heartbeat takes that back. How long that takes is bounded by the cap, whatever has
//! happened before.
//!
//! **Accurate**, as far as it goes. If no message takes longer than another by more than s, two
//! heartbeats arrive at most a period and s apart, in any order. A margin of at least s is never
//! exceeded; it is reached after k = ⌈log₂(s ∕ margin)⌉ mistakes that are not taken back.
//!
//! - *s is no more than the margin*: no mistake, ever.
//! - *s is more than that, and no more than cap · margin*: a mistake needs a margin below s, so
//!   fewer than k doublings. Each mistake adds one and each quiet time takes one back; so in a time
//!   t there are at most k + t ∕ quiet mistakes about a node. Only without decay (`never`) do they
//!   end, and only then is it eventually perfect, as the paper calls it. With decay they recur, one
//!   in a quiet time at most: the price for a crash that is noticed soon again after a bad day.
//! - *s is more than cap · margin*: mistakes never end, with decay or without. Raise the margin.
//!
//! **Departures**: the paper lengthens time-outs for ever and by a constant. Doubling takes fewer
//! mistakes. The cap and the decay keep a node that was paused or cut off a few times from being
//! waited for ever longer when it crashes: without them the eighth mistake made it 256 times as
//! long. In the end a margin may be nearly twice what it need be.
//! The published estimators of arrival times (Chen, Toueg and Aguilera, 2002) need a clock, which
//! a node here has not. A node that comes up again is taken for one that was late.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Delay, Effects, NodeId, NodeState, Protocol, Refused, SortedMap, StateValue,
};

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
    /// There was no mistake about this node for a while.
    Quiet(NodeId),
}

/// As it is called on a stage.
impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beat => f.write_str("Beat"),
            Self::Overdue(of) => write!(f, "Overdue({of})"),
            Self::Quiet(of) => write!(f, "Quiet({of})"),
        }
    }
}

/// How often heartbeats come and how late they may be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pace {
    beat: Delay,
    margin: Duration,
    late: Duration,
    /// How many times as long as at first a margin is at most.
    cap: u32,
    /// After what time a doubling is taken back.
    quiet: Option<Duration>,
}

impl Pace {
    /// As it is set up.
    pub(crate) const fn of(setup: &Setup) -> Self {
        let beat = Delay::between(setup.beat, setup.beat.saturating_add(setup.late));
        let (cap, quiet) = (setup.margin_cap, setup.margin_halves_after);
        Self { beat, margin: setup.margin, late: setup.late, cap, quiet }
    }

    /// The same, with a margin that is never exceeded where messages are as timely as assumed: what
    /// it learns where they are not it keeps.
    pub(crate) const fn with_margin(self, margin: Duration) -> Self {
        Self { margin, cap: 1 << 10, quiet: None, ..self }
    }

    /// How often a margin is doubled until it is as long as it may be.
    const fn most_doublings(self) -> u32 {
        self.cap.next_power_of_two().trailing_zeros()
    }

    const fn margin(self, mistakes: u32) -> Duration {
        let times = match 1_u32.checked_shl(mistakes) {
            Some(times) if times < self.cap => times,
            Some(_) | None => self.cap,
        };
        self.margin.saturating_mul(times)
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
    pub(super) peers: SortedMap<NodeId, Peer>,
}

/// The belief of a node about another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Peer {
    pub(super) belief: Belief,
    /// How often its margin is doubled: once for each time that it was suspected and then heard, as
    /// far as that matters and is not taken back.
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
        Self { pace, others, beats: false, peers: SortedMap::new() }
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
        let peer_now = self.peers.get_or_insert(peer, new);
        peer_now.belief = Belief::Up;
        let Delay { min, max } = self.pace.patience(peer_now.mistakes);
        let delay = Delay::between(min.saturating_add(later), max.saturating_add(later));
        fx.set_timer(Timer::Overdue(peer), delay);
    }

    /// Watches only this node.
    pub(crate) fn watch_only(&mut self, peer: Option<NodeId>, fx: &mut impl Effects<Self>) {
        for (&other, it) in self.peers.iter_mut() {
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
                peer.mistakes = (peer.mistakes + 1).min(self.pace.most_doublings());
                if let Some(quiet) = self.pace.quiet.filter(|_| peer.mistakes > 0) {
                    fx.set_timer(Timer::Quiet(from), Delay::exactly(quiet));
                }
                fx.notify(Notice::Trust(from));
            }
        }
        fx.set_timer(Timer::Overdue(from), self.pace.patience(peer.mistakes));
    }

    /// There was no mistake about this node for the quiet time: takes one doubling back.
    fn on_quiet(&mut self, of: NodeId, fx: &mut impl Effects<Self>) {
        let (Some(peer), Some(quiet)) = (self.peers.get_mut(&of), self.pace.quiet) else { return };
        peer.mistakes = peer.mistakes.saturating_sub(1);
        if peer.mistakes > 0 {
            fx.set_timer(Timer::Quiet(of), Delay::exactly(quiet));
        } else if peer.belief == Belief::Unwatched {
            self.peers.remove(&of);
        }
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
            Timer::Quiet(of) => self.on_quiet(of, fx),
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
    takes: &[
        Parameter::Beat,
        Parameter::Margin,
        Parameter::MarginCap,
        Parameter::MarginHalvesAfter,
        Parameter::Late,
    ],
    terms: Terms { mistakes, detects },
    theory: &[MESSAGES.costs(messages), MISTAKES.costs(most_mistakes), DETECTION.costs(detection)],
    flaws: FLAWS,
    page: page!("heartbeat.rs"),
};

/// As many doublings as it takes until the margin is no less than the spread, and one more for each
/// that is taken back. The first heartbeat is waited for since the node itself began, and may take
/// as long as a message can.
fn mistakes(
    setup: &Setup,
    Jitter { longest, spread }: Jitter,
    lasts: Option<Duration>,
) -> Option<u32> {
    let pace = Pace::of(setup);
    let needed = spread.max(longest.saturating_sub(setup.beat));
    let enough = (0..=pace.most_doublings()).find(|&it| pace.margin(it) >= needed)?;
    match (pace.quiet, lasts) {
        (None, _) => Some(enough),
        (Some(_), _) if enough == 0 => Some(0),
        (Some(quiet), Some(lasts)) => {
            let taken_back = lasts.as_nanos() / quiet.as_nanos();
            Some(enough.saturating_add(u32::try_from(taken_back).unwrap_or(u32::MAX)))
        }
        (Some(_), None) => None,
    }
}

/// The last heartbeat is sent just before the crash, and arrives.
fn detects(setup: &Setup, longest: Duration, mistakes: Option<u32>) -> Duration {
    Pace::of(setup).patience(mistakes.unwrap_or(u32::MAX)).max.saturating_add(longest)
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
    match at.jitter.map(|jitter| mistakes(&at.setup, jitter, Some(at.lasts))) {
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
        assert_eq!(hear(&mut node, 1), ["Quiet(1) in 60s", "node 1 is up", "Overdue(1) in 6ms"]);
        assert_eq!(hear(&mut node, 1), ["Overdue(1) in 6ms"]);
        for _ in 0..30 {
            overdue(&mut node, 1);
            hear(&mut node, 1);
        }
        assert_eq!(hear(&mut node, 1), ["Overdue(1) in 10ms"], "and no later than this");
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
            let day = Duration::from_secs(30);
            mistakes(&setup(2), Jitter { longest: us(longest), spread: us(spread) }, Some(day))
        };
        assert_eq!(most(1000, 0), Some(0));
        assert_eq!(most(1000, 500), Some(0), "as late as it may be");
        assert_eq!(
            (most(1000, 501), most(2000, 1001), most(4000, 4000)),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!(most(6000, 0), Some(1), "the first heartbeat takes longer than a period");
        assert_eq!(most(5_001, 5_001), None, "longer than it is ever patient");
    }

    /// Without decay mistakes end; with it each quiet time may bring one more.
    #[test]
    fn what_is_taken_back_may_have_to_be_learned_again() {
        let jitter = Jitter { longest: Duration::from_millis(1), spread: Duration::from_millis(1) };
        let most = |given: &str, lasts| {
            let mut setup = setup(2);
            setup.set(Parameter::MarginHalvesAfter, given).unwrap();
            mistakes(&setup, jitter, lasts)
        };
        let hour = Some(Duration::from_secs(3600));
        assert_eq!((most("never", None), most("never", hour)), (Some(1), Some(1)));
        assert_eq!((most("60s", None), most("60s", hour)), (None, Some(61)));
    }

    #[test]
    fn a_margin_is_doubled_up_to_a_cap_and_halved_after_quiet_times() {
        let mut node = Heartbeat::of(NodeId(0), &setup(2));
        came(&mut node, Heartbeat::on_start);
        let mut patience = Vec::new();
        for _ in 0..6 {
            overdue(&mut node, 1);
            let heard = hear(&mut node, 1);
            assert_eq!(heard[..2], ["Quiet(1) in 60s", "node 1 is up"]);
            patience.push(heard[2].clone());
        }
        let in_ms = ["6", "7", "9", "10", "10", "10"].map(|it| format!("Overdue(1) in {it}ms"));
        assert_eq!(patience, in_ms, "5 ms, and a margin of at most ten times 0.5 ms");
        let quiet = |node: &mut Heartbeat| {
            let again = came(node, |node, fx| node.on_timer(Timer::Quiet(NodeId(1)), fx));
            (again, hear(node, 1))
        };
        let again = || [String::from("Quiet(1) in 60s")].to_vec();
        for (waits, in_ms) in [(again(), "9"), (again(), "7"), (again(), "6"), (Vec::new(), "5.5")]
        {
            assert_eq!(quiet(&mut node), (waits, [format!("Overdue(1) in {in_ms}ms")].to_vec()));
        }
        assert_eq!(node.peers[&NodeId(1)].mistakes, 0);
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
