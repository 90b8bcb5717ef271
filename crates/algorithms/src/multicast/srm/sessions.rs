//! How far everyone has come: what shows a lost tail, what need not be kept, and how far away
//! others are.

use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{Delay, Effects, NodeId};

use super::message::{Message, News, Timer};
use super::recovery::MOST_DOUBLINGS;
use super::stream::Stream;
use crate::multicast::body::{Id, Shared};
use crate::multicast::incarnation::CLOSED;
use crate::multicast::ordered::{self, Ordered};
use crate::multicast::srm::Srm;

// How much a session message says at most, so that it fits into a datagram.
const STREAMS: usize = 30;
const SEEKS: usize = 40;
const ECHOES: usize = 25;

/// How long an answer takes, in times of a message to the farthest member: there and back, and as
/// long as the other waits before it speaks, from which another may be twice as far away.
const TO_ANSWER: u32 = 4;

/// One of the parts of a list.
fn of_part<T: Copy>(list: &[T], part: usize, most: usize) -> Shared<T> {
    list.chunks(most).nth(part).unwrap_or_default().iter().copied().collect()
}

/// When to say how far this member has come.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::multicast) struct Sessions {
    pub(in crate::multicast) is_armed: bool,
    /// It is to be said although others say something.
    pub(in crate::multicast) is_due: bool,
    /// A message has come since the last report, or a member waits for one.
    pub(in crate::multicast) has_news: bool,
    /// How many messages have come since, up to as many as make a difference.
    pub(in crate::multicast) heard: u64,
    /// Whether something has come since the timer was set.
    pub(in crate::multicast) is_busy: bool,
    /// Whether those who were sought still have time to answer, where that matters.
    pub(in crate::multicast) is_waiting: bool,
    /// How often it was said in a row with nothing else to say.
    pub(in crate::multicast) quiet: u8,
}

impl Srm {
    /// Whether it has something to say, or something to wait for.
    pub(in crate::multicast) fn is_restless(&self) -> bool {
        self.sessions.has_news || self.laggards > 0
    }

    /// The members that have not acknowledged all messages of this one.
    pub(in crate::multicast) fn seeks(&self) -> impl Iterator<Item = NodeId> + '_ {
        let next = self.streams.get(&self.me).map_or(0, |own| own.inbox.next);
        let waited = self.group.others(self.me).filter(|&id| !self.silence.is_removed(id));
        waited.filter(move |id| self.known[id.index()] < next)
    }

    /// Between two sessions: the longer the more members there are, so that all of them together
    /// say no more than one thing in the time of a message.
    pub(in crate::multicast) fn period(&self) -> Duration {
        let members = self.group.size().clamp(4, 1 << 20);
        self.longest.saturating_mul(members << self.sessions.quiet)
    }

    /// Sees to it that it says how far it has come, if there is anything to say, and that time is
    /// counted, if it must be.
    pub(in crate::multicast) fn wake(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        if !self.sessions.is_armed && self.is_restless() {
            self.sessions.is_armed = true;
            if self.laggards == 0 {
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
    pub(in crate::multicast) fn start_clock(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        if self.map.clock().is_none() {
            self.map.start();
            Self::set(Timer::Tick, self.map.tick(), fx);
        }
    }

    /// Whether time is to be counted. Where sessions are said again and again and nothing comes of
    /// it, there is nothing to measure, and ticks would be nearly all that happens.
    pub(in crate::multicast) fn counts_time(&self) -> bool {
        const QUIET: u8 = 3;
        let misses = || self.streams.values().any(|it| !it.missing.is_empty());
        let repairs = || self.streams.values().any(|it| !it.repairs.is_empty());
        let may_measure = self.sessions.is_armed && self.sessions.quiet < QUIET;
        (self.map.is_measuring() && may_measure)
            || (self.pace.is_adaptive && (misses() || repairs()))
    }

    /// It is time to say how far it has come, unless others are still at it.
    pub(in crate::multicast) fn on_session_time(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        let was_busy = core::mem::take(&mut self.sessions.is_busy);
        self.sessions.is_armed = false;
        let speaks = core::mem::take(&mut self.sessions.is_due) || !was_busy;
        let is_try =
            speaks && self.laggards > 0 && self.silence.is_counted() && !self.sessions.is_waiting;
        if is_try {
            let waited: Vec<NodeId> = self.seeks().collect();
            if self.silence.try_again(waited.into_iter()) {
                self.laggards = self.seeks().count() as u32;
                self.settle();
            }
        }
        if speaks && self.is_restless() {
            self.speak(fx);
            self.sessions.quiet = (self.sessions.quiet + 1).min(MOST_DOUBLINGS);
            if is_try && self.laggards > 0 {
                self.sessions.is_waiting = true;
                Self::set(Timer::Answer, self.longest.saturating_mul(TO_ANSWER), fx);
            }
        }
        self.wake(fx);
    }

    /// A tick, as long as the clock is needed.
    pub(in crate::multicast) fn on_tick(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        self.map.advance();
        if self.counts_time() {
            Self::set(Timer::Tick, self.map.tick(), fx);
        } else {
            self.map.stop();
        }
    }

    /// Says how far it has come before long, though others say something: a window may wait for it.
    pub(in crate::multicast) fn speak_soon(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        if !self.sessions.is_due {
            self.sessions.is_due = true;
            self.sessions.is_armed = true;
            let delay = Delay::between(Duration::ZERO, self.longest);
            fx.set_timer(ordered::Timer::Carrier(Timer::Session), delay);
        }
    }

    pub(in crate::multicast) fn speak(&mut self, fx: &mut impl Effects<Ordered<Self>>) {
        let heard = self.streams.iter_mut().filter(|(_, stream)| stream.inbox.next != CLOSED);
        let streams = heard.map(|(&from, stream)| {
            stream.told = stream.inbox.next;
            (from, stream.inbox.next, stream.below)
        });
        let streams: Vec<(NodeId, u64, u64)> = streams.collect();
        let seeks: Vec<NodeId> = self.seeks().collect();
        let echoes = self.map.echoes();
        let stable = self.streams.get(&self.me).map_or(0, |own| own.first);
        let stamp = self.map.clock().filter(|_| self.map.is_measuring());
        let parts = (streams.len().div_ceil(STREAMS))
            .max(seeks.len().div_ceil(SEEKS))
            .max(echoes.len().div_ceil(ECHOES));
        for part in 0..parts.max(1) {
            let news = News {
                streams: of_part(&streams, part, STREAMS),
                stable,
                seeks: of_part(&seeks, part, SEEKS),
                stamp,
                echoes: of_part(&echoes, part, ECHOES),
            };
            self.say(Message::Session(news), fx);
        }
        self.sessions.has_news = false;
        self.sessions.is_due = false;
        self.sessions.heard = 0;
    }

    pub(in crate::multicast) fn on_session(
        &mut self,
        from: NodeId,
        news: &News,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
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
            // Or it would be taken for crashed.
            if self.silence.is_counted() {
                self.speak_soon(fx);
            }
        }
        self.wake(fx);
    }

    /// A member has all of this one's messages below a number.
    pub(in crate::multicast) fn arrived(&mut self, at: NodeId, below: u64) {
        let own = self.streams.get_or_default(self.me);
        let is_removed = self.silence.is_removed(at);
        let known = &mut self.known[at.index()];
        if is_removed || below <= *known || below > own.inbox.next {
            return;
        }
        let was_last = *known == own.first;
        *known = below;
        self.laggards -= u32::from(below == own.inbox.next);
        if was_last {
            self.settle();
        }
    }

    /// Drops what all have that are waited for.
    pub(in crate::multicast) fn settle(&mut self) {
        let next = self.streams.get(&self.me).map_or(0, |own| own.inbox.next);
        let waited = self.group.others(self.me).filter(|&id| !self.silence.is_removed(id));
        let all = waited.map(|id| self.known[id.index()]).min().unwrap_or(next);
        self.forget(self.me, all);
    }

    /// Drops everything, and begins with this number; nobody is waited for or heard.
    pub(in crate::multicast) fn begin_anew(
        &mut self,
        first: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        for of in self.streams.keys().copied().collect::<Vec<_>>() {
            self.drop_stream(of, fx);
        }
        if self.sessions.is_armed {
            Self::cancel(Timer::Session, fx);
        }
        if self.sessions.is_waiting {
            Self::cancel(Timer::Answer, fx);
        }
        if self.map.clock().is_some() {
            Self::cancel(Timer::Tick, fx);
            self.map.stop();
        }
        self.sessions = Sessions::default();
        let others = self.group.others(self.me);
        self.streams = others.map(|id| (id, Stream::from(CLOSED))).collect();
        self.streams.insert(self.me, Stream::from(first));
        self.known.fill(first);
        self.laggards = 0;
        self.silence.remove(self.group.others(self.me));
    }

    /// Drops what is here of a member's messages.
    pub(in crate::multicast) fn drop_stream(
        &mut self,
        of: NodeId,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let Some(stream) = self.streams.remove(&of) else { return };
        self.kept -= (stream.kept.len() + stream.inbox.early.len()) as u32;
        let id = |number: &u64| Id { from: of, number: *number };
        for (number, missing) in &stream.missing {
            Self::cancel(Timer::Request(id(number)), fx);
            if missing.is_ignoring {
                Self::cancel(Timer::Ignore(id(number)), fx);
            }
        }
        for number in stream.repairs.keys() {
            Self::cancel(Timer::Repair(id(number)), fx);
        }
        for number in stream.held.keys() {
            Self::cancel(Timer::Hold(id(number)), fx);
        }
    }

    /// A message that all members have need not be kept.
    pub(in crate::multicast) fn forget(&mut self, from: NodeId, stable: u64) {
        let stream = self.streams.get_or_default(from);
        while stream.first < stable && stream.kept.pop_front().is_some() {
            stream.first += 1;
            self.kept -= 1;
        }
    }
}
