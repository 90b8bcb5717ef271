//! Scalable reliable multicast: anybody asks, anybody answers, and everyone hears it.
//!
//! Floyd, Jacobson, Liu, McCanne and Zhang, "A reliable multicast framework for light-weight
//! sessions and application level framing", IEEE/ACM Transactions on Networking 5(6), 1997. Whoever
//! misses something waits for a while, the longer the farther away its sender is, and then asks
//! *all*. Whoever hears that and misses it too need not ask; whoever has it waits for a while, too,
//! and then repairs it for all, unless another was quicker. So a loss that many suffer is asked for
//! and repaired about once.
//!
//! ```text
//!   S  ──DATA(1)──────x──DATA(2)──┬─────────────────▲─────────┬─REPAIR(S/1)─┬──►
//!                  lost to both   │                 │         │             │
//!   A  ───────────────────────────▼──(2 d)──REQUEST─┼─────────┼─────────────▼──►   one asks,
//!                                 │           (S/1) │                       │
//!   B  ───────────────────────────▼─────────────────▼─(backs off)───────────▼──►   both get it
//! ```
//!
//! | per loss | cost |
//! | --- | --- |
//! | messages | about one request and one repair, each to N−1 members |
//! | latency | a request waits for C1 d to (C1+C2) d, a repair for D1 d to (D1+D2) d |
//! | kept | by everyone: what is not known to be everywhere, a window of each sender at most |
//!
//! **Request.** A member that misses something of S waits for 2ⁱ · [C1 d, (C1+C2) d], where d is the
//! distance to S and i is 0 at first; then it asks, and waits again with i+1. If it hears somebody
//! else's request first it backs off: i+1, and a new draw. Until half of that has passed it *ignores*
//! further requests: they belong to the same round. i is at most 5.
//!
//! **Repair.** A member that has what another asks for waits for [D1 d, (D1+D2) d], where d is the
//! distance to the one who asked, and then sends it to all, unless it has heard a repair. Having
//! sent or heard one, it *holds* for 3 d, d being the distance to the sender of what was repaired:
//! requests that come until then were made before the repair arrived.
//!
//! **Sessions.** Members say now and then how far they have come: that shows a loss of the last
//! message, tells senders what is everywhere and can be forgotten, and measures distances. One in
//! twenty messages at most is of this kind, unless a window would be full otherwise, or nobody says
//! anything else; and the more members there are the more seldom each says it.
//!
//! **Waits** (`--waits`): `fixed`, as in the paper, C1 = C2 = 2, D1 = D2 = log₁₀ N; `adaptive`, as
//! its section VII: more duplicates than one lengthen, delays of more than a round trip shorten;
//! `star` and `line`, what fits where only chance or only distance tells members apart; or numbers.
//!
//! **Assumes** nothing of order, losses and duplicates, but that a message sent again and again
//! arrives some time. What a sender that crashes has got to one other member gets to all who are
//! up; but nobody is ever given up, so a window may be full for ever.
//!
//! **Once, in order**: as [with acknowledgements](super::ack), by numbers. **Everyone gets it**:
//! whoever misses something and knows it asks until it comes. That it does know is the affair of
//! sessions: a sender says how far it has come until everybody has told it the same. What somebody
//! misses, its sender keeps, since it forgets only what all have said to have. **It comes to rest**,
//! since whoever has nothing new to say and of whom nothing is wanted is silent.
//!
//! **Departures**: sessions end when there is nothing to say, so that a run can end; the paper's go
//! on. Randomness is a [choice](vorrang_protocol::Effects::choose) among so many values (`--draws`),
//! so that a checker can try them all: two of them, the shortest and the longest, are all that it
//! needs. Numbers are per sender, where the paper has names. There is no scoped recovery.

pub mod distance;
pub mod message;
pub mod pace;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::time::Duration;

use vorrang_protocol::{Delay, Effects, Group, NodeId};

use self::distance::Map;
use self::message::News;
pub use self::message::{Message, Timer};
use self::pace::{Experience, Pace};
use super::body::{Body, Id};
use super::card::{Card, Demonstration, Flaw, LATENCY, REQUESTS, Setting, Terms};
use super::carrier::{Carrier, Up, longest};
use super::inbox::{Come, Inbox};
use super::ordered::{self, Ordered};
use crate::card::{Assumes, Span};
use crate::setup::{Parameter, Setup};

/// A back-off doubles a wait no more often than this, as in the ns-2 simulator.
const MOST_DOUBLINGS: u8 = 5;
/// Of so many messages one is a session message.
const ONE_IN: u64 = 20;

/// A member's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Srm {
    me: NodeId,
    group: Group,
    window: u32,
    draws: NonZeroU32,
    longest: Duration,
    /// What comes from each sender, this member included.
    pub(super) streams: BTreeMap<NodeId, Stream>,
    /// How far each has come with what this member has sent, as far as is known.
    known: Vec<u64>,
    map: Map,
    pace: Pace,
    sessions: Sessions,
    kept: u32,
}

/// What comes from one sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Stream {
    pub(super) inbox: Inbox,
    /// All below this number were sent.
    below: u64,
    /// What has been handed up and may be missing elsewhere, oldest first.
    kept: VecDeque<Body>,
    /// The number of the first of these.
    first: u64,
    /// What is missing here.
    pub(super) missing: BTreeMap<u64, Missing>,
    /// What others have asked for and this member is about to send.
    repairs: BTreeMap<u64, Repairing>,
    /// What has been repaired a short while ago, and what that teaches.
    held: BTreeMap<u64, Option<Experience>>,
    /// How far it had come when that was last said.
    told: u64,
}

/// Something that is missing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Missing {
    /// How often the wait has been doubled.
    pub(super) doublings: u8,
    /// Whether requests belong to the present round.
    pub(super) is_ignoring: bool,
    /// What it teaches, where anything is learnt: since when, and what came of it so far.
    lesson: Option<Lesson>,
}

/// Something that this member is about to repair.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Repairing {
    to: NodeId,
    lesson: Option<Lesson>,
}

/// What is to be learnt from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Lesson {
    since: u32,
    is_begun: bool,
    so_far: Experience,
}

/// When to say how far this member has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Sessions {
    is_armed: bool,
    /// It is to be said although others say something.
    is_due: bool,
    /// Something has come since it was last said, or somebody wants to know.
    has_news: bool,
    /// How many messages have come since, up to as many as make a difference.
    heard: u64,
    /// Whether something has come since the timer was set.
    is_busy: bool,
    /// How often it was said in a row with nothing else to say.
    quiet: u8,
}

impl Stream {
    /// What this number stands for, if it is here and not forgotten.
    fn get(&self, number: u64) -> Option<&Body> {
        let place = number.checked_sub(self.first)?;
        self.kept.get(place as usize).or_else(|| self.inbox.early.get(&number))
    }
}

impl Srm {
    fn say(&self, message: Message, fx: &mut impl Effects<Ordered<Self>>) {
        fx.broadcast(self.group.others(self.me), ordered::Message::Carried(message));
    }

    fn set(timer: Timer, after: Duration, fx: &mut impl Effects<Ordered<Self>>) {
        fx.set_timer(ordered::Timer::Carrier(timer), Delay::exactly(after));
    }

    fn cancel(timer: Timer, fx: &mut impl Effects<Ordered<Self>>) {
        fx.cancel_timer(ordered::Timer::Carrier(timer));
    }

    fn stream(&mut self, of: NodeId) -> &mut Stream {
        self.streams.entry(of).or_default()
    }

    /// Begins to learn from something, if that is wanted.
    fn lesson(&mut self, fx: &mut impl Effects<Ordered<Self>>) -> Option<Lesson> {
        if !self.pace.is_adaptive {
            return None;
        }
        self.start_clock(fx);
        let since = self.map.clock()?;
        Some(Lesson { since, is_begun: false, so_far: Experience::default() })
    }

    /// How long something took since a lesson began, in thousandths of a round trip.
    fn took(&self, lesson: &Lesson, to: NodeId) -> u32 {
        let ticks = self.map.clock().unwrap_or(lesson.since).saturating_sub(lesson.since);
        let round = (self.map.to(to) * 2).as_nanos().max(1);
        let took = self.map.tick().as_nanos() * u128::from(ticks) * 1000 / round;
        u32::try_from(took).unwrap_or(u32::MAX)
    }

    // --- what comes

    /// Takes a body, as data or as a repair.
    fn take(
        &mut self,
        of: Id,
        body: Body,
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let window = self.window;
        let Id { from, number } = of;
        let stream = self.stream(from);
        match stream.inbox.place(number, window) {
            Come::Absurd | Come::Again => return,
            Come::Early => {
                stream.inbox.early.insert(number, body);
                self.kept += 1;
            }
            Come::InTurn => {
                stream.inbox.next += 1;
                stream.kept.push_back(body.clone());
                up.push(from, body);
                // These were kept before.
                while let Some(body) = stream.inbox.ready() {
                    stream.kept.push_back(body.clone());
                    up.push(from, body);
                }
                self.kept += 1;
            }
        }
        self.found(of, fx);
        self.learn(from, number + 1, fx);
        let stream = self.stream(from);
        let is_due = stream.inbox.next - stream.told >= u64::from(window / 2).max(1);
        let often = ONE_IN * u64::from(self.group.size());
        self.sessions.heard = (self.sessions.heard + 1).min(often);
        self.sessions.is_busy = true;
        self.sessions.has_news = true;
        if is_due || self.sessions.heard == often {
            self.speak_soon(fx);
        }
        self.wake(fx);
    }

    /// Something is missing no longer.
    fn found(&mut self, of: Id, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(missing) = self.stream(of.from).missing.remove(&of.number) else { return };
        Self::cancel(Timer::Request(of), fx);
        if missing.is_ignoring {
            Self::cancel(Timer::Ignore(of), fx);
        }
        if let Some(lesson) = missing.lesson {
            self.pace.request.learn(lesson.so_far);
        }
    }

    /// All of a sender's messages below this number were sent: what is not here is missing.
    fn learn(&mut self, from: NodeId, below: u64, fx: &mut impl Effects<Ordered<Self>>) {
        let window = u64::from(self.window);
        let stream = self.stream(from);
        if below <= stream.below || below > stream.inbox.next.saturating_add(window) {
            return;
        }
        let known = core::mem::replace(&mut stream.below, below);
        let new: Vec<u64> = stream.inbox.missing(below).filter(|&it| it >= known).collect();
        for number in new {
            self.miss(Id { from, number }, 0, fx);
        }
    }

    /// Something is missing, and was not known to be.
    fn miss(&mut self, of: Id, doublings: u8, fx: &mut impl Effects<Ordered<Self>>) {
        let lesson = self.lesson(fx);
        let missing = Missing { doublings, is_ignoring: false, lesson };
        self.stream(of.from).missing.insert(of.number, missing);
        self.wait(of, fx);
    }

    /// Waits before asking for something; how long.
    fn wait(&mut self, of: Id, fx: &mut impl Effects<Ordered<Self>>) -> Duration {
        let doublings = self.stream(of.from).missing.get(&of.number).map_or(0, |it| it.doublings);
        let drawn = (fx.choose(self.draws), self.draws.get());
        let after = self.pace.request.factors.wait(self.map.to(of.from), doublings, drawn);
        Self::set(Timer::Request(of), after, fx);
        after
    }

    /// Somebody has asked for something that is missing here: backs off, once a round.
    pub(super) fn back_off(&mut self, of: Id, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(missing) = self.stream(of.from).missing.get_mut(&of.number) else { return };
        missing.doublings = (missing.doublings + 1).min(MOST_DOUBLINGS);
        missing.is_ignoring = true;
        let after = self.wait(of, fx);
        Self::set(Timer::Ignore(of), after / 2, fx);
    }

    /// Something was asked for, by this member or by another that is so far away from its sender.
    fn asked(&mut self, of: Id, by: Option<u64>) {
        let mine = self.map.to(of.from).as_nanos() as u64;
        let Some(mut lesson) = self.stream(of.from).missing.get(&of.number).and_then(|it| it.lesson)
        else {
            return;
        };
        if lesson.is_begun {
            lesson.so_far.duplicates += 1;
            lesson.so_far.is_closest &= by.is_some_and(|theirs| mine < theirs);
        } else {
            lesson.is_begun = true;
            lesson.so_far.delay = self.took(&lesson, of.from);
            lesson.so_far.is_closest = by.is_none();
        }
        lesson.so_far.sent |= by.is_none();
        if let Some(missing) = self.stream(of.from).missing.get_mut(&of.number) {
            missing.lesson = Some(lesson);
        }
    }

    fn on_request(
        &mut self,
        by: NodeId,
        of: Id,
        distance_ns: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let me = self.me;
        let stream = self.stream(of.from);
        if stream.inbox.has(of.number) {
            return self.consider(by, of, fx);
        }
        if of.from == me {
            // Nobody has sent that.
            return;
        }
        if of.number < stream.below {
            let is_ignoring = stream.missing.get(&of.number).is_some_and(|it| it.is_ignoring);
            self.asked(of, Some(distance_ns));
            if !is_ignoring {
                self.back_off(of, fx);
            }
            return;
        }
        // News of something that was sent: no need to ask for it oneself, for now.
        self.learn(of.from, of.number, fx);
        let stream = self.stream(of.from);
        if of.number < stream.inbox.next.saturating_add(u64::from(self.window)) {
            self.stream(of.from).below = of.number + 1;
            self.miss(of, 0, fx);
            self.asked(of, Some(distance_ns));
            self.back_off(of, fx);
        }
    }

    /// Somebody asks for what is here.
    fn consider(&mut self, by: NodeId, of: Id, fx: &mut impl Effects<Ordered<Self>>) {
        let stream = self.stream(of.from);
        if stream.held.contains_key(&of.number)
            || stream.repairs.contains_key(&of.number)
            || stream.get(of.number).is_none()
        {
            return;
        }
        let lesson = self.lesson(fx);
        self.stream(of.from).repairs.insert(of.number, Repairing { to: by, lesson });
        let drawn = (fx.choose(self.draws), self.draws.get());
        let after = self.pace.repair.factors.wait(self.map.to(by), 0, drawn);
        Self::set(Timer::Repair(of), after, fx);
    }

    /// Something was repaired, by this member or by another.
    fn repaired(&mut self, by: Option<NodeId>, of: Id, fx: &mut impl Effects<Ordered<Self>>) {
        let stream = self.stream(of.from);
        if let Some(held) = stream.held.get_mut(&of.number) {
            if let Some(came) = held {
                came.duplicates += 1;
            }
            return;
        }
        let repairing = stream.repairs.remove(&of.number);
        if repairing.is_some() && by.is_some() {
            Self::cancel(Timer::Repair(of), fx);
        }
        let asked = repairing.as_ref().map(|it| it.to).or(by);
        let came = repairing.and_then(|it| it.lesson.map(|lesson| (it.to, lesson)));
        let came = came.map(|(to, lesson)| {
            let (sent, delay) = (by.is_none(), self.took(&lesson, to));
            Experience { duplicates: 0, delay, sent, is_closest: sent }
        });
        self.stream(of.from).held.insert(of.number, came);
        // Nobody is any distance from itself.
        let from = if of.from == self.me { asked.unwrap_or(of.from) } else { of.from };
        Self::set(Timer::Hold(of), self.map.to(from).saturating_mul(3), fx);
    }

    // --- how far everyone has come

    /// Whether it has something to say, or something to wait for.
    fn is_restless(&self) -> bool {
        self.sessions.has_news || self.seeks().next().is_some()
    }

    /// Of whom this member does not know that they have all it has sent.
    fn seeks(&self) -> impl Iterator<Item = NodeId> + '_ {
        let next = self.streams.get(&self.me).map_or(0, |own| own.inbox.next);
        self.group.others(self.me).filter(move |id| self.known[id.index()] < next)
    }

    /// Between two sessions: the longer the more members there are, so that all of them together
    /// say no more than one thing in the time of a message.
    fn period(&self) -> Duration {
        let members = self.group.size().min(1 << 20).max(4);
        self.longest.saturating_mul(members << self.sessions.quiet)
    }

    /// Sees to it that it says how far it has come, if there is anything to say, and that time is
    /// counted, if it must be.
    fn wake(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        if !self.sessions.is_armed && self.is_restless() {
            self.sessions.is_armed = true;
            if self.seeks().next().is_none() {
                self.sessions.quiet = 0;
            }
            let period = self.period();
            let delay = Delay::between(period / 2, period + period / 2);
            fx.set_timer(ordered::Timer::Carrier(Timer::Session), delay);
        }
        if self.counts_time() {
            self.start_clock(fx);
        }
    }

    /// Counts time from now on, if it did not.
    fn start_clock(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        if self.map.clock().is_none() {
            self.map.start();
            Self::set(Timer::Tick, self.map.tick(), fx);
        }
    }

    fn counts_time(&self) -> bool {
        let misses = || self.streams.values().any(|it| !it.missing.is_empty());
        let repairs = || self.streams.values().any(|it| !it.repairs.is_empty());
        (self.map.is_measuring() && self.sessions.is_armed)
            || (self.pace.is_adaptive && (misses() || repairs()))
    }

    /// Says how far it has come before long, though others say something: a window may wait for it.
    fn speak_soon(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        if !self.sessions.is_due {
            self.sessions.is_due = true;
            self.sessions.is_armed = true;
            let delay = Delay::between(Duration::ZERO, self.longest);
            fx.set_timer(ordered::Timer::Carrier(Timer::Session), delay);
        }
    }

    fn speak(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        let streams = self.streams.iter_mut().map(|(&from, stream)| {
            stream.told = stream.inbox.next;
            (from, stream.inbox.next, stream.below)
        });
        let streams = streams.collect();
        let stable = self.streams.get(&self.me).map_or(0, |own| own.first);
        let stamp = self.map.clock().filter(|_| self.map.is_measuring());
        let seeks = self.seeks().collect();
        let news = News { streams, stable, seeks, stamp, echoes: self.map.echoes() };
        self.say(Message::Session(news), fx);
        self.sessions.has_news = false;
        self.sessions.is_due = false;
        self.sessions.heard = 0;
    }

    fn on_session(&mut self, from: NodeId, news: &News, fx: &mut impl Effects<Ordered<Self>>) {
        let echo = news.echoes.0.iter().find(|it| it.0 == self.me).map(|it| (it.1, it.2));
        self.map.hear(from, news.stamp, echo);
        for &(source, next, below) in news.streams.0.iter() {
            if !self.group.contains(source) {
                continue;
            }
            if source == self.me {
                self.arrived(from, next);
            } else {
                self.learn(source, below, fx);
            }
        }
        self.forget(from, news.stable);
        if news.seeks.0.contains(&self.me) {
            self.sessions.has_news = true;
        }
        self.wake(fx);
    }

    /// A member has all of this one's messages below a number.
    fn arrived(&mut self, at: NodeId, below: u64) {
        let own = self.streams.entry(self.me).or_default();
        let known = &mut self.known[at.index()];
        if below <= *known || below > own.inbox.next {
            return;
        }
        let was_last = *known == own.first;
        *known = below;
        if was_last {
            let others = self.group.others(self.me);
            let all = others.map(|id| self.known[id.index()]).min().unwrap_or(below);
            self.forget(self.me, all);
        }
    }

    /// What is everywhere need not be kept.
    fn forget(&mut self, from: NodeId, stable: u64) {
        let stream = self.streams.entry(from).or_default();
        while stream.first < stable && stream.kept.pop_front().is_some() {
            stream.first += 1;
            self.kept -= 1;
        }
    }
}

impl Carrier for Srm {
    type Message = Message;
    type Timer = Timer;

    fn of(me: NodeId, setup: &Setup) -> Self {
        Self {
            me,
            group: setup.group,
            window: setup.window,
            draws: setup.draws,
            longest: longest(me, setup),
            streams: BTreeMap::new(),
            known: vec![0; setup.group.size() as usize],
            map: Map::of(me, setup),
            pace: Pace::of(setup.waits, setup.group.size()),
            sessions: Sessions::default(),
            kept: 0,
        }
    }

    fn cast(&mut self, body: Body, fx: &mut impl Effects<Ordered<Self>>) {
        if self.group.size() == 1 {
            return;
        }
        let own = self.streams.entry(self.me).or_default();
        let (number, stable) = (own.inbox.next, own.first);
        own.inbox.next += 1;
        own.below = own.inbox.next;
        own.told = own.inbox.next;
        own.kept.push_back(body.clone());
        self.kept += 1;
        self.say(Message::Data { number, stable, body }, fx);
        self.sessions.quiet = 0;
        self.sessions.is_busy = true;
        self.wake(fx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: Message,
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        match message {
            Message::Data { number, stable, body } => {
                self.take(Id { from, number }, body, up, fx);
                self.forget(from, stable);
            }
            Message::Request { of, distance_ns } => {
                if self.group.contains(of.from) {
                    self.on_request(from, of, distance_ns, fx);
                }
            }
            Message::Repair { of, body } => {
                if self.group.contains(of.from) {
                    self.repaired(Some(from), of, fx);
                    self.take(of, body, up, fx);
                }
            }
            Message::Session(news) => self.on_session(from, &news, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Ordered<Self>>) {
        match timer {
            Timer::Request(of) => {
                let distance_ns = self.map.to(of.from).as_nanos() as u64;
                self.say(Message::Request { of, distance_ns }, fx);
                self.asked(of, None);
                self.back_off(of, fx);
            }
            Timer::Ignore(of) => {
                if let Some(missing) = self.stream(of.from).missing.get_mut(&of.number) {
                    missing.is_ignoring = false;
                }
            }
            Timer::Repair(of) => {
                if let Some(body) = self.stream(of.from).get(of.number).cloned() {
                    self.say(Message::Repair { of, body }, fx);
                }
                self.repaired(None, of, fx);
            }
            Timer::Hold(of) => {
                if let Some(Some(came)) = self.stream(of.from).held.remove(&of.number) {
                    self.pace.repair.learn(came);
                }
            }
            Timer::Session => {
                let was_busy = core::mem::take(&mut self.sessions.is_busy);
                self.sessions.is_armed = false;
                if (self.sessions.is_due || !was_busy) && self.is_restless() {
                    self.speak(fx);
                    self.sessions.quiet = (self.sessions.quiet + 1).min(MOST_DOUBLINGS);
                }
                self.wake(fx);
            }
            Timer::Tick => {
                self.map.advance();
                if self.counts_time() {
                    Self::set(Timer::Tick, self.map.tick(), fx);
                } else {
                    self.map.stop();
                }
            }
        }
    }

    fn has_room(&self) -> bool {
        let own = self.streams.get(&self.me).map_or(0, |own| own.kept.len());
        own < self.window as usize
    }

    fn owes(&self) -> bool {
        self.seeks().next().is_some()
    }

    fn holds(&self) -> usize {
        self.kept as usize
    }
}

/// What the algorithm says of itself.
pub const CARD: Card = Card {
    name: "srm",
    title: "Scalable reliable multicast",
    solves: "reliable multicast",
    citation: "Floyd, Jacobson, Liu, McCanne and Zhang, IEEE/ACM ToN 5(6), 1997",
    assumes: Assumes { reliable: false, ..Assumes::ANY_ORDER },
    takes: &[
        Parameter::Topology,
        Parameter::Within,
        Parameter::Window,
        Parameter::Ordering,
        Parameter::Waits,
        Parameter::Distances,
        Parameter::Draws,
    ],
    terms: Terms { data: &["DATA", "REPAIR"], checked: &[1, 0] },
    theory: &[LATENCY.costs(Setting::latency), REQUESTS.costs(requests)],
    flaws: FLAWS,
    source: include_str!("mod.rs"),
};

/// Somebody asks for every loss.
fn requests(_: &Setting) -> Span {
    Span::between(1.0, f64::INFINITY)
}

/// What people get wrong; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-sessions",
        what: "nobody says how far it has come: if the last message is lost there is no gap to \
               show it, and it is lost for ever",
        breaks: "validity",
        shown_by: Demonstration::of(&[1, 0]).losing(1),
    },
    Flaw {
        name: "no-duplicate-filter",
        what: "what comes again is delivered again: two repairs of one loss are two messages",
        breaks: "integrity",
        shown_by: Demonstration::of(&[1, 0]).doubling(1),
    },
    Flaw {
        name: "no-ignore-interval",
        what: "every request for what is missing doubles the wait, also those of one round: where \
               two ask at once, both wait four times as long for a repair that may be lost",
        breaks: "one back-off a round",
        shown_by: Demonstration::of(&[1, 0, 0]).losing(2),
    },
];

#[cfg(test)]
mod tests {
    use super::super::ordered::testing::{came, hear, member, run_out, say};
    use super::*;

    const LINE: &[(Parameter, &str)] = &[
        (Parameter::Topology, "line"),
        (Parameter::Waits, "2,0,1,0"),
        (Parameter::Distances, "known"),
    ];

    fn data(number: u64) -> Message {
        Message::Data { number, stable: 0, body: Body::Plain("".into()) }
    }

    fn lost() -> Id {
        Id { from: NodeId(0), number: 5 }
    }

    /// A member that has all but number 5.
    fn misses(me: u32) -> (Ordered<Srm>, Vec<alloc::string::String>) {
        let mut node = member::<Srm>(me, 3, LINE);
        for number in 0..5 {
            hear(&mut node, 0, data(number));
        }
        let noticed = hear(&mut node, 0, data(6));
        (node, noticed)
    }

    /// The chain S–A–B of the specification, which are 0, 1 and 2.
    #[test]
    fn on_a_line_the_nearest_asks_and_the_others_back_off() {
        let (mut a, noticed) = misses(1);
        assert_eq!(noticed, ["Request(0/5) in 2ms"]);
        let (mut b, noticed) = misses(2);
        assert_eq!(noticed, ["Request(0/5) in 4ms"]);

        let asked = run_out(&mut a, Timer::Request(lost()));
        let request = ["0 REQUEST(0/5)", "2 REQUEST(0/5)"];
        assert_eq!(asked[..2], request);
        assert_eq!(asked[2..], ["Request(0/5) in 4ms", "Ignore(0/5) in 2ms"]);
        let request = Message::Request { of: lost(), distance_ns: 1_000_000 };
        let backs_off = ["Request(0/5) in 8ms", "Ignore(0/5) in 4ms"];
        assert_eq!(hear(&mut b, 1, request.clone()), backs_off);
        assert_eq!(hear(&mut b, 1, request.clone()), [""; 0], "the same round");

        let mut s = member::<Srm>(0, 3, LINE);
        for _ in 0..7 {
            say(&mut s, "");
        }
        assert_eq!(hear(&mut s, 1, request.clone()), ["Repair(0/5) in 1ms"]);
        assert_eq!(hear(&mut s, 2, request.clone()), [""; 0], "it will");
        let repairs = run_out(&mut s, Timer::Repair(lost()));
        assert_eq!(repairs, ["1 REPAIR(0/5)", "2 REPAIR(0/5)", "Hold(0/5) in 3ms"]);
        assert_eq!(hear(&mut s, 2, request.clone()), [""; 0], "it just has");
        assert_eq!(run_out(&mut s, Timer::Hold(lost())), [""; 0]);
        assert_eq!(hear(&mut s, 2, request), ["Repair(0/5) in 2ms"], "long ago");

        let repair = Message::Repair { of: lost(), body: Body::Plain("".into()) };
        for (node, hold) in [(&mut a, "Hold(0/5) in 3ms"), (&mut b, "Hold(0/5) in 6ms")] {
            let found = hear(node, 0, repair.clone());
            let done = [hold, "no Request(0/5)", "no Ignore(0/5)", "delivers 0/5", "delivers 0/6"];
            assert_eq!(found, done);
            assert!(node.carrier.streams[&NodeId(0)].missing.is_empty());
        }
    }

    #[test]
    fn whoever_hears_of_another_repair_need_not_do_it() {
        let mut b = member::<Srm>(2, 3, LINE);
        for number in 0..6 {
            hear(&mut b, 0, data(number));
        }
        let request = Message::Request { of: lost(), distance_ns: 0 };
        assert_eq!(hear(&mut b, 1, request), ["Repair(0/5) in 1ms"]);
        let repair = Message::Repair { of: lost(), body: Body::Plain("".into()) };
        assert_eq!(hear(&mut b, 0, repair), ["no Repair(0/5)", "Hold(0/5) in 6ms"]);
    }

    #[test]
    fn a_request_for_what_was_not_known_to_be_sent_is_news() {
        let mut b = member::<Srm>(2, 3, LINE);
        let request = Message::Request { of: Id { number: 1, ..lost() }, distance_ns: 0 };
        let heard = hear(&mut b, 1, request);
        assert!(heard.contains(&"Request(0/0) in 4ms".into()), "{heard:?}");
        assert!(heard.contains(&"Request(0/1) in 8ms".into()), "{heard:?}");
        let absurd = Message::Request { of: Id { number: 900, ..lost() }, distance_ns: 0 };
        assert_eq!(hear(&mut b, 1, absurd), [""; 0]);
        let mine = Message::Request { of: Id { from: NodeId(2), number: 0 }, distance_ns: 0 };
        assert_eq!(hear(&mut b, 1, mine), [""; 0], "nobody has sent that");
    }

    #[test]
    fn sessions_end_when_everyone_has_told_that_it_has_everything() {
        let known = &[(Parameter::Distances, "known")];
        let mut s = member::<Srm>(0, 2, known);
        let said = say(&mut s, "");
        assert_eq!(said, ["1 DATA(0)", "Session in 2ms to 6ms", "delivers 0/0"]);
        assert_eq!(run_out(&mut s, Timer::Session), ["Session in 2ms to 6ms"], "busy until now");
        let told = run_out(&mut s, Timer::Session);
        assert_eq!(told, ["1 SESSION(0:1)", "Session in 4ms to 12ms"]);
        let mut r = member::<Srm>(1, 2, known);
        hear(&mut r, 0, data(0));
        run_out(&mut r, Timer::Session);
        assert_eq!(run_out(&mut r, Timer::Session), ["0 SESSION(0:1)"], "and no more");
        let news = News {
            streams: [(NodeId(0), 1, 1)].into_iter().collect(),
            stable: 0,
            seeks: [].into_iter().collect(),
            stamp: None,
            echoes: [].into_iter().collect(),
        };
        assert!(s.carrier.owes());
        hear(&mut s, 1, Message::Session(news));
        assert!(!s.carrier.owes() && s.carrier.holds() == 0);
        assert_eq!(run_out(&mut s, Timer::Session), [""; 0]);
    }

    #[test]
    fn a_session_shows_a_lost_tail() {
        let mut r = member::<Srm>(1, 2, &[(Parameter::Distances, "known"), (Parameter::Waits, "line")]);
        let news = News {
            streams: [(NodeId(0), 1, 1)].into_iter().collect(),
            stable: 0,
            seeks: [NodeId(1)].into_iter().collect(),
            stamp: None,
            echoes: [].into_iter().collect(),
        };
        let heard = hear(&mut r, 0, Message::Session(news));
        assert_eq!(heard, ["Request(0/0) in 2ms", "Session in 2ms to 6ms"]);
    }

    #[test]
    fn distances_are_measured_by_ticks_that_end() {
        let mut node = member::<Srm>(0, 2, &[]);
        let said = say(&mut node, "");
        assert_eq!(said[1..3], ["Session in 2ms to 6ms", "Tick in 125µs"]);
        assert_eq!(came(&mut node, |node, fx| node.carrier.on_timer(Timer::Tick, fx)), ["Tick in 125µs"]);
        node.carrier.sessions.is_armed = false;
        assert_eq!(run_out(&mut node, Timer::Tick), [""; 0]);
        assert_eq!(node.carrier.map.clock(), None);
    }
}
