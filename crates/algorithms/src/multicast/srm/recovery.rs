//! Requests and repairs: each about once for all members.

use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{Effects, NodeId};

use super::message::Timer;
use super::pace::Experience;
use super::stream::{Held, Lesson, Missing, Repairing};
use crate::multicast::Ordered;
use crate::multicast::body::{Body, Id};
use crate::multicast::inbox::Arrival;
use crate::multicast::ordered::carrier::Up;
use crate::multicast::srm::Srm;

/// A back-off doubles a wait no more often than this, as in the ns-2 simulator.
pub(super) const MOST_DOUBLINGS: u8 = 5;
/// One in so many messages is a session message.
const ONE_IN: u64 = 20;

impl Srm {
    /// Begins to learn from something, if that is wanted.
    pub(in crate::multicast) fn lesson(
        &mut self,
        fx: &mut impl Effects<Ordered<Self>>,
    ) -> Option<Lesson> {
        if !self.pace.is_adaptive {
            return None;
        }
        self.start_clock(fx);
        let since = self.map.clock()?;
        Some(Lesson { since, is_begun: false, so_far: Experience::default() })
    }

    /// How long something took since a lesson began, in thousandths of a round trip.
    pub(in crate::multicast) fn took(&self, lesson: &Lesson, to: NodeId) -> u32 {
        let ticks = self.map.clock().unwrap_or(lesson.since).saturating_sub(lesson.since);
        let round = (self.map.to(to) * 2).as_nanos().max(1);
        let took = self.map.tick().as_nanos() * u128::from(ticks) * 1000 / round;
        u32::try_from(took).unwrap_or(u32::MAX)
    }

    /// Takes a body, as data or as a repair.
    pub(in crate::multicast) fn take(
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
            Arrival::Absurd | Arrival::Again => return,
            Arrival::Early => {
                stream.inbox.early.insert(number, body);
                self.kept += 1;
            }
            Arrival::InTurn => {
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
    pub(in crate::multicast) fn found(&mut self, of: Id, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(missing) = self.stream(of.from).missing.remove(&of.number) else { return };
        Self::cancel(Timer::Request(of), fx);
        if missing.is_ignoring {
            Self::cancel(Timer::Ignore(of), fx);
        }
        if let Some(lesson) = missing.lesson {
            self.pace.request.learn(lesson.so_far);
        }
    }

    /// All of a sender's messages below this number were sent: those that are not here are missing.
    pub(in crate::multicast) fn learn(
        &mut self,
        from: NodeId,
        below: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
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
    pub(in crate::multicast) fn miss(
        &mut self,
        of: Id,
        doublings: u8,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let lesson = self.lesson(fx);
        let missing = Missing { doublings, is_ignoring: false, lesson };
        self.stream(of.from).missing.insert(of.number, missing);
        self.wait(of, fx);
    }

    /// Waits before asking for something; how long.
    pub(in crate::multicast) fn wait(
        &mut self,
        of: Id,
        fx: &mut impl Effects<Ordered<Self>>,
    ) -> Duration {
        let doublings = self.stream(of.from).missing.get(&of.number).map_or(0, |it| it.doublings);
        let drawn = (fx.choose(self.draws), self.draws.get());
        let after = self.pace.request.factors.wait(self.map.to(of.from), doublings, drawn);
        Self::set(Timer::Request(of), after, fx);
        after
    }

    /// Another member has requested a message that is missing here: backs off, once a round.
    pub(in crate::multicast) fn back_off(&mut self, of: Id, fx: &mut impl Effects<Ordered<Self>>) {
        let Some(missing) = self.stream(of.from).missing.get_mut(&of.number) else { return };
        missing.doublings = (missing.doublings + 1).min(MOST_DOUBLINGS);
        missing.is_ignoring = true;
        let after = self.wait(of, fx);
        Self::set(Timer::Ignore(of), after / 2, fx);
    }

    /// Something was asked for, by this member or by another that is so far away from its sender.
    pub(in crate::multicast) fn asked(&mut self, of: Id, by: Option<u64>) {
        let mine = self.map.to(of.from).as_nanos() as u64;
        let Some(mut lesson) =
            self.stream(of.from).missing.get(&of.number).and_then(|it| it.lesson)
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

    pub(in crate::multicast) fn on_request(
        &mut self,
        (by, is_local): (NodeId, bool),
        of: Id,
        distance_ns: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let me = self.me;
        let stream = self.stream(of.from);
        if stream.inbox.has(of.number) {
            return self.consider((by, is_local), of, fx);
        }
        if of.from == me {
            // There is no such message.
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

    /// A request for a message that is here.
    pub(in crate::multicast) fn consider(
        &mut self,
        (by, is_local): (NodeId, bool),
        of: Id,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let reach = self.scope.reach(by, is_local);
        let stream = self.stream(of.from);
        if let Some(repair) = stream.repairs.get_mut(&of.number) {
            // Whoever asks from farther away is to hear it as well.
            repair.reach = repair.reach.zip(reach).map(|(one, other)| one.max(other));
            return;
        }
        let is_held = stream.held.get(&of.number).is_some_and(|it| is_local || !it.is_local);
        if is_held || stream.get(of.number).is_none() {
            return;
        }
        let lesson = self.lesson(fx);
        self.stream(of.from).repairs.insert(of.number, Repairing { to: by, reach, lesson });
        let drawn = (fx.choose(self.draws), self.draws.get());
        let after = self.pace.repair.factors.wait(self.map.to(by), 0, drawn);
        Self::set(Timer::Repair(of), after, fx);
    }

    /// Something was repaired, by this member or by another. What not all hear suppresses no
    /// repair to all.
    pub(in crate::multicast) fn repaired(
        &mut self,
        (by, is_local): (Option<NodeId>, bool),
        of: Id,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let stream = self.stream(of.from);
        if let Some(held) = stream.held.get_mut(&of.number)
            && (is_local || !held.is_local)
        {
            if let Some(came) = &mut held.came {
                came.duplicates += 1;
            }
            return;
        }
        if is_local && stream.repairs.get(&of.number).is_some_and(|it| it.reach.is_none()) {
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
        self.stream(of.from).held.insert(of.number, Held { is_local, came });
        // The distance to oneself is 0.
        let from = if of.from == self.me { asked.unwrap_or(of.from) } else { of.from };
        Self::set(Timer::Hold(of), self.map.to(from).saturating_mul(3), fx);
    }
}
