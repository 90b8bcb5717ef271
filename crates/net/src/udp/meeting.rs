//! The node's task over UDP: what comes, who is let in, and who is called.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use super::datagram::{self, Body, DatagramError, Frame, Greeting, MAX_PAYLOAD, Refuse, VERSION};
use super::faults::Fate;
use super::mail::{ALL_PLACES, Arrived, Casting, Held, Mail};
use super::peer::Peer;
use super::sockets::{CAST, OWN};
use crate::driver::Driver;
use crate::event::Event;
use crate::hello::{Excerpt, Refusal, Refuser};
use crate::lives::{Admission, Parting};
use crate::network::{Member, Network};
use crate::standing::{Health, Standing, Trouble};
use crate::status::{Datagrams, LinkStatus};

/// How many datagrams are read from a socket before others are looked at.
const READS_A_TURN: usize = 64;
/// How many messages are kept that came before the start; more are lost, as any may be.
const MOST_HELD: usize = 256;
/// How many datagrams wait to be overtaken, and how long at most.
const MOST_LATE: usize = 64;
const LATE_FOR: Duration = Duration::from_millis(10);

impl Network for Mail {
    fn open(driver: &mut Driver<Self>) {
        for event in std::mem::take(&mut driver.world.news) {
            driver.report(event);
        }
        driver.ring_all();
    }

    fn poll_arrivals(driver: &mut Driver<Self>, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(looked_up)) = driver.world.lookups.poll_join_next(cx) {
            if let Ok((peer, found)) = looked_up {
                driver.on_looked_up(peer, found);
            }
        }
    }

    fn on_bell(driver: &mut Driver<Self>, place: usize) {
        driver.read_from(place);
    }

    fn on_begun(driver: &mut Driver<Self>) {
        for Held { from, life, number, message } in std::mem::take(&mut driver.world.held) {
            if driver.world.peer(from).life == Some(life) {
                driver.on_data(from, number, &message);
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.next_call, self.next_read, self.late_until].into_iter().flatten().min()
    }

    fn on_time(driver: &mut Driver<Self>, now: Instant) {
        let Self { next_call, next_read, late_until, .. } = driver.world;
        if late_until.is_some_and(|at| at <= now) {
            driver.heed_late();
        }
        if next_read.is_some_and(|at| at <= now) {
            driver.world.next_read = None;
            driver.ring_all();
        }
        if next_call.is_some_and(|at| at <= now) {
            driver.call(now);
        }
    }

    fn look(driver: &mut Driver<Self>, now: Instant) {
        let give_up = driver.world.timing.give_up;
        let is_silent = |peer: &mut Peer| {
            (peer.pulse.look(now, give_up) == Health::Silent && peer.is_there).then_some(peer.id)
        };
        let silent: Vec<NodeId> = driver.world.others_mut().filter_map(is_silent).collect();
        for peer in silent {
            driver.lose(peer, "it has fallen silent");
        }
        if !std::mem::replace(&mut driver.world.has_said, false) && driver.world.peers.len() > 1 {
            driver.world.push_to_all(Body::Here);
            driver.world.has_said = false;
        }
    }

    fn flush(driver: &mut Driver<Self>) {
        driver.flush();
    }

    fn say_bye(&mut self) {
        self.push_goodbyes();
    }

    fn is_settled(&self) -> bool {
        self.out.is_empty()
    }

    async fn close(mut self) {
        self.lookups.shutdown().await;
    }

    fn has_met_all(&self) -> bool {
        self.others().all(|peer| self.has_answered(peer))
    }

    fn unacknowledged(&self) -> usize {
        0
    }

    fn members(&self) -> impl Iterator<Item = Member> {
        self.others().map(Peer::member)
    }

    fn note_remembered(&mut self, peer: NodeId) {
        self.peer(peer).is_remembered = true;
    }

    fn statuses(&self) -> Vec<LinkStatus> {
        self.others().map(Peer::status).collect()
    }

    fn datagrams(&self) -> Option<Datagrams> {
        Some(Datagrams { unsent: self.out.unsent, ..self.counts })
    }
}

/// What comes and goes.
impl Driver<Mail> {
    fn ring_all(&self) {
        for place in ALL_PLACES {
            self.bells.ring(place);
        }
    }

    fn read_from(&mut self, place: usize) {
        let wakers = self.bells.wakers();
        let mut cx = Context::from_waker(&wakers[place]);
        let mut room = std::mem::take(&mut self.world.room);
        let mut has_more = true;
        for _ in 0..READS_A_TURN {
            match self.world.poll_receive(place, &mut cx, &mut room) {
                Poll::Ready(Ok((length, source))) => {
                    self.on_arrival(&room[..length], source, place == CAST);
                }
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "cannot read a datagram");
                    has_more = false;
                }
                Poll::Pending => has_more = false,
            }
            if !has_more {
                break;
            }
        }
        self.world.room = room;
        if has_more {
            self.bells.ring(place);
        }
    }

    /// A datagram has arrived: what befalls it?
    fn on_arrival(&mut self, bytes: &[u8], source: SocketAddr, by_cast: bool) {
        let frame = match datagram::decode(bytes) {
            Ok(frame) => frame,
            Err(error) => {
                self.world.counts.received += 1;
                return self.on_unreadable(source, &error);
            }
        };
        if by_cast && (frame.from, frame.life) == (self.world.me, self.world.life) {
            // What we say to all, we hear.
            return;
        }
        self.world.counts.received += 1;
        let put_off = || Arrived { bytes: bytes.to_vec(), source, by_cast };
        match self.world.chance.draw() {
            Fate::Heeded => {
                self.heed(frame, source, by_cast);
                self.heed_late();
            }
            Fate::Lost => self.world.counts.lost += 1,
            Fate::Doubled => {
                self.world.counts.doubled += 1;
                self.heed(frame, source, by_cast);
                self.heed_late();
                self.put_off(put_off());
            }
            Fate::Overtaken => {
                self.world.counts.overtaken += 1;
                self.put_off(put_off());
            }
        }
    }

    fn put_off(&mut self, arrived: Arrived) {
        self.world.late.push_back(arrived);
        self.world.late_until.get_or_insert_with(|| Instant::now() + LATE_FOR);
        if self.world.late.len() >= MOST_LATE {
            self.heed_late();
        }
    }

    /// Heeds what has waited to be overtaken.
    fn heed_late(&mut self) {
        self.world.late_until = None;
        while let Some(Arrived { bytes, source, by_cast }) = self.world.late.pop_front() {
            if let Ok(frame) = datagram::decode(&bytes) {
                self.heed(frame, source, by_cast);
            }
        }
    }

    fn heed(&mut self, frame: Frame<Body<'_>>, source: SocketAddr, by_cast: bool) {
        let Frame { digest, from, to, life, body: _ } = frame;
        let recognised = match &frame.body {
            Body::Hello(_) | Body::Refuse(_) => Ok(()),
            Body::Data { .. } | Body::Here | Body::Bye => self.world.recognise(&frame, source),
        };
        if let Err(why) = recognised {
            return self.on_stray(source, why);
        }
        match frame.body {
            Body::Hello(greeting) => {
                let header = Frame { digest, from, to, life, body: () };
                self.on_hello(&header, &greeting, source);
            }
            Body::Refuse(Refuse { life, why }) => self.on_refuse(from, life, &why, source),
            Body::Data { number, message } => {
                self.on_heard(from, by_cast);
                if self.has_begun() {
                    self.on_data(from, number, message);
                } else if self.world.held.len() < MOST_HELD {
                    let message = message.to_vec();
                    self.world.held.push_back(Held { from, life, number, message });
                } else {
                    self.on_stray(source, None);
                }
            }
            Body::Here => {
                if !by_cast && self.world.peer(from).is_heard && self.world.casts() {
                    // It does not know that one datagram for all would do.
                    self.world.greet(from, None);
                }
                self.on_heard(from, by_cast);
            }
            Body::Bye => self.on_bye(from),
        }
    }

    /// A message of a member, which has been met.
    fn on_data(&mut self, from: NodeId, number: u64, message: &[u8]) {
        if !self.acts() {
            return;
        }
        if let Err(error) = self.resident.read(message) {
            let at = self.world.peer(from).at;
            if let Some(source) = at {
                self.on_stray(source, Some(format!("a message of node {from}: {error}")));
            }
            return;
        }
        self.world.peer(from).received += 1;
        self.resident.receive(from, number, &mut self.world);
        self.settle();
    }

    /// A member was heard that has been met.
    fn on_heard(&mut self, from: NodeId, by_cast: bool) {
        let timing = self.world.timing;
        let peer = self.world.peer(from);
        peer.pulse.has_heard = true;
        peer.is_called = false;
        if by_cast && !std::mem::replace(&mut peer.is_heard, true) {
            peer.hasten(&timing);
            let is_known = peer.is_there;
            self.world.call_by(Instant::now());
            if is_known {
                self.world.greet(from, None);
            }
        }
        self.welcome_if_ready(from);
    }

    fn on_bye(&mut self, from: NodeId) {
        let (has_begun, timing) = (self.has_begun(), self.world.timing);
        let peer = self.world.peer(from);
        if has_begun {
            peer.part(Parting::Left, "it has left", &timing);
        } else {
            // Nothing has come of it: whoever takes its place is as welcome.
            peer.forget(&timing);
            self.world.call_by(Instant::now());
        }
        self.world.recount();
        self.report(Event::Left { peer: from });
    }

    /// Sends what was queued, and reports what cannot be sent.
    fn flush(&mut self) {
        self.world.post_pending();
        for (to, length) in std::mem::take(&mut self.world.too_large) {
            if let Some(more) = self.world.oversized.ask(Instant::now()) {
                let event = Event::TooLarge { to: Some(to), length, limit: MAX_PAYLOAD, more };
                self.report(event);
            }
        }
        let wakers = self.bells.wakers();
        let mut cx = Context::from_waker(&wakers[OWN]);
        let mut failed = Vec::new();
        let Mail { out, sockets, .. } = &mut self.world;
        out.flush(&sockets.own, &mut cx, |to, error| failed.push((to, error)));
        for (to, error) in failed {
            self.on_unsent(to, &error);
        }
    }

    fn on_unsent(&mut self, to: SocketAddr, error: &io::Error) {
        let is_cast = matches!(self.world.casting, Casting::Multicast { group, .. } if group == to);
        if let Some(event) = is_cast.then(|| self.world.fall_back(error)).flatten() {
            return self.report(event);
        }
        let peer = self.world.others().find(|peer| peer.at == Some(to)).map(|peer| peer.id);
        if let Some(id) = peer {
            self.on_trouble(id, error.to_string());
        } else if let Some(more) = self.world.strays.ask(Instant::now()) {
            self.report(Event::Unsent { to: to.to_string(), why: error.to_string(), more });
        }
    }

    fn on_unreadable(&mut self, source: SocketAddr, error: &DatagramError) {
        if let DatagramError::Version { version, is_hello: true } = *error
            && self.world.refusals.ask(Instant::now()).is_some()
        {
            // It may not be able to read why, and sees by the first bytes which version we speak.
            let why = Refusal::Version { refuser: VERSION, refused: version };
            self.world.push_to(NodeId(u32::MAX), source, Body::Refuse(Refuse { life: 0, why }));
        }
        self.on_stray(source, Some(error.to_string()));
    }

    /// Drops a datagram; without a word if none of this is worth one.
    fn on_stray(&mut self, source: SocketAddr, why: Option<String>) {
        self.world.counts.refused += 1;
        let Some(why) = why else { return };
        if let Some(more) = self.world.strays.ask(Instant::now()) {
            self.report(Event::Stray { from: source.to_string(), why, more });
        }
    }
}

impl Mail {
    const fn casts(&self) -> bool {
        matches!(self.casting, Casting::Multicast { .. })
    }

    /// Whether a frame comes from a process that we have met, and is for us; if not, why, unless
    /// that happens to honest members, too.
    fn recognise(
        &self,
        frame: &Frame<Body<'_>>,
        source: SocketAddr,
    ) -> Result<(), Option<String>> {
        let from = frame.from;
        if frame.digest != self.digest {
            let why = "it belongs to another group, or to one that is set up differently";
            return Err(Some(why.to_owned()));
        }
        if frame.to.is_some_and(|to| to != self.me) {
            return Err(Some("it is for somebody else".to_owned()));
        }
        if from == self.me {
            return Err(Some("somebody else speaks under our own number".to_owned()));
        }
        let Some(Some(peer)) = self.peers.get(from.index()) else {
            return Err(Some(format!("there is no node {from}")));
        };
        if peer.at != Some(source) {
            return Err(Some(format!("it says it is node {from}, which is at {}", peer.address)));
        }
        match peer.life {
            _ if peer.is_gone() => Err(None),
            // It was faster than its hello.
            None => Err(None),
            Some(life) if life != frame.life => {
                Err(Some(format!("it is another life of node {from} than the one that we met")))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Who is let in.
impl Driver<Mail> {
    /// Whether one who says hello may: who it is, and how it is set up.
    fn judge(
        &self,
        (from, to, digest): (NodeId, Option<NodeId>, u64),
        greeting: &Greeting,
        source: SocketAddr,
    ) -> Result<(), Refusal> {
        let identity = &self.identity;
        let Greeting { group, algorithm, setup, nodes, cast, here, there, heartbeat_ms, .. } =
            greeting;
        identity.judge_setup(group, algorithm, *nodes, setup)?;
        if *cast != self.world.cast {
            let (ours, theirs) = Excerpt::pair(&self.world.cast, cast);
            return Err(Refusal::Cast { refuser: ours, refused: theirs });
        }
        if to != Some(identity.me) {
            let wanted = to.unwrap_or(NodeId(u32::MAX));
            return Err(Refusal::Target { reached: identity.me, wanted });
        }
        let Some(Some(peer)) = self.world.peers.get(from.index()) else {
            return Err(Refusal::Sender { claimed: from, refuser: identity.me });
        };
        let our_place = &identity.peers[identity.me.index()];
        let (is_at, seen_at) = (peer.at.map(|at| at.to_string()), source.to_string());
        let mut places = [
            (from, &peer.address, here),
            (identity.me, our_place, there),
            (from, is_at.as_ref().unwrap_or(&peer.address), &seen_at),
        ]
        .into_iter();
        if let Some((node, ours, theirs)) = places.find(|(_, ours, theirs)| ours != theirs) {
            let (refuser, refused) = Excerpt::pair(ours, theirs);
            return Err(Refusal::Peers { node, refuser, refused });
        }
        if digest != self.world.digest {
            return Err(Refusal::List);
        }
        identity.judge_pace(*heartbeat_ms)
    }

    fn on_hello(&mut self, frame: &Frame<()>, greeting: &Greeting, source: SocketAddr) {
        let Frame { digest, from, to, life, body: () } = *frame;
        if let Err(why) = self.judge((from, to, digest), greeting, source) {
            self.refuse(from, life, why, source);
            return;
        }
        let (has_begun, timing, ours) = (self.has_begun(), self.world.timing, self.world.life);
        let peer = self.world.peer(from);
        match peer.admit((life, ours), greeting, has_begun, &timing) {
            Admission::Welcome => {}
            Admission::Anew => {
                tracing::info!(peer = %from, "it was restarted before we began");
                peer.forget(&timing);
            }
            Admission::Refuse(why) => {
                let remembers = why == Refusal::Forgotten;
                self.refuse(from, life, why, source);
                if remembers {
                    self.fence(from);
                }
                return;
            }
            Admission::Nonsense(why) => return self.on_stray(source, Some(why.to_owned())),
            Admission::Overtaken => return,
        }
        self.meet(from, life, greeting);
    }

    /// A process that may be the member has said hello.
    fn meet(&mut self, from: NodeId, life: u64, greeting: &Greeting) {
        let (timing, ours) = (self.world.timing, self.world.life);
        let peer = self.world.peer(from);
        if peer.life.replace(life).is_none() {
            peer.since = Instant::now();
            peer.hasten(&timing);
            self.world.call_by(Instant::now());
        }
        let peer = self.world.peer(from);
        // Once it does, an older hello that comes late changes nothing.
        peer.knows_us |= greeting.knows == Some(ours);
        peer.hears_us = greeting.hears;
        peer.is_remembered = false;
        peer.trouble = Trouble::default();
        if greeting.is_answer {
            peer.answered = peer.answered.max(greeting.call);
        } else {
            self.world.greet(from, Some(greeting.call));
        }
        self.lift_fence();
        self.on_heard(from, false);
        self.start_if_ready();
    }

    /// A member is there once each of the two knows that the other hears it.
    fn welcome_if_ready(&mut self, id: NodeId) {
        let casts = self.world.casts();
        let peer = self.world.peer(id);
        let is_reached = !casts
            || peer.is_plain
            || peer.hears_us.is_none()
            || (peer.is_heard && peer.hears_casts());
        if peer.is_there || peer.is_gone() || !peer.knows_us || !is_reached {
            return;
        }
        peer.is_there = true;
        peer.since = Instant::now();
        peer.standing = Standing::Open;
        (peer.we_refused, peer.refused_us) = (None, None);
        peer.trouble = Trouble::default();
        let before = peer.connections;
        peer.connections += 1;
        self.report(Event::Connected { peer: id, before });
        self.world.call_the_roll();
    }

    /// Says no: to a member always, and to others if not too many were told so lately.
    fn refuse(&mut self, who: NodeId, life: u64, why: Refusal, source: SocketAddr) {
        self.world.counts.refused += 1;
        let now = Instant::now();
        let known = self.world.peers.get_mut(who.index()).and_then(Option::as_mut);
        let (is_member, is_news) = known.map_or((false, true), |peer| {
            (peer.at == Some(source), peer.refuse(&why, Refuser::Us))
        });
        if is_member || self.world.refusals.ask(now).is_some() {
            let words = Body::Refuse(Refuse { life, why: why.clone() });
            self.world.push_to(who, source, words);
        }
        if is_news && (is_member || self.world.strays.ask(now).is_some()) {
            let who = format!("node {who} at {source}");
            self.report(Event::WeRefused { who, why });
        }
    }

    /// Somebody refused us, or a former life of ours.
    fn on_refuse(&mut self, from: NodeId, life: u64, why: &Refusal, source: SocketAddr) {
        let is_member = |peer: &Peer| peer.at == Some(source);
        let known = self.world.peers.get(from.index()).and_then(Option::as_ref);
        if !known.is_some_and(is_member) {
            return self.on_stray(source, Some("it refuses us, and is no member".to_owned()));
        }
        if life != self.world.life {
            self.world.counts.refused += 1;
            return;
        }
        let (has_begun, timing) = (self.has_begun(), self.world.timing);
        let peer = self.world.peer(from);
        peer.trouble = Trouble::default();
        peer.is_called = false;
        peer.pause = timing.backoff_max;
        if peer.refuse(why, Refuser::Them) {
            self.report(Event::RefusedUs { peer: from, why: why.clone() });
        }
        self.draw_consequences(from, why, has_begun);
        self.world.recount();
    }

    /// What a refusal means for us: that we are not the one whom the peer knew, that the peer is
    /// not the one whom we knew, or nothing yet.
    fn draw_consequences(&mut self, from: NodeId, why: &Refusal, has_begun: bool) {
        let timing = self.world.timing;
        let peer = self.world.peer(from);
        match why {
            Refusal::Left if has_begun => peer.part(Parting::Left, "it knows that we left", &timing),
            // What it parted from was a former life of ours.
            Refusal::Restarted | Refusal::Left | Refusal::GivenUp => self.fence(from),
            Refusal::Forgotten if has_begun => {
                let why = "it was restarted and has lost its memory";
                peer.part(Parting::Restarted, why, &timing);
            }
            Refusal::Forgotten => peer.forget(&timing),
            Refusal::Version { .. }
            | Refusal::Group { .. }
            | Refusal::Algorithm { .. }
            | Refusal::Setup { .. }
            | Refusal::Size { .. }
            | Refusal::Peers { .. }
            | Refusal::Target { .. }
            | Refusal::Sender { .. }
            | Refusal::Taken
            | Refusal::TooQuiet { .. }
            | Refusal::Cast { .. }
            | Refusal::List
            | Refusal::WillCall => {}
        }
    }
}

/// Who is called.
impl Driver<Mail> {
    fn lose(&mut self, id: NodeId, why: &str) {
        let timing = self.world.timing;
        if self.world.peer(id).go(&timing) {
            self.world.call_by(Instant::now());
            self.report(Event::Lost { peer: id, why: why.to_owned() });
        }
    }

    /// Calls those who are not there and whose turn it is.
    fn call(&mut self, now: Instant) {
        self.world.next_call = None;
        let (timing, has_begun) = (self.world.timing, self.has_begun());
        if !has_begun {
            self.world.call_the_roll();
        }
        let mut is_unheard = false;
        for index in 0..self.world.peers.len() {
            let Some(peer) = &self.world.peers[index] else { continue };
            let (id, is_there) = (peer.id, peer.is_there);
            if peer.is_gone() || is_there && (has_begun || self.world.has_answered(peer)) {
                continue;
            }
            if peer.next_call <= now {
                self.call_one(id);
                is_unheard |= !is_there && self.world.peer(id).life.is_some();
                let jitter = self.world.jitter();
                self.world.peer(id).called(now, jitter, &timing);
            }
            let next = self.world.peer(id).next_call;
            self.world.call_by(next);
        }
        if is_unheard && self.world.casts() {
            // By this they hear whether they hear us.
            self.world.push_to_all(Body::Here);
        }
    }

    fn call_one(&mut self, id: NodeId) {
        let (casting, hello) = (self.world.casting.clone(), self.world.timing.hello);
        let peer = self.world.peer(id);
        let is_met = peer.life.is_some() && peer.knows_us;
        if peer.is_called || is_met {
            let why = peer.complaint();
            self.on_trouble(id, why.to_owned());
        }
        let peer = self.world.peer(id);
        if let Casting::Multicast { or_unicast: true, .. } = casting
            && is_met
            && !peer.is_plain
            && peer.since.elapsed() >= hello
        {
            peer.is_plain = true;
            let why = peer.complaint().to_owned();
            self.report(Event::Unicast { peer: Some(id), why });
            self.welcome_if_ready(id);
        }
        let peer = self.world.peer(id);
        if peer.at.is_some() {
            self.world.greet(id, None);
        } else if !std::mem::replace(&mut peer.is_looked_up, true) {
            let address = peer.address.clone();
            let is_ipv4 = self.world.sockets.own.local_addr().is_ok_and(|at| at.is_ipv4());
            self.world.lookups.spawn(async move {
                let found = tokio::net::lookup_host(address).await.and_then(|mut found| {
                    found.find(|at| at.is_ipv4() == is_ipv4).ok_or(io::ErrorKind::NotFound.into())
                });
                (id, found)
            });
        }
    }

    fn on_looked_up(&mut self, id: NodeId, found: io::Result<SocketAddr>) {
        let timing = self.world.timing;
        let peer = self.world.peer(id);
        peer.is_looked_up = false;
        match found {
            Ok(at) => {
                peer.at = Some(at);
                peer.hasten(&timing);
                self.world.call_by(Instant::now());
            }
            Err(error) => self.on_trouble(id, error.to_string()),
        }
    }

    fn on_trouble(&mut self, id: NodeId, why: String) {
        let peer = self.world.peer(id);
        if peer.is_there {
            return;
        }
        if let Some(tries) = peer.trouble.unanswered(why.clone(), peer.since.elapsed()) {
            let address = peer.address.clone();
            self.report(Event::Unanswered { peer: id, address, why, tries });
        }
    }
}
