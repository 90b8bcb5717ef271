//! The node's task over UDP: admission of peers, and calls to them.

use std::io;
use std::net::SocketAddr;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use super::datagram::{Body, Frame, Greeting, Refuse};
use super::peer::Peer;
use super::udp_network::{Casting, UdpNetwork};
use crate::driver::Driver;
use crate::event::Event;
use crate::hello::{Excerpt, Refusal, Refuser};
use crate::incarnations::{Admission, Parting};
use crate::standing::{ConnectFailures, Standing};
use crate::timers::deadline;

/// Admission of peers.
impl Driver<UdpNetwork> {
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
        let seen_at = source.to_string();
        let is_at = peer.at.map_or_else(|| seen_at.clone(), |at| at.to_string());
        let places = [
            (from, &peer.address, here),
            (identity.me, our_place, there),
            (from, &is_at, &seen_at),
        ];
        let mut places = places.into_iter();
        if let Some((node, ours, theirs)) = places.find(|(_, ours, theirs)| ours != theirs) {
            let (ours, theirs) = Excerpt::pair(ours, theirs);
            return Err(Refusal::Peers { node, refuser: ours, refused: theirs });
        }
        if digest != self.world.digest {
            return Err(Refusal::List);
        }
        identity.judge_generation(greeting.generation)?;
        identity.judge_pace(*heartbeat_ms)
    }

    pub(super) fn on_hello(&mut self, frame: &Frame<()>, greeting: &Greeting, source: SocketAddr) {
        let Frame { digest, from, to, incarnation, body: () } = *frame;
        if let Err(why) = self.judge((from, to, digest), greeting, source) {
            self.refuse(from, incarnation, why, source);
            return;
        }
        let (has_begun, readmits) = (self.has_begun(), self.identity.readmits);
        let (timing, ours) = (self.world.timing, self.world.incarnation);
        let peer = self.world.peer(from);
        if peer.at.is_none() {
            // It will call again when we know where it is.
            return self.on_stray(source, None);
        }
        match peer.admit((incarnation, ours), greeting, (has_begun, readmits), &timing) {
            Admission::Welcome => {}
            Admission::NodeFactory if readmits => self.begin_anew(from),
            Admission::NodeFactory => {
                tracing::info!(peer = %from, "it was restarted before we began");
                peer.forget(&timing);
            }
            // It forgets as well, and calls again.
            Admission::Refuse(why @ Refusal::Forgotten) if readmits => {
                let words = Body::Refuse(Refuse { incarnation, why });
                return self.world.push_to(from, source, words);
            }
            Admission::Refuse(why) => {
                let remembers = why == Refusal::Forgotten;
                self.refuse(from, incarnation, why, source);
                if remembers {
                    self.fence(from);
                }
                return;
            }
            Admission::Nonsense(why) => return self.on_stray(source, Some(why.to_owned())),
            Admission::Overtaken => return,
        }
        self.meet(from, incarnation, greeting);
    }

    /// Another process has come under the number of a member.
    fn begin_anew(&mut self, id: NodeId) {
        let timing = self.world.timing;
        let peer = self.world.peer(id);
        let was_there = peer.is_there;
        peer.forget(&timing);
        self.world.recount();
        self.world.call_by(Instant::now());
        if was_there {
            let why = "a later incarnation of it has come".to_owned();
            self.report(Event::Lost { peer: id, why });
        }
    }

    /// A process that may be the member has said hello.
    fn meet(&mut self, from: NodeId, incarnation: u64, greeting: &Greeting) {
        let (timing, ours) = (self.world.timing, self.world.incarnation);
        let peer = self.world.peer(from);
        if peer.incarnation.replace(incarnation).is_none() {
            peer.since = Instant::now();
            peer.hasten(&timing);
            self.world.call_by(Instant::now());
        }
        if greeting.returns && !self.has_begun() && self.returning.is_none() {
            self.returning = Some(deadline(timing.backoff_max));
        }
        let peer = self.world.peer(from);
        peer.generation = peer.generation.max(greeting.generation);
        // Once it does, an older hello that comes late changes nothing.
        peer.hearing.knows_us |= greeting.knows == Some(ours);
        peer.hearing.hears_us = greeting.hears;
        peer.is_remembered = false;
        peer.trouble = ConnectFailures::default();
        if greeting.is_answer {
            peer.calls.answered = peer.calls.answered.max(greeting.call);
        } else {
            self.world.greet(from, Some(greeting.call));
        }
        self.lift_fence();
        self.on_heard(from, false);
        self.start_if_ready();
    }

    /// A member is there once each of the two knows that the other hears it.
    pub(super) fn welcome_if_ready(&mut self, id: NodeId) {
        let casts = self.world.casts();
        let peer = self.world.peer(id);
        if peer.is_there || peer.is_gone() || !peer.hearing.is_mutual(casts) {
            return;
        }
        peer.is_there = true;
        peer.since = Instant::now();
        peer.standing = Standing::Open;
        (peer.we_refused, peer.refused_us) = (None, None);
        peer.trouble = ConnectFailures::default();
        let before = peer.connections;
        peer.connections += 1;
        self.report(Event::Connected { peer: id, before });
        self.world.call_the_roll();
    }

    /// Says no: to a member always, and to others if not too many were told so lately.
    fn refuse(&mut self, who: NodeId, incarnation: u64, why: Refusal, source: SocketAddr) {
        self.world.counts.refused += 1;
        let now = Instant::now();
        let known = self.world.peers.get_mut(who.index()).and_then(Option::as_mut);
        let (is_member, is_news) = known.map_or((false, true), |peer| {
            let is_member = peer.at == Some(source);
            // A hello of another incarnation does not affect a peer that was met.
            (is_member, peer.incarnation.is_some() && !is_member || peer.refuse(&why, Refuser::Us))
        });
        if is_member || self.world.refusals.ask(now).is_some() {
            let words = Body::Refuse(Refuse { incarnation, why: why.clone() });
            self.world.push_to(who, source, words);
        }
        if is_news && (is_member || self.world.strays.ask(now).is_some()) {
            let who = format!("node {who} at {source}");
            self.report(Event::WeRefused { who, why });
        }
    }

    /// A peer refused us, or a previous incarnation of ours.
    pub(super) fn on_refuse(
        &mut self,
        from: NodeId,
        incarnation: u64,
        why: &Refusal,
        source: SocketAddr,
    ) {
        let is_member = |peer: &Peer| peer.at == Some(source);
        let known = self.world.peers.get(from.index()).and_then(Option::as_ref);
        if !known.is_some_and(is_member) {
            return self.on_stray(source, Some("it refuses us, and is no member".to_owned()));
        }
        if incarnation != self.world.incarnation {
            self.world.counts.refused += 1;
            return;
        }
        let (has_begun, timing) = (self.has_begun(), self.world.timing);
        if self.identity.readmits && *why == Refusal::Forgotten {
            // There is another process by now.
            return self.begin_anew(from);
        }
        let peer = self.world.peer(from);
        peer.trouble = ConnectFailures::default();
        peer.calls.is_open = false;
        peer.calls.pause = timing.backoff_max;
        if peer.refuse(why, Refuser::Them) {
            self.report(Event::RefusedUs { peer: from, why: why.clone() });
        }
        self.draw_consequences(from, why, has_begun);
        self.world.recount();
    }

    /// The meaning of a refusal: that we are not the process that the peer knew, that the peer is
    /// not the one that we knew, or nothing yet.
    fn draw_consequences(&mut self, from: NodeId, why: &Refusal, has_begun: bool) {
        let timing = self.world.timing;
        let peer = self.world.peer(from);
        match why {
            Refusal::Left if has_begun => {
                peer.part(Parting::Left, "it knows that we left", &timing);
            }
            // It parted from a previous incarnation of ours.
            Refusal::Restarted | Refusal::Left | Refusal::GivenUp => self.fence(from),
            Refusal::Forgotten if has_begun => {
                let why = "it was restarted and has lost its state";
                peer.part(Parting::Restarted, why, &timing);
            }
            Refusal::Forgotten => peer.forget(&timing),
            Refusal::Replaced { later_by, is_there } => self.give_way(from, *later_by, *is_there),
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
            | Refusal::Copied
            | Refusal::Founders { .. }
            | Refusal::Ahead
            | Refusal::Closed
            | Refusal::Full
            | Refusal::Nowhere(_)
            | Refusal::Certificate { .. }
            | Refusal::WillCall => {}
        }
    }
}

/// Calls to peers.
impl Driver<UdpNetwork> {
    pub(super) fn lose(&mut self, id: NodeId, why: &str) {
        let timing = self.world.timing;
        if self.world.peer(id).go(&timing) {
            self.world.call_by(Instant::now());
            self.report(Event::Lost { peer: id, why: why.to_owned() });
        }
    }

    /// Calls those who are not there and whose turn it is.
    pub(super) fn call(&mut self, now: Instant) {
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
            if peer.calls.next <= now {
                self.call_one(id);
                is_unheard |= !is_there && self.world.peer(id).incarnation.is_some();
                let jitter = self.world.jitter();
                self.world.peer(id).called(now, jitter, &timing);
            }
            let next = self.world.peer(id).calls.next;
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
        let is_met = peer.incarnation.is_some() && peer.hearing.knows_us;
        if peer.calls.is_open || is_met {
            let why = peer.complaint();
            self.on_trouble(id, why.to_owned());
        }
        let peer = self.world.peer(id);
        if let Casting::Multicast { or_unicast: true, .. } = casting
            && is_met
            && !peer.hearing.is_plain
            && peer.since.elapsed() >= hello
        {
            peer.hearing.is_plain = true;
            let why = peer.complaint().to_owned();
            self.report(Event::Unicast { peer: Some(id), why });
            self.welcome_if_ready(id);
        }
        let peer = self.world.peer(id);
        if peer.at.is_some() {
            self.world.greet(id, None);
        } else if !std::mem::replace(&mut peer.calls.is_looked_up, true) {
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

    pub(super) fn on_looked_up(&mut self, id: NodeId, found: io::Result<SocketAddr>) {
        let timing = self.world.timing;
        let peer = self.world.peer(id);
        peer.calls.is_looked_up = false;
        match found {
            Ok(at) => {
                peer.at = Some(at);
                peer.hasten(&timing);
                self.world.call_by(Instant::now());
            }
            Err(error) => self.on_trouble(id, error.to_string()),
        }
    }

    pub(super) fn on_trouble(&mut self, id: NodeId, why: String) {
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
