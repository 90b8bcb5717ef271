//! The node's task: it owns the machine and every connection, and handles one event at a time.
//!
//! All sockets are polled by this one task. A message is read, handled and answered without passing
//! through a channel or waking another task; what one turn produces for a peer is written at once,
//! in one call. A turn looks at every link, so its cost grows with the size of the group, by some
//! tens of nanoseconds a link.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

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
use crate::hello::Identity;
use crate::link::Link;
use crate::meet::Arrival;
use crate::status::Status;
use crate::timers::{Timers, deadline};
use crate::transport::Transport;
use crate::world::World;

/// How many local events (commands of the application, messages to self) a turn handles before it
/// lets other tasks run.
const LOCAL_EVENTS_A_TURN: usize = 256;

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
        poll_fn(|cx| self.poll_turn_or_fail(cx)).await;

        let Self { world, mut tasks, phase, control, .. } = self;
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

    /// A turn; a panic in it, of the machine or of the application, ends this node with a reason
    /// and nothing else.
    fn poll_turn_or_fail(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let turn = panic::catch_unwind(AssertUnwindSafe(|| self.poll_turn(cx)));
        turn.unwrap_or_else(|panicked| {
            let said = panicked.downcast_ref::<&str>().copied();
            let said = said.or_else(|| panicked.downcast_ref::<String>().map(String::as_str));
            let why = format!("it panicked: {}", said.unwrap_or("without a word"));
            tracing::error!(why, "the node fails");
            let _ = self.stopped.set(StopReason::Failed(why.into()));
            self.phase = Phase::Over(None);
            Poll::Ready(())
        })
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
                let until = deadline(self.config.timing.linger);
                self.phase = Phase::Closing(until, vec![reply]);
                self.held.clear();
                self.stop_acting();
                for link in self.world.others_mut() {
                    link.say_bye();
                }
            }
        }
    }

    pub(crate) fn stop_acting(&mut self) {
        self.world.timers.clear();
        self.later.clear();
        self.asked.clear();
        self.world.to_self.clear();
    }

    fn status(&self) -> Status {
        let by_kind =
            |counts: &[u64]| P::Message::KINDS.iter().copied().zip(counts.to_vec()).collect();
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

    pub(crate) const fn acts(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.fenced.is_none()
    }

    pub(crate) fn start_if_ready(&mut self) {
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

    pub(crate) fn command(&mut self, command: P::Command) -> Result<(), Refused> {
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

    pub(crate) fn message(&mut self, from: NodeId, seq: u64, message: P::Message) {
        self.world.begin(|| What::Receive { from, seq, message: message.clone() });
        self.machine.on_message(from, message, &mut self.world);
    }

    /// Passes on notices, carries out what the application asks, and delivers messages to self,
    /// until nothing is left. False if it stopped before, to let others run.
    pub(crate) fn settle(&mut self) -> bool {
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
            self.later.set((self.later_so_far, later), deadline(delay));
        }
    }

    // --- Time -----------------------------------------------------------------------------------

    fn next_deadline(&self) -> Option<Instant> {
        let closing = match &self.phase {
            Phase::Closing(deadline, _) => Some(*deadline),
            Phase::Gathering | Phase::Running | Phase::Over(_) => None,
        };
        let all = [self.world.timers.next(), self.later.next(), self.next_look, closing];
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

    pub(crate) fn report(&self, event: Event) {
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
