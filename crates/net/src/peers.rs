//! The node's task, continued: its links, what comes over them, and who is let in.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rand_core::Rng;
use tokio::time::Instant;
use vorrang_protocol::NodeId;

use crate::driver::{Driver, Phase};
use crate::error::CommandError;
use crate::event::Event;
use crate::hello::{Hello, Refusal, Refuser};
use crate::link::Health;
use crate::meet::{self, Arrival, Dial, Guest};
use crate::transport::AnyStream;
use crate::wire::{Frame, UNREADABLE};

/// How often a turn reads from one link before it looks at the others.
const READS_A_TURN: usize = 4;

/// Links.
impl Driver {
    pub(crate) fn look_at_links(&mut self, now: Instant) {
        let timing = self.config.timing;
        let silent: Vec<NodeId> = self
            .world
            .others_mut()
            .filter_map(|link| (link.look(now, &timing) == Health::Silent).then_some(link.peer))
            .collect();
        for peer in silent {
            self.lose(peer, "it has fallen silent");
        }
    }

    /// Reads from every link and handles what came. False if there may be more.
    pub(crate) fn poll_links(&mut self, cx: &mut Context<'_>) -> bool {
        let mut is_done = true;
        for index in 0..self.world.links.len() {
            let peer = NodeId(index as u32);
            if peer != self.world.me {
                is_done &= self.poll_link(peer, cx);
            }
        }
        is_done
    }

    fn poll_link(&mut self, peer: NodeId, cx: &mut Context<'_>) -> bool {
        for _ in 0..READS_A_TURN {
            // What comes before the start is left where it is, but a lost connection is noticed.
            let waits = matches!(self.phase, Phase::Gathering);
            let link = self.world.link(peer);
            if waits && link.is_full() {
                return true;
            }
            match link.poll_fill(cx) {
                Poll::Pending => return true,
                Poll::Ready(Ok(0)) => {
                    self.handle_frames(peer);
                    self.lose(peer, "it closed the connection");
                }
                Poll::Ready(Ok(_)) if waits => {}
                Poll::Ready(Ok(_)) => self.handle_frames(peer),
                Poll::Ready(Err(error)) => self.lose(peer, &error.to_string()),
            }
        }
        false
    }

    pub(crate) fn handle_frames(&mut self, peer: NodeId) {
        loop {
            let outcome = match self.world.link(peer).next_frame(&mut self.message) {
                Ok(Some(frame)) => self.handle_frame(peer, frame),
                Ok(None) => return,
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = outcome {
                let from = format!("node {peer}");
                tracing::warn!(%peer, why, "closed a connection that made no sense");
                self.report(Event::Malformed { from, why: why.clone() });
                self.lose(peer, &why);
                return;
            }
        }
    }

    fn handle_frame(&mut self, peer: NodeId, frame: Frame<()>) -> Result<(), String> {
        match frame {
            Frame::Data { seq, received, message: () } => {
                // Read before it is acknowledged: one that cannot be read has not arrived.
                if !self.resident.read(&self.message) {
                    return Err(UNREADABLE.to_string());
                }
                self.on_ack(peer, received)?;
                self.on_data(peer, seq)
            }
            Frame::Ack { received } => self.on_ack(peer, received),
            Frame::Bye => {
                self.on_bye(peer);
                Ok(())
            }
            Frame::Refuse(why) => {
                self.on_refused_us(peer, &why);
                self.lose(peer, "it refused us");
                Ok(())
            }
            Frame::Hello(_) => Err("it said hello twice".to_owned()),
        }
    }

    fn on_ack(&mut self, peer: NodeId, received: u64) -> Result<(), String> {
        if self.world.link(peer).acknowledge(received) {
            Ok(())
        } else {
            Err(format!("it acknowledges {received} messages, more than it was sent"))
        }
    }

    /// A message has come, and been read.
    fn on_data(&mut self, peer: NodeId, seq: u64) -> Result<(), String> {
        if !self.acts() {
            return Ok(());
        }
        match self.world.link(peer).receive(seq) {
            None => return Err(format!("message {seq} came before those in front of it")),
            Some(false) => tracing::debug!(%peer, seq, "dropped a message seen before"),
            Some(true) => {
                self.resident.receive(peer, seq, &mut self.world);
                self.settle();
            }
        }
        Ok(())
    }

    fn on_bye(&mut self, peer: NodeId) {
        let link = self.world.link(peer);
        link.say_ack();
        // As much of the acknowledgement as fits; the peer does not depend on it.
        let mut nobody = Context::from_waker(Waker::noop());
        let _ = link.flush(&mut nobody);
        link.give_up("it has left");
        self.report(Event::Left { peer });
    }

    /// Writes what was queued, and notes whether anything will have to be looked at.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) {
        let mut broken: Option<(NodeId, String)> = None;
        let mut wants_look = false;
        let first = self.world.first_receiver.take().map_or(0, NodeId::index);
        let (later, sooner) = self.world.links.split_at_mut(first);
        for link in sooner.iter_mut().chain(later).flatten() {
            if let Err(error) = link.flush(cx) {
                broken = Some((link.peer, error.to_string()));
            }
            wants_look |= link.wants_look();
        }
        if wants_look && self.next_look.is_none() {
            self.next_look = Some(Instant::now() + self.config.timing.ack);
        }
        if let Some((peer, why)) = broken {
            self.lose(peer, &why);
            // There may be others.
            self.flush(cx);
        }
    }

    fn lose(&mut self, peer: NodeId, why: &str) {
        if self.world.link(peer).disconnect() {
            let why = why.to_owned();
            self.report(Event::Lost { peer, why });
            self.dial(peer);
        }
    }

    /// Dials a peer, if that is our part.
    pub(crate) fn dial(&mut self, peer: NodeId) {
        while self.tasks.try_join_next().is_some() {}
        let seed = self.rng.next_u64();
        let link = self.world.link(peer);
        if peer > self.identity.me || link.is_gone() {
            return;
        }
        let whom = Dial {
            peer,
            address: self.config.peers[peer.index()].clone(),
            knows: link.incarnation,
            received: link.received(),
            attempt: link.attempt,
            pause: link.redial_pause(&self.config.timing),
            seed,
        };
        self.tasks.spawn(meet::dial(
            Arc::clone(&self.transport),
            Arc::clone(&self.identity),
            self.config.timing,
            whom,
            self.door.clone(),
        ));
    }
}

/// Those who come, and those who refuse us.
impl Driver {
    pub(crate) fn poll_arrivals(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(arrival)) = self.arrivals.poll_recv(cx) {
            match arrival {
                // A fenced node talks to nobody any more; a peer that it dialled sees it go.
                Arrival::Dialled { .. } if self.fenced.is_some() => {}
                Arrival::Inbound { stream, theirs } => self.on_inbound(stream, &theirs),
                Arrival::Dialled { stream, theirs } => self.connect(stream, &theirs, None),
                Arrival::WeRefused { who, why } => self.on_we_refused(who, &why),
                Arrival::RefusedUs { peer, why } => self.on_refused_us(peer, &why),
                Arrival::Malformed { from, why } => {
                    tracing::warn!(from, why, "closed a connection that made no sense");
                    self.report(Event::Malformed { from, why });
                }
            }
        }
    }

    fn on_inbound(&mut self, stream: AnyStream, theirs: &Hello) {
        let peer = theirs.sender;
        let timing = self.config.timing;
        let link = self.world.link(peer);
        let ours = self.identity.hello(peer, link.incarnation, link.received(), theirs.attempt);
        if theirs.knows.is_some_and(|known| known != self.identity.incarnation) {
            // It is us who came back without memory. Our hello shows it; the peer will refuse us.
            let mut stream = stream;
            self.tasks.spawn(async move {
                meet::say_last(&mut stream, &Frame::Hello(ours), timing).await;
            });
            self.fence(peer);
            return;
        }
        let is_gone = link.is_gone();
        let refusal = match link.incarnation {
            _ if self.fenced.is_some() => Some(Refusal::Fenced),
            Some(known) if known != theirs.incarnation => {
                Some(Refusal::Restarted { known, new: theirs.incarnation })
            }
            Some(_) | None => is_gone.then_some(Refusal::Left),
        };
        if let Some(why) = refusal {
            self.on_we_refused(Guest::Member(peer), &why);
            self.tasks.spawn(async move { meet::refuse(stream, &why, timing).await });
        } else if theirs.attempt < link.attempt {
            tracing::debug!(%peer, "dropped a connection that a later one has overtaken");
        } else {
            if link.disconnect() {
                let why = "it dialled anew".to_owned();
                self.report(Event::Lost { peer, why });
            }
            self.connect(stream, theirs, Some(ours));
        }
    }

    fn connect(&mut self, stream: AnyStream, theirs: &Hello, reply: Option<Hello>) {
        let peer = theirs.sender;
        let link = self.world.link(peer);
        let before = link.connections;
        if !link.connect(stream, theirs) {
            let why = "it claims to have what it was never sent".to_owned();
            let from = format!("node {peer}");
            tracing::warn!(%peer, why, "closed a connection that made no sense");
            self.report(Event::Malformed { from, why });
            self.dial(peer);
            return;
        }
        if let Some(ours) = reply {
            link.say(&Frame::Hello(ours));
        }
        self.report(Event::Connected { peer, before });
        self.start_if_ready();
    }

    fn on_we_refused(&mut self, who: Guest, why: &Refusal) {
        let sentence = why.sentence(Refuser::Us);
        let nodes = self.identity.nodes();
        let (who, is_news) = match who {
            Guest::Member(peer) => {
                let is_news =
                    self.world.link(peer).refuse(why, format!("we refused it: {sentence}"));
                (format!("node {peer}"), is_news)
            }
            Guest::Claims(id, from) => {
                let is_peer = id != self.world.me && id.0 < nodes;
                let is_news = !is_peer
                    || self.world.link(id).refuse(why, format!("we refused it: {sentence}"));
                (format!("node {id} at {from}"), is_news)
            }
            Guest::Stranger(from) => (from, true),
        };
        if is_news {
            tracing::error!(who, why = sentence, "refused a node");
            let why = why.clone();
            self.report(Event::WeRefused { who, why });
        }
    }

    fn on_refused_us(&mut self, peer: NodeId, why: &Refusal) {
        let sentence = why.sentence(Refuser::Them);
        let link = self.world.link(peer);
        let is_news = link.refuse(why, format!("it refused us: {sentence}"));
        if matches!(why, Refusal::Left) {
            link.give_up("it knows that we left");
        }
        if is_news {
            tracing::error!(%peer, why = sentence, "a node refused us");
            let why = why.clone();
            self.report(Event::RefusedUs { peer, why });
        }
        if matches!(why, Refusal::Restarted { .. }) {
            self.fence(peer);
        }
    }

    /// We have forgotten what others rely on: nothing that we could do from here on is safe.
    fn fence(&mut self, by: NodeId) {
        if self.fenced.is_some() {
            return;
        }
        let why = format!("it was restarted, and node {by} remembers what it has forgotten");
        tracing::error!(why, "the node is fenced");
        self.stop_acting();
        for link in self.world.others_mut() {
            link.give_up("we were restarted and have lost our memory");
        }
        for (_, reply) in self.held.drain(..) {
            let _ = reply.send(Err(CommandError::Fenced(why.clone())));
        }
        self.fenced = Some(why);
        self.report(Event::Fenced { by });
    }
}
