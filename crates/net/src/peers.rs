//! The links of a node over TCP: frames that arrive, and admission of peers.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rand_core::Rng;
use tokio::sync::Notify;
use tokio::time::Instant;
use vorrang_protocol::NodeId;

use crate::connecting::{self, Arrival, Caller, Dial, IncomingConnection, RefusedPeer};
use crate::driver::Driver;
use crate::event::Event;
use crate::hello::{Hello, Introduction, Refusal, Refuser};
use crate::incarnations::{Admission, Parting};
use crate::standing::Health;
use crate::tcp_network::TcpNetwork;
use crate::timers::deadline;
use crate::transport::AnyStream;
use crate::wire::Frame;

/// How often a link is read from before others are looked at.
const READS_A_TURN: usize = 4;

/// Links.
impl Driver<TcpNetwork> {
    /// Sends pending acknowledgements.
    pub(crate) fn acknowledge(&mut self) {
        for link in self.world.others_mut() {
            link.acknowledge_ours();
        }
        self.world.touch_all();
    }

    /// Looks whether connections still carry anything.
    pub(crate) fn look_at_links(&mut self, now: Instant) {
        let timing = self.config.timing;
        let silent: Vec<NodeId> = self
            .world
            .others_mut()
            .filter_map(|link| (link.look(now, &timing) == Health::Silent).then_some(link.peer))
            .collect();
        self.world.touch_all();
        for peer in silent {
            self.lose(peer, "it has not been heard for too long");
        }
        self.call_founders();
        self.forget_unproven();
    }

    /// Reads from a link that has been woken, and handles what came.
    pub(crate) fn poll_link(&mut self, peer: NodeId) {
        let wakers = self.ready_links.wakers();
        let mut cx = Context::from_waker(&wakers[peer.index()]);
        let has_more = self.read_from(peer, &mut cx);
        // Acknowledgements that are owed by now, and what could not be written before.
        self.world.touch(peer);
        if has_more {
            self.ready_links.ring(peer.index());
        }
    }

    /// True if there may be more.
    fn read_from(&mut self, peer: NodeId, cx: &mut Context<'_>) -> bool {
        for _ in 0..READS_A_TURN {
            let waits = !self.has_begun();
            let link = self.world.link(peer);
            if waits && link.is_full() {
                return false;
            }
            match link.poll_fill(cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(0)) => {
                    self.handle_frames(peer);
                    self.lose(peer, "it closed the connection");
                }
                Poll::Ready(Ok(_)) => self.handle_frames(peer),
                Poll::Ready(Err(error)) => self.lose(peer, &error.to_string()),
            }
        }
        true
    }

    pub(crate) fn handle_frames(&mut self, peer: NodeId) {
        loop {
            // Messages that come before the start are left in the socket's buffer, with all that
            // follows them.
            let takes_data = self.has_begun();
            let link = self.world.link(peer);
            let outcome = match link.next_frame(&mut self.message, takes_data) {
                Ok(Some(frame)) => self.handle_frame(peer, frame),
                Ok(None) => return,
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = outcome {
                let from = format!("node {peer}");
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
                self.core.read(&self.message).map_err(|error| error.to_string())?;
                self.on_ack(peer, received)?;
                self.on_data(peer, seq)
            }
            Frame::Ack { received } => self.on_ack(peer, received),
            Frame::Bye { asks } => {
                self.on_bye(peer, asks);
                Ok(())
            }
            Frame::Refuse(why) => {
                self.on_refused_us(peer, &why);
                self.lose(peer, "it refused us");
                Ok(())
            }
            Frame::Hello(_) | Frame::DialRequest(_) | Frame::Join(_) | Frame::JoinGrant(_) => {
                Err("it said hello twice".to_owned())
            }
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
                self.core.receive(peer, seq, &mut self.world);
                self.settle();
            }
        }
        Ok(())
    }

    fn on_bye(&mut self, peer: NodeId, asks: bool) {
        let has_begun = self.has_begun();
        let link = self.world.link(peer);
        link.say_ack();
        // As much of the acknowledgement as fits; the peer does not depend on it.
        let mut nobody = Context::from_waker(Waker::noop());
        let _ = link.flush(&mut nobody);
        if has_begun {
            link.part(if asks { Parting::LeftAsking } else { Parting::Left }, "it has left");
        } else {
            // The group has not begun: another process may take its place.
            link.let_go();
        }
        self.report(Event::Left { peer });
        self.dial(peer);
    }

    /// Writes what was queued, in order, and notes whether acknowledgements are owed.
    pub(crate) fn flush(&mut self) {
        self.report_given_up();
        let wakers = self.ready_links.wakers();
        while let Some(peer) = self.world.next_touched() {
            let link = self.world.link(peer);
            let flushed = link.flush(&mut Context::from_waker(&wakers[peer.index()]));
            if link.wants_ack() && self.world.next_ack.is_none() {
                self.world.next_ack = Some(Instant::now() + self.config.timing.ack);
            }
            if let Err(error) = flushed {
                self.lose(peer, &error.to_string());
            }
        }
    }

    fn report_given_up(&mut self) {
        for peer in std::mem::take(&mut self.world.given_up) {
            let event = Event::GivenUp { peer, limits: self.config.limits };
            self.report(event);
        }
    }

    fn lose(&mut self, peer: NodeId, why: &str) {
        if self.world.link(peer).disconnect() {
            let why = why.to_owned();
            self.report(Event::Lost { peer, why });
            self.dial(peer);
        }
    }

    /// Sees to it that we get connected: dials a peer, or asks it to, if it is the one who dials.
    pub(crate) fn dial(&mut self, peer: NodeId) {
        while self.world.tasks.try_join_next().is_some() {}
        let seed = self.world.rng.next_u64();
        self.stop_calling(peer);
        let link = self.world.link(peer);
        if link.is_gone() {
            return;
        }
        let (address, call_now) = (link.address().to_owned(), Arc::new(Notify::new()));
        let task = if peer < self.identity.me {
            let whom = Dial {
                peer,
                address: address.clone(),
                terms: link.terms(0),
                calls: link.calls(),
                pause: link.redial_pause(&self.config.timing),
                call_now: Arc::clone(&call_now),
                seed,
            };
            self.world.tasks.spawn(connecting::dial(self.world.line.clone(), whom))
        } else {
            // Where processes come back, the one who calls need not have noticed yet.
            let pause = if self.identity.readmits {
                Duration::ZERO
            } else {
                self.config.timing.backoff_max
            };
            let shared = self.world.line.clone();
            self.world.tasks.spawn(connecting::request_dial(shared, peer, address.clone(), pause))
        };
        self.world.callers[peer.index()] = Some(Caller { task, call_now, address });
    }

    /// The same without delay, now that the peer is known to be up. A call in progress is left
    /// alone: perhaps it has been answered.
    pub(crate) fn dial_soon(&mut self, peer: NodeId) {
        let address = self.world.link(peer).address().to_owned();
        let caller = self.world.callers[peer.index()].as_ref();
        match caller.filter(|it| it.address == address && !it.task.is_finished()) {
            Some(caller) => caller.call_now.notify_one(),
            None => self.dial(peer),
        }
    }

    fn stop_calling(&mut self, peer: NodeId) {
        if let Some(caller) = self.world.callers[peer.index()].take() {
            caller.task.abort();
        }
    }
}

/// Those who come, and those who refuse us.
impl Driver<TcpNetwork> {
    pub(crate) fn poll_arrivals(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(arrival)) = self.world.arrivals.poll_recv(cx) {
            match arrival {
                Arrival::Inbound { visit, theirs } => self.on_inbound(visit, &theirs),
                Arrival::Knocked { visit, who } => self.on_knock(visit, &who),
                Arrival::Joins { visit, wish } => self.on_wish(visit, &wish),
                Arrival::Dialled { theirs, ours, .. }
                    if self.is_stale(theirs.who.sender, Some(ours)) => {}
                Arrival::Dialled { stream, theirs, ours: _ } => self.on_dialled(stream, &theirs),
                Arrival::WeRefused { who, why } => self.on_we_refused(who, &why),
                Arrival::RefusedUs { peer, why: Refusal::Forgotten, ours }
                    if self.is_stale(peer, ours) => {}
                Arrival::RefusedUs { peer, why, ours: _ } => self.on_refused_us(peer, &why),
                Arrival::Unanswered { peer, why } => self.on_unanswered(peer, why),
                Arrival::Malformed { from, why } => self.on_nonsense(from, why),
            }
        }
    }

    /// Whether an answer belongs to a call from before we forgot the peer.
    fn is_stale(&mut self, peer: NodeId, ours: Option<u64>) -> bool {
        ours.is_some_and(|ours| !self.world.link(peer).has_called_as(ours))
    }

    fn on_nonsense(&mut self, from: String, why: String) {
        self.report(Event::Malformed { from, why });
    }

    fn on_unanswered(&mut self, peer: NodeId, why: String) {
        let link = self.world.link(peer);
        if link.is_connected() {
            return;
        }
        if let Some(tries) = link.unanswered(why.clone()) {
            let address = link.address().to_owned();
            let event = Event::Unanswered { peer, address, why, tries };
            self.report(event);
        }
    }

    /// A peer dialled us.
    fn on_inbound(&mut self, visit: IncomingConnection, theirs: &Hello) {
        // Those that were refused, and have gone.
        while self.world.tasks.try_join_next().is_some() {}
        let peer = theirs.who.sender;
        let (has_begun, readmits) = (self.has_begun(), self.identity.readmits);
        self.world.make_place(peer);
        match self.world.link(peer).admit(theirs, (has_begun, readmits), &self.config.timing) {
            Admission::Welcome => self.welcome(visit, theirs),
            Admission::NodeFactory if readmits => {
                self.begin_anew(peer, theirs.who.generation);
                self.welcome(visit, theirs);
            }
            Admission::NodeFactory => {
                tracing::info!(%peer, "it was restarted before we began");
                self.world.link(peer).forget();
                self.welcome(visit, theirs);
            }
            Admission::Overtaken => {
                tracing::debug!(%peer, "dropped a connection that a later one has overtaken");
            }
            // It forgets as well, and calls again.
            Admission::Refuse(why @ Refusal::Forgotten) if readmits => {
                self.world.tasks.spawn(visit.refuse(why, self.config.timing));
            }
            Admission::Refuse(why) => {
                let who = RefusedPeer::Claims(peer, visit.from().to_owned());
                self.on_we_refused(who, &why);
                if why == Refusal::Forgotten {
                    self.fence(peer);
                }
                self.world.tasks.spawn(visit.refuse(why, self.config.timing));
            }
            Admission::Nonsense(why) => {
                self.on_nonsense(format!("node {peer} at {}", visit.from()), why.to_owned());
            }
        }
    }

    fn welcome(&mut self, visit: IncomingConnection, theirs: &Hello) {
        let peer = theirs.who.sender;
        if self.world.link(peer).disconnect() {
            let why = "it dialled anew".to_owned();
            self.report(Event::Lost { peer, why });
        }
        self.connect(visit.enter(), theirs, true);
    }

    /// A peer waits for our call.
    fn on_knock(&mut self, visit: IncomingConnection, who: &Introduction) {
        while self.world.tasks.try_join_next().is_some() {}
        let peer = who.sender;
        if self.identity.readmits {
            return self.on_open_knock(visit, who);
        }
        let link = self.world.link(peer);
        let why = match link.parting() {
            // A peer that asks to be dialled has not parted from us: it is another incarnation.
            Some(Parting::Left | Parting::LeftAsking | Parting::Restarted) => Refusal::Restarted,
            Some(Parting::GivenUp) => Refusal::GivenUp,
            // It has told us so itself.
            None if link.is_remembered => Refusal::Forgotten,
            None => Refusal::WillCall,
        };
        if why != Refusal::WillCall {
            self.on_we_refused(RefusedPeer::Claims(peer, visit.from().to_owned()), &why);
        }
        self.world.tasks.spawn(visit.refuse(why, self.config.timing));
    }

    /// A peer that we dialled has answered.
    fn on_dialled(&mut self, stream: AnyStream, theirs: &Hello) {
        let (peer, timing) = (theirs.who.sender, self.config.timing);
        let link = self.world.link(peer);
        match link.recognise(theirs) {
            Admission::Welcome | Admission::NodeFactory => {
                link.disconnect();
                self.connect(stream, theirs, false);
            }
            Admission::Overtaken if link.is_connected() => {}
            Admission::Overtaken => self.dial(peer),
            Admission::Refuse(why) => {
                link.fail();
                self.on_we_refused(RefusedPeer::Member(peer), &why);
                self.world
                    .tasks
                    .spawn(async move { connecting::refuse(stream, &why, timing).await });
                self.dial(peer);
            }
            Admission::Nonsense(why) => {
                link.fail();
                self.on_nonsense(format!("node {peer}"), why.to_owned());
                self.dial(peer);
            }
        }
    }

    /// Takes over a connection; if we were dialled, with our hello in answer.
    fn connect(&mut self, stream: AnyStream, theirs: &Hello, answers: bool) {
        let peer = theirs.who.sender;
        let link = self.world.link(peer);
        let before = link.connections;
        if !link.connect(stream, theirs) {
            let why = "it claims to have messages that it was never sent";
            self.on_nonsense(format!("node {peer}"), why.to_owned());
            self.dial(peer);
            return;
        }
        if answers {
            let ours = self.identity.hello(peer, link.terms(theirs.attempt));
            link.say(&Frame::Hello(ours));
        }
        self.stop_calling(peer);
        self.learn_from(&theirs.who);
        self.world.touch(peer);
        self.ready_links.ring(peer.index());
        self.lift_fence();
        self.report(Event::Connected { peer, before });
        if theirs.returns && !self.has_begun() && self.returning.is_none() {
            self.returning = Some(deadline(self.config.timing.backoff_max));
        }
        self.start_if_ready();
    }

    pub(crate) fn on_we_refused(&mut self, who: RefusedPeer, why: &Refusal) {
        let sentence = why.sentence(Refuser::Us);
        let (who, is_news) = match who {
            RefusedPeer::Member(peer) => {
                let is_news =
                    self.world.link(peer).refuse(why, format!("we refused it: {sentence}"));
                (format!("node {peer}"), is_news)
            }
            RefusedPeer::Claims(id, from) => {
                let link = self.world.known(id);
                let is_news =
                    link.is_none_or(|link| link.refuse(why, format!("we refused it: {sentence}")));
                (format!("node {id} at {from}"), is_news)
            }
            RefusedPeer::Unknown(from) => (from, true),
        };
        if is_news {
            let why = why.clone();
            self.report(Event::WeRefused { who, why });
        }
    }

    fn on_refused_us(&mut self, peer: NodeId, why: &Refusal) {
        let has_begun = self.has_begun();
        let link = self.world.link(peer);
        link.answered();
        let readmits = self.identity.readmits;
        if matches!(why, Refusal::WillCall) || (readmits && matches!(why, Refusal::Forgotten)) {
            return self.draw_consequences(peer, why, has_begun);
        }
        let sentence = why.sentence(Refuser::Them);
        if link.refuse(why, format!("it refused us: {sentence}")) {
            let why = why.clone();
            self.report(Event::RefusedUs { peer, why });
        }
        self.draw_consequences(peer, why, has_begun);
    }

    /// The meaning of a refusal: that we are not the process that the peer knew, that the peer is
    /// not the one that we knew, or nothing yet.
    fn draw_consequences(&mut self, peer: NodeId, why: &Refusal, has_begun: bool) {
        let link = self.world.link(peer);
        match why {
            Refusal::Left if has_begun => link.part(Parting::Left, "it knows that we left"),
            Refusal::GivenUp if has_begun => {
                link.part(Parting::GivenUp, "its queue of messages for us overflowed");
            }
            Refusal::Replaced { later_by, is_there } => self.give_way(peer, *later_by, *is_there),
            Refusal::Copied => self.fence_copy(peer),
            // It parted from a previous incarnation of ours.
            Refusal::Restarted | Refusal::Left | Refusal::GivenUp => self.fence(peer),
            Refusal::Forgotten if has_begun && !self.identity.readmits => {
                link.part(Parting::Restarted, "it was restarted and has lost its state");
                self.stop_calling(peer);
            }
            Refusal::Forgotten => {
                link.forget();
                link.fail();
                self.dial(peer);
            }
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
            | Refusal::Founders { .. }
            | Refusal::List
            | Refusal::Ahead
            | Refusal::Closed
            | Refusal::Full
            | Refusal::Nowhere(_)
            | Refusal::Certificate { .. }
            | Refusal::WillCall => {}
        }
    }
}
