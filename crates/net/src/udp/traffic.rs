//! The node's task over UDP: sending, receiving, and the checks of received datagrams.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use super::datagram::{self, Body, DatagramError, Frame, MAX_PAYLOAD, Refuse, VERSION};
use super::discovery::announcement;
use super::faults::Fate;
use super::peer::Peer;
use super::sockets::{CAST, OWN};
use super::udp_network::{ALL_PLACES, Arrived, Casting, Held, UdpNetwork};
use crate::driver::{Driver, Member, Network};
use crate::event::Event;
use crate::hello::Refusal;
use crate::incarnations::Parting;
use crate::standing::Health;
use crate::status::{Datagrams, LinkStatus};

/// How many datagrams are read from a socket before others are looked at.
const READS_A_TURN: usize = 64;
/// How many messages are kept that came before the start; more are lost, as any may be.
const MOST_HELD: usize = 256;
/// How many datagrams wait to be overtaken, and how long at most.
const MOST_LATE: usize = 64;
const LATE_FOR: Duration = Duration::from_millis(10);

impl Network for UdpNetwork {
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
        for Held { from, incarnation, number, message } in std::mem::take(&mut driver.world.held) {
            if driver.world.peer(from).incarnation == Some(incarnation) {
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
            driver.lose(peer, "it has not been heard for too long");
        }
        if !std::mem::replace(&mut driver.world.has_said, false) && driver.world.peers.len() > 1 {
            driver.world.push_to_all(Body::Here);
            driver.world.has_said = false;
        }
    }

    fn flush(driver: &mut Driver<Self>) {
        driver.flush();
    }

    /// Over datagrams nobody relies on a last word.
    fn say_bye(&mut self, _asks: bool) {
        self.push_goodbyes();
    }

    fn is_settled(&self) -> bool {
        self.out.is_empty()
    }

    async fn close(mut self) {
        self.lookups.shutdown().await;
    }

    /// All that were met are the first processes of their nodes.
    fn begin(&mut self) {
        for peer in self.others_mut() {
            peer.is_original = peer.incarnation.is_some();
        }
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

/// Sending and receiving.
impl Driver<UdpNetwork> {
    fn ring_all(&self) {
        for place in ALL_PLACES {
            self.ready_links.ring(place);
        }
    }

    fn read_from(&mut self, place: usize) {
        let wakers = self.ready_links.wakers();
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
            self.ready_links.ring(place);
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
        if by_cast && (frame.from, frame.incarnation) == (self.world.me, self.world.incarnation) {
            // Our own multicasts come back to us.
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
        let Frame { digest, from, to, incarnation, body: _ } = frame;
        let recognised = match &frame.body {
            Body::Hello(_) | Body::Refuse(_) => Ok(()),
            Body::Data { .. } | Body::Here | Body::Bye => self.world.recognise(&frame, source),
        };
        if let Err(why) = recognised {
            return self.on_stray(source, why);
        }
        match frame.body {
            Body::Hello(greeting) => {
                let header = Frame { digest, from, to, incarnation, body: () };
                self.on_hello(&header, &greeting, source);
            }
            Body::Refuse(Refuse { incarnation, why }) => {
                self.on_refuse(from, incarnation, &why, source);
            }
            Body::Data { number, message } => {
                self.on_heard(from, by_cast);
                if self.has_begun() {
                    self.on_data(from, number, message);
                } else if self.world.held.len() < MOST_HELD {
                    let message = message.to_vec();
                    self.world.held.push_back(Held { from, incarnation, number, message });
                } else {
                    self.on_stray(source, None);
                }
            }
            Body::Here => {
                if !by_cast && self.world.peer(from).hearing.is_heard && self.world.casts() {
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
        if let Err(error) = self.core.read(message) {
            let at = self.world.peer(from).at;
            if let Some(source) = at {
                self.on_stray(source, Some(format!("a message of node {from}: {error}")));
            }
            return;
        }
        self.world.peer(from).received += 1;
        self.core.receive(from, number, &mut self.world);
        self.settle();
    }

    /// A member was heard that has been met.
    pub(super) fn on_heard(&mut self, from: NodeId, by_cast: bool) {
        let timing = self.world.timing;
        let peer = self.world.peer(from);
        peer.pulse.has_heard = true;
        peer.calls.is_open = false;
        if by_cast && !std::mem::replace(&mut peer.hearing.is_heard, true) {
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
            // The group has not begun: another process may take its place.
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
        let wakers = self.ready_links.wakers();
        let mut cx = Context::from_waker(&wakers[OWN]);
        let mut failed = Vec::new();
        let UdpNetwork { out, sockets, .. } = &mut self.world;
        out.flush(&sockets.own, &mut cx, |to, error| failed.push((to, error)));
        let too_many = std::mem::take(&mut out.too_many);
        for (to, error) in failed {
            self.on_unsent(to, &error);
        }
        if too_many == 0 {
            return;
        }
        if let Some(more) = self.world.strays.ask(Instant::now()) {
            let why = "more are sent than the system takes".to_owned();
            let more = more + too_many - 1;
            self.report(Event::Unsent { to: "a member".to_owned(), why, more });
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
        if *error == DatagramError::Foreign(announcement::MAGIC) {
            // Someone looks for members, of this group or of another at the same address. Whoever
            // answers that has a socket of its own.
            return self.on_stray(source, None);
        }
        if let DatagramError::Version { version, is_hello: true } = *error
            && self.world.refusals.ask(Instant::now()).is_some()
        {
            // It may not be able to read why, and sees by the first bytes which version we speak.
            let why = Refusal::Version { refuser: VERSION, refused: version };
            self.world.push_to(
                NodeId(u32::MAX),
                source,
                Body::Refuse(Refuse { incarnation: 0, why }),
            );
        }
        self.on_stray(source, Some(error.to_string()));
    }

    /// Drops a datagram; without a word if none of this is worth one.
    pub(super) fn on_stray(&mut self, source: SocketAddr, why: Option<String>) {
        self.world.counts.refused += 1;
        let Some(why) = why else { return };
        if let Some(more) = self.world.strays.ask(Instant::now()) {
            self.report(Event::Stray { from: source.to_string(), why, more });
        }
    }
}

impl UdpNetwork {
    pub(super) const fn casts(&self) -> bool {
        matches!(self.casting, Casting::Multicast { .. })
    }

    /// Whether a frame comes from a process that we have met, and is for us; if not, why, unless
    /// that happens to honest members, too.
    fn recognise(&self, frame: &Frame<Body<'_>>, source: SocketAddr) -> Result<(), Option<String>> {
        let from = frame.from;
        if frame.digest != self.digest {
            let why = "it belongs to another group, or to one that is set up differently";
            return Err(Some(why.to_owned()));
        }
        if frame.to.is_some_and(|to| to != self.me) {
            return Err(Some("it is for another node".to_owned()));
        }
        if from == self.me {
            return Err(Some("another process uses our own id".to_owned()));
        }
        let Some(Some(peer)) = self.peers.get(from.index()) else {
            return Err(Some(format!("there is no node {from}")));
        };
        if peer.at != Some(source) {
            return Err(Some(format!("it says it is node {from}, which is at {}", peer.address)));
        }
        match peer.incarnation {
            _ if peer.is_gone() => Err(None),
            // It was faster than its hello.
            None => Err(None),
            Some(incarnation) if incarnation != frame.incarnation => Err(Some(format!(
                "it is another incarnation of node {from} than the one that we met"
            ))),
            Some(_) => Ok(()),
        }
    }
}
