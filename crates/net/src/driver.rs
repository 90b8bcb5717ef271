//! The node's task: it owns the machine and every connection, and handles one event at a time.
//!
//! All sockets are polled by this one task. A message is read, handled and answered without passing
//! through a channel or waking another task; what one turn produces for a peer is written at once, in
//! one call. A turn looks at every link, so its cost grows with the size of the group, by some tens of
//! nanoseconds a link.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rand_core::Rng;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use vorrang_protocol::{Message, NodeId, Protocol, Refused};
use vorrang_trace::What;

use crate::application::{Application, ApplicationEffects, Later};
use crate::config::{Config, Start};
use crate::error::{CommandError, StopReason};
use crate::event::Event;
use crate::handle::{Control, Goodbye, Reply};
use crate::hello::{Hello, Identity, Refusal, Refuser};
use crate::link::{Health, Link};
use crate::meet::{self, Arrival, Dial, Guest};
use crate::status::Status;
use crate::timers::Timers;
use crate::transport::Transport;
use crate::wire::Frame;
use crate::world::World;

/// How many local events (commands of the application, messages to self) a turn handles before it
/// lets other tasks run.
const LOCAL_EVENTS_A_TURN: usize = 256;
/// How often a turn reads from one link before it looks at the others.
const READS_A_TURN: usize = 4;

pub(crate) struct Driver<P: Protocol, T: Transport, A> {
    pub(crate) machine: P,
    pub(crate) world: World<P, T::Stream>,
    pub(crate) application: A,
    pub(crate) fx: ApplicationEffects<P>,
    /// Commands of the application that wait for the machine.
    pub(crate) asked: VecDeque<P::Command>,
    pub(crate) later: Timers<(u64, Later<P::Command>)>,
    pub(crate) later_so_far: u64,
    pub(crate) config: Config,
    pub(crate) identity: Arc<Identity>,
    pub(crate) transport: T,
    pub(crate) control: mpsc::UnboundedReceiver<Control<P>>,
    pub(crate) arrivals: mpsc::UnboundedReceiver<Arrival<T::Stream>>,
    /// Cloned into every task that makes connections.
    pub(crate) door: mpsc::UnboundedSender<Arrival<T::Stream>>,
    pub(crate) tasks: JoinSet<()>,
    pub(crate) events: broadcast::Sender<Event>,
    pub(crate) started: watch::Sender<bool>,
    pub(crate) stopped: Arc<OnceLock<StopReason>>,
    pub(crate) phase: Phase,
    /// Commands given before the start.
    pub(crate) held: Vec<(P::Command, Reply)>,
    pub(crate) fenced: Option<String>,
    pub(crate) sleep: Pin<Box<Sleep>>,
    pub(crate) sleeps_until: Option<Instant>,
    /// When links are looked at next: acknowledgements owed, peers fallen silent.
    pub(crate) next_look: Option<Instant>,
}

/// Where the node is in its life.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Some peers have not been met.
    Gathering,
    Running,
    /// Flushing, until then.
    Closing(Instant, Vec<oneshot::Sender<Goodbye>>),
    /// Killed or failed.
    Over(Option<oneshot::Sender<()>>),
}

impl<P: Protocol, T: Transport, A: Application<P>> Driver<P, T, A> {
    /// Runs until it is told to stop.
    pub(crate) async fn run(mut self) {
        let peers: Vec<NodeId> = self.world.others().map(|link| link.peer).collect();
        for peer in peers {
            self.dial(peer);
        }
        self.start_if_ready();
        poll_fn(|cx| self.poll_turn(cx)).await;

        let Self {
            world,
            mut tasks,
            phase,
            control,
            ..
        } = self;
        let unacknowledged = world.others().map(Link::unacknowledged).sum();
        drop(world);
        // Waits until the listener is closed, so that the address is free when we say so.
        tasks.shutdown().await;
        drop(control);
        match phase {
            Phase::Closing(_, replies) => {
                for reply in replies {
                    let _ = reply.send(Goodbye { unacknowledged });
                }
            }
            Phase::Over(Some(reply)) => {
                let _ = reply.send(());
            }
            Phase::Over(None) | Phase::Gathering | Phase::Running => {}
        }
    }

    /// Handles all that has happened, then writes all that came of it.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_control(cx);
        self.poll_arrivals(cx);
        let mut is_done = self.poll_links(cx);
        self.handle_timers();
        is_done &= self.settle();
        self.flush(cx);
        if let Some(tape) = &mut self.world.tape {
            tape.hand_over();
        }
        if let Some(why) = self.world.failure.take() {
            tracing::error!(why, "the node fails");
            let _ = self.stopped.set(StopReason::Failed(why.into()));
            self.phase = Phase::Over(None);
        }
        // Deadlines that handling and flushing have set.
        self.poll_sleep(cx);
        let is_over = match &self.phase {
            Phase::Over(_) => true,
            Phase::Closing(deadline, _) => {
                self.world.others().all(Link::is_settled) || Instant::now() >= *deadline
            }
            Phase::Gathering | Phase::Running => false,
        };
        if is_over {
            return Poll::Ready(());
        }
        if !is_done {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    // --- What the handle asks -------------------------------------------------------------------

    fn poll_control(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(control)) = self.control.poll_recv(cx) {
            match control {
                Control::Command(command, reply) => self.on_command(command, reply),
                Control::Status(reply) => {
                    let _ = reply.send(self.status());
                }
                Control::ShutDown(reply) => self.on_shutdown(reply),
                Control::Kill(reply) => {
                    let _ = self.stopped.set(StopReason::Killed);
                    self.phase = Phase::Over(reply);
                    return;
                }
            }
        }
    }

    fn on_command(&mut self, command: P::Command, reply: Reply) {
        match (&self.phase, &self.fenced) {
            // Dropping the reply says that the node has stopped.
            (Phase::Closing(..) | Phase::Over(_), _) => {}
            (_, Some(why)) => {
                let _ = reply.send(Err(CommandError::Fenced(why.clone())));
            }
            (Phase::Gathering, None) => self.held.push((command, reply)),
            (Phase::Running, None) => {
                let outcome = self.command(command);
                let _ = reply.send(outcome.map_err(CommandError::Refused));
                self.settle();
            }
        }
    }

    fn on_shutdown(&mut self, reply: oneshot::Sender<Goodbye>) {
        match &mut self.phase {
            Phase::Closing(_, replies) => replies.push(reply),
            Phase::Over(_) => {}
            Phase::Gathering | Phase::Running => {
                let _ = self.stopped.set(StopReason::ShutDown);
                let deadline = Instant::now() + self.config.timing.linger;
                self.phase = Phase::Closing(deadline, vec![reply]);
                self.held.clear();
                self.stop_acting();
                for link in self.world.others_mut() {
                    link.say_bye();
                }
            }
        }
    }

    fn stop_acting(&mut self) {
        self.world.timers.clear();
        self.later.clear();
        self.asked.clear();
        self.world.to_self.clear();
    }

    fn status(&self) -> Status {
        let by_kind = |counts: &[u64]| {
            P::Message::KINDS
                .iter()
                .copied()
                .zip(counts.to_vec())
                .collect()
        };
        Status {
            id: self.world.me,
            incarnation: self.identity.incarnation,
            started: *self.started.borrow(),
            fenced: self.fenced.clone(),
            links: self.world.others().map(Link::status).collect(),
            sent: by_kind(&self.world.sent),
            received: by_kind(&self.world.received),
            machine: format!("{:?}", self.machine),
        }
    }

    // --- The machine and the application --------------------------------------------------------

    const fn acts(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.fenced.is_none()
    }

    fn start_if_ready(&mut self) {
        let is_ready = match self.config.start {
            Start::AtOnce => true,
            Start::WhenAllMet => self.world.others().all(|link| link.incarnation.is_some()),
        };
        if !is_ready || !matches!(self.phase, Phase::Gathering) || self.fenced.is_some() {
            return;
        }
        self.phase = Phase::Running;
        if let Some(tape) = &mut self.world.tape {
            tape.stamp();
        }
        self.machine.on_start(&mut self.world);
        self.application.on_start(&mut self.fx);
        self.take_wishes();
        self.started.send_replace(true);
        self.report(Event::Started);
        for (command, reply) in std::mem::take(&mut self.held) {
            self.on_command(command, reply);
        }
        for index in 0..self.world.links.len() {
            if index != self.world.me.index() {
                self.handle_frames(NodeId(index as u32));
            }
        }
    }

    fn command(&mut self, command: P::Command) -> Result<(), Refused> {
        // Stamped before its effects can leave, and taken back if there are none.
        self.world.begin(|| What::Command(command.clone()));
        let outcome = self.machine.on_command(command, &mut self.world);
        if outcome.is_err()
            && let Some(tape) = &mut self.world.tape
        {
            tape.take_back();
        }
        outcome
    }

    fn message(&mut self, from: NodeId, seq: u64, message: P::Message) {
        self.world.begin(|| What::Receive {
            from,
            seq,
            message: message.clone(),
        });
        self.machine.on_message(from, message, &mut self.world);
    }

    /// Passes on notices, carries out what the application asks, and delivers messages to self,
    /// until nothing is left. False if it stopped before, to let others run.
    fn settle(&mut self) -> bool {
        for _ in 0..LOCAL_EVENTS_A_TURN {
            if let Some(notice) = self.world.notices.pop_front() {
                self.application.on_notice(notice, &mut self.fx);
                self.take_wishes();
            } else if !self.acts() {
                return true;
            } else if let Some((seq, message)) = self.world.to_self.pop_front() {
                self.message(self.world.me, seq, message);
            } else if let Some(command) = self.asked.pop_front() {
                if let Err(refused) = self.command(command) {
                    self.application.on_refused(refused, &mut self.fx);
                    self.take_wishes();
                }
            } else {
                return true;
            }
        }
        false
    }

    fn take_wishes(&mut self) {
        self.asked.extend(self.fx.commands.drain(..));
        for (delay, later) in self.fx.later.drain(..) {
            self.later_so_far += 1;
            let at = Instant::now() + delay;
            self.later.set((self.later_so_far, later), at);
        }
    }

    // --- Time -----------------------------------------------------------------------------------

    fn next_deadline(&self) -> Option<Instant> {
        let closing = match &self.phase {
            Phase::Closing(deadline, _) => Some(*deadline),
            Phase::Gathering | Phase::Running | Phase::Over(_) => None,
        };
        let all = [
            self.world.timers.next(),
            self.later.next(),
            self.next_look,
            closing,
        ];
        all.into_iter().flatten().min()
    }

    fn handle_timers(&mut self) {
        if self.next_deadline().is_none() {
            return;
        }
        let now = Instant::now();
        while self.acts()
            && let Some(timer) = self.world.timers.pop_due(now)
        {
            self.world.begin(|| What::Timer(timer));
            self.machine.on_timer(timer, &mut self.world);
            self.settle();
        }
        while self.acts()
            && let Some((_, later)) = self.later.pop_due(now)
        {
            match later {
                Later::Wake => {
                    self.application.on_wake(&mut self.fx);
                    self.take_wishes();
                }
                Later::Command(command) => self.asked.push_back(command),
            }
            self.settle();
        }
        if self.next_look.is_some_and(|at| at <= now) {
            self.next_look = None;
            self.look_at_links(now);
        }
    }

    /// Sees to it that the task is woken at the next deadline.
    fn poll_sleep(&mut self, cx: &mut Context<'_>) {
        let Some(next) = self.next_deadline() else {
            self.sleeps_until = None;
            return;
        };
        if self.sleeps_until != Some(next) {
            self.sleep.as_mut().reset(next);
            self.sleeps_until = Some(next);
        }
        if self.sleep.as_mut().poll(cx).is_ready() {
            self.sleeps_until = None;
            cx.waker().wake_by_ref();
        }
    }

    fn look_at_links(&mut self, now: Instant) {
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

    // --- Links ----------------------------------------------------------------------------------

    /// Reads from every link and handles what came. False if there may be more.
    fn poll_links(&mut self, cx: &mut Context<'_>) -> bool {
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

    fn handle_frames(&mut self, peer: NodeId) {
        loop {
            let outcome = match self.world.link(peer).next_frame::<P::Message>() {
                Ok(Some(frame)) => self.handle_frame(peer, frame),
                Ok(None) => return,
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = outcome {
                let from = format!("node {peer}");
                tracing::warn!(%peer, why, "closed a connection that made no sense");
                self.report(Event::Malformed {
                    from,
                    why: why.clone(),
                });
                self.lose(peer, &why);
                return;
            }
        }
    }

    fn handle_frame(&mut self, peer: NodeId, frame: Frame<P::Message>) -> Result<(), String> {
        let acts = self.acts();
        let link = self.world.link(peer);
        let (Frame::Data { received, .. } | Frame::Ack { received }) = &frame else {
            return self.handle_rare(peer, &frame);
        };
        if !link.acknowledge(*received) {
            return Err(format!(
                "it acknowledges {received} messages, more than it was sent"
            ));
        }
        if let Frame::Data { seq, message, .. } = frame
            && acts
        {
            match link.receive(seq) {
                None => return Err(format!("message {seq} came before those in front of it")),
                Some(false) => tracing::debug!(%peer, seq, "dropped a message seen before"),
                Some(true) => {
                    self.world.received[message.kind()] += 1;
                    self.message(peer, seq, message);
                    self.settle();
                }
            }
        }
        Ok(())
    }

    fn handle_rare(&mut self, peer: NodeId, frame: &Frame<P::Message>) -> Result<(), String> {
        match frame {
            Frame::Bye => {
                let link = self.world.link(peer);
                link.say_ack();
                // As much of the acknowledgement as fits; the peer does not depend on it.
                let mut nobody = Context::from_waker(std::task::Waker::noop());
                let _ = link.flush(&mut nobody);
                link.give_up("it has left");
                self.report(Event::Left { peer });
                Ok(())
            }
            Frame::Refuse(why) => {
                self.on_refused_us(peer, why);
                self.lose(peer, "it refused us");
                Ok(())
            }
            Frame::Hello(_) => Err("it said hello twice".to_owned()),
            Frame::Data { .. } | Frame::Ack { .. } => unreachable!("handled where it came in"),
        }
    }

    /// Writes what was queued, and notes whether anything will have to be looked at.
    fn flush(&mut self, cx: &mut Context<'_>) {
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
    fn dial(&mut self, peer: NodeId) {
        while self.tasks.try_join_next().is_some() {}
        let seed = self.world.rng.next_u64();
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
            seed,
        };
        self.tasks.spawn(meet::dial(
            self.transport.clone(),
            Arc::clone(&self.identity),
            self.config.timing,
            whom,
            self.door.clone(),
        ));
    }

    // --- Those who come -------------------------------------------------------------------------

    fn poll_arrivals(&mut self, cx: &mut Context<'_>) {
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

    fn on_inbound(&mut self, stream: T::Stream, theirs: &Hello) {
        let peer = theirs.sender;
        let timing = self.config.timing;
        let link = self.world.link(peer);
        let ours = self
            .identity
            .hello(peer, link.incarnation, link.received(), theirs.attempt);
        if theirs
            .knows
            .is_some_and(|known| known != self.identity.incarnation)
        {
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
            Some(known) if known != theirs.incarnation => Some(Refusal::Restarted {
                known,
                new: theirs.incarnation,
            }),
            Some(_) | None => is_gone.then_some(Refusal::Left),
        };
        if let Some(why) = refusal {
            self.on_we_refused(Guest::Member(peer), &why);
            self.tasks
                .spawn(async move { meet::refuse(stream, &why, timing).await });
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

    fn connect(&mut self, stream: T::Stream, theirs: &Hello, reply: Option<Hello>) {
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
        let nodes = self.identity.nodes;
        let (who, is_news) = match who {
            Guest::Member(peer) => {
                let is_news = self
                    .world
                    .link(peer)
                    .refuse(why, format!("we refused it: {sentence}"));
                (format!("node {peer}"), is_news)
            }
            Guest::Claims(id, from) => {
                let is_peer = id != self.world.me && id.0 < nodes;
                let is_news = !is_peer
                    || self
                        .world
                        .link(id)
                        .refuse(why, format!("we refused it: {sentence}"));
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

    fn report(&self, event: Event) {
        match &event {
            Event::Connected { .. } | Event::Lost { .. } | Event::Left { .. } | Event::Started => {
                tracing::info!("{event}");
            }
            // These have been logged, louder, with what belongs to them.
            Event::WeRefused { .. }
            | Event::RefusedUs { .. }
            | Event::Malformed { .. }
            | Event::Fenced { .. } => {}
        }
        // Nobody has to listen.
        let _ = self.events.send(event);
    }
}
