//! The node's task: it owns the machine and every socket, and handles one event at a time.
//!
//! All sockets are polled by this one task. A message is read, handled and answered without passing
//! through a channel or waking another task; what one turn produces for a peer is written at once,
//! in one call. A turn looks only at links on which something has happened
//! ([`ready_links`](crate::ready_links)), so its cost does not grow with the size of the group.

mod members;
mod network;

use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, Sleep};
use vorrang_protocol::{GroupView, NodeId, NodeSet, Refused};

pub(crate) use members::Told;
use members::{Fence, Leaving};
pub(crate) use network::{Member, Network};

use crate::config::{Config, Membership, Start};
use crate::error::{CommandError, StopReason};
use crate::event::{Event, Eviction};
use crate::handle::{Control, Goodbye, Reply};
use crate::identity::Identity;
use crate::machine::Life;
use crate::node_core::{AnyCommand, NodeCore};
use crate::ready_links::ReadyLinks;
use crate::status::{GroupStatus, MachineReport, Status};
use crate::timers::deadline;
use crate::turns::{ReleaseOutcome, RequestDeadline};

pub(crate) struct Driver<W> {
    /// The machine and its application.
    pub(crate) core: Box<dyn NodeCore>,
    /// The network that carries its messages.
    pub(crate) world: W,
    /// The message that came last, in room that is used again.
    pub(crate) message: Vec<u8>,
    pub(crate) config: Config,
    pub(crate) identity: Arc<Identity>,
    pub(crate) control: mpsc::UnboundedReceiver<Control>,
    pub(crate) events: broadcast::Sender<Event>,
    pub(crate) started: watch::Sender<bool>,
    pub(crate) stopped: Arc<OnceLock<StopReason>>,
    pub(crate) phase: Phase,
    /// Commands given before the start.
    pub(crate) held: Vec<Held>,
    /// The reason why we are fenced, as long as a peer knows a previous incarnation of ours.
    pub(crate) fenced: Option<Fence>,
    /// When the application was last told that it is inside no more, and why.
    pub(crate) eviction: Option<(Instant, Eviction)>,
    /// Those of the network, and behind them that of the clock.
    pub(crate) ready_links: ReadyLinks,
    pub(crate) sleep: Pin<Box<Sleep>>,
    pub(crate) sleeps_until: Option<Instant>,
    /// When the others are looked at next, whether they are still heard.
    pub(crate) next_look: Instant,
    /// The reports about each member's absence.
    pub(crate) told: Vec<Told>,
    /// Set in a later life of a node: when it begins at the latest, with those that it has met.
    pub(crate) returning: Option<Instant>,
    /// The group of its machine, as was said last.
    pub(crate) belonging: Option<GroupView>,
    /// How it was with that group as was said last, and when it was last looked at.
    pub(crate) health: Option<Health>,
    pub(crate) seen_health: Option<Health>,
    /// What the application was told of the group.
    pub(crate) group_status: Option<GroupStatus>,
    /// Set while the node is leaving, and its request is not granted and released yet.
    pub(crate) leaving: Option<Leaving>,
    /// What was released for that.
    pub(crate) let_go: ReleaseOutcome,
}

/// How it is with a group: its view, whether it cannot go on, and who has forgotten it.
type Health = (u64, bool, NodeSet);

/// A command given before the start, and who waits for an answer, for how long.
type Held = (AnyCommand, Option<RequestDeadline>, Reply);

const LEAVING: Refused = Refused("this node is leaving the group");

/// The phase of a node.
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

impl<W: Network> Driver<W> {
    /// Runs until it is told to stop.
    pub(crate) async fn run(mut self) {
        W::open(&mut self);
        self.start_if_ready();
        poll_fn(|cx| self.poll_turn_or_fail(cx)).await;

        let Self { mut core, world, phase, control, let_go, stopped, .. } = self;
        core.on_stopped(stopped.get().unwrap_or(&StopReason::Vanished));
        let unacknowledged = world.unacknowledged();
        // So that the address is free when we say so, and its stable storage.
        world.close().await;
        drop(core);
        drop(control);
        match phase {
            Phase::Closing(_, replies) => {
                for reply in replies {
                    let _ = reply.send(Goodbye { unacknowledged, let_go });
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
        W::poll_arrivals(self, cx);
        let rung = self.ready_links.listen(cx.waker());
        let mut is_time = false;
        for &place in &rung {
            if place == self.clock() {
                is_time = true;
            } else {
                W::on_bell(self, place);
            }
        }
        self.ready_links.hand_back(rung);
        if is_time {
            self.handle_timers();
        }
        let is_done = self.settle();
        self.leave_if_free();
        self.look_at_group();
        // Records are handed over before anything leaves: a process may be killed in between, and
        // whoever reads them must not miss what others have seen of it.
        let (is_stored, failure) = (self.core.persist(), self.core.end_turn());
        if is_stored {
            W::flush(self);
        }
        while let Some(event) = self.core.next_event() {
            self.report(event);
        }
        if let Some(why) = failure {
            tracing::error!(%why, "the node fails");
            let _ = self.stopped.set(why);
            self.phase = Phase::Over(None);
        }
        // Deadlines that handling and flushing have set.
        self.poll_sleep();
        let is_over = match &self.phase {
            Phase::Over(_) => true,
            Phase::Closing(deadline, _) => self.world.is_settled() || Instant::now() >= *deadline,
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
                Control::Command(command, patience, reply) => {
                    self.on_command(command, patience, reply);
                }
                Control::Withdraw(reply) => self.on_withdraw(reply),
                Control::Status(reply) => {
                    let _ = reply.send(self.status());
                }
                Control::Leave(within, reply) => self.on_leave(within, reply),
                Control::ShutDown(reply) => self.on_shutdown(vec![reply]),
                Control::Kill(reply) => {
                    let _ = self.stopped.set(StopReason::Killed);
                    self.phase = Phase::Over(reply);
                    return;
                }
            }
        }
    }

    fn on_command(&mut self, command: AnyCommand, patience: Option<RequestDeadline>, reply: Reply) {
        if self.leaving.is_some() {
            let _ = reply.send(Err(CommandError::Refused(LEAVING)));
            return;
        }
        match (&self.phase, &self.fenced) {
            // Dropping the reply says that the node has stopped.
            (Phase::Closing(..) | Phase::Over(_), _) => {}
            (_, Some(fence)) => {
                let _ = reply.send(Err(CommandError::Fenced(fence.why.clone())));
            }
            (Phase::Gathering, None) => self.held.push((command, patience, reply)),
            (Phase::Running, None) => {
                let outcome = self
                    .check_prospect(&command)
                    .and_then(|()| self.core.command(command, patience, &mut self.world));
                let _ = reply.send(outcome);
                self.settle();
            }
        }
    }

    fn on_withdraw(&mut self, reply: Reply) {
        let outcome = match self.phase {
            // Dropping the reply says that the node has stopped.
            Phase::Closing(..) | Phase::Over(_) => return,
            Phase::Gathering if !self.held.is_empty() => {
                for (_, _, held) in self.held.drain(..) {
                    let _ = held.send(Err(CommandError::GivenUp));
                }
                Ok(())
            }
            Phase::Gathering | Phase::Running => self.core.withdraw(),
        };
        let _ = reply.send(outcome.map_err(CommandError::Refused));
    }

    /// Gives up what has waited for the start for too long.
    fn expire_held(&mut self, now: Instant) {
        let is_due =
            |(_, patience, _): &mut Held| patience.is_some_and(|patience| patience.until <= now);
        for (_, _, reply) in self.held.extract_if(.., is_due) {
            let _ = reply.send(Err(CommandError::GivenUp));
        }
    }

    pub(crate) fn on_shutdown(&mut self, mut leavers: Vec<oneshot::Sender<Goodbye>>) {
        match &mut self.phase {
            Phase::Closing(_, replies) => replies.append(&mut leavers),
            Phase::Over(_) => {}
            Phase::Gathering | Phase::Running => {
                let _ = self.stopped.set(StopReason::ShutDown);
                let until = deadline(self.config.timing.linger);
                self.phase = Phase::Closing(until, leavers);
                self.held.clear();
                self.stop_acting();
                self.world.say_bye(self.let_go == ReleaseOutcome::Abandoned);
            }
        }
    }

    pub(crate) fn stop_acting(&mut self) {
        self.core.stop_acting();
    }

    fn status(&self) -> Status {
        let MachineReport { sent, received, owes, awaits_timer, machine } = self.core.account();
        let (group, links) = (self.core.group_view(), self.world.statuses());
        // In an open group there are numbers that nobody has, and a machine does not know which.
        let is_somebody = |id: NodeId| {
            id == self.identity.me
                || links.iter().any(|link| link.peer == id)
                || group.as_ref().is_some_and(|group| group.members.contains(id))
        };
        let machine = machine.only_with(&is_somebody);
        Status {
            id: self.identity.me,
            started: *self.started.borrow(),
            fenced: self.fenced.as_ref().map(|fence| fence.why.clone()),
            eviction: self.eviction.map(|(at, why)| (at.elapsed(), why)),
            turn: self.core.stage(),
            group,
            health: self.core.group_health(),
            trouble: self.trouble(),
            lease_left: self.core.lease_until().map(|at| at.duration_since(Instant::now())),
            links,
            datagrams: self.world.datagrams(),
            sent,
            received,
            owes,
            awaits_timer,
            machine,
        }
    }

    // --- The machine and the application --------------------------------------------------------

    pub(crate) const fn acts(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.fenced.is_none()
    }

    /// Whether we may have handled anything, or sent anything.
    pub(crate) const fn has_begun(&self) -> bool {
        !matches!(self.phase, Phase::Gathering)
    }

    pub(crate) fn start_if_ready(&mut self) {
        let is_ready = match self.config.start {
            Start::AtOnce => true,
            Start::WhenAllMet => {
                let is_due = |at: Instant| at <= Instant::now();
                self.world.has_met_all() || self.returning.is_some_and(is_due)
            }
        };
        if !is_ready || !matches!(self.phase, Phase::Gathering) || self.fenced.is_some() {
            return;
        }
        self.phase = Phase::Running;
        self.identity.has_begun.store(true, Ordering::Relaxed);
        let life = match (&self.config.membership, self.returning) {
            (Membership::Open(open), _) if open.is_restored => Life::Restored,
            (Membership::Fixed | Membership::Open(_), _) => Life::AsMade,
            (Membership::Returning(_), None) => {
                self.world.begin();
                Life::First
            }
            (Membership::Returning(generation), Some(_)) => Life::Later(generation.number()),
        };
        if matches!(life, Life::Later(_)) {
            self.report(Event::Returned);
        }
        self.core.start(life, &mut self.world);
        self.started.send_replace(true);
        self.report(Event::Started);
        for (command, patience, reply) in std::mem::take(&mut self.held) {
            self.on_command(command, patience, reply);
        }
        W::on_begun(self);
    }

    /// Says so if the machine's group can go on no more, or can again.
    fn look_at_health(&mut self) {
        let (Some(group), Some(health)) = (&self.belonging, self.core.group_health()) else {
            return;
        };
        let trouble = self.config.service.trouble(&health, group);
        // Who exactly is silent is worth no word of its own.
        let kind = (group.view, trouble.is_some(), health.lost.clone());
        // If it was this node that stood still, what came meanwhile has not been read yet.
        let is_sure = !health.may_recover || self.seen_health.as_ref() == Some(&kind);
        self.seen_health = Some(kind.clone());
        if self.health.as_ref() == Some(&kind) || !is_sure {
            return;
        }
        let was_troubled = self.health.as_ref().is_some_and(|(_, was_troubled, _)| *was_troubled);
        let event = match trouble {
            Some(why) => Some(Event::NoMajority { why }),
            None => was_troubled.then_some(Event::Majority { view: group.view }),
        };
        self.health = Some(kind);
        if let Some(event) = event {
            self.report(event);
        }
    }

    /// Tells the application what is known of the group by now.
    fn tell_group(&mut self) {
        let Some(address_book) = &self.identity.address_book else { return };
        let now = GroupStatus {
            view: self.core.group_view(),
            health: self.core.group_health(),
            addresses: address_book.addresses(),
        };
        if self.group_status.as_ref() != Some(&now) {
            if self.core.on_group(&now) {
                self.ready_links.ring(self.clock());
            }
            self.group_status = Some(now);
        }
    }

    /// Says so if the machine's group has become another one.
    fn look_at_group(&mut self) {
        if self.config.openness().is_none() {
            return;
        }
        let now = self.core.group_view();
        if now == self.belonging {
            return;
        }
        let was = std::mem::replace(&mut self.belonging, now.clone());
        self.tell_group();
        let Some(now) = now else { return };
        let superseded = was.filter(|was| was.is_in && was.founded != now.founded);
        self.report(Event::View(now));
        if let Some(was) = superseded {
            self.report(Event::Superseded { was });
        }
    }

    pub(crate) fn settle(&mut self) -> bool {
        let acts = self.acts();
        let is_done = self.core.settle(acts, &mut self.world);
        if self.core.take_eviction() {
            let why = self.why_evicted();
            self.eviction = Some((Instant::now(), why));
            self.report(Event::Evicted(why));
        }
        is_done
    }

    // --- Time -----------------------------------------------------------------------------------

    fn next_deadline(&self) -> Instant {
        let closing = match &self.phase {
            Phase::Closing(deadline, _) => Some(*deadline),
            Phase::Gathering | Phase::Running | Phase::Over(_) => None,
        };
        // Expired timers of a fenced node wait.
        let own = if self.acts() { self.core.next_deadline() } else { None };
        let leaving = self.leaving.as_ref().map(|leaving| leaving.until);
        let held = self.held.iter().filter_map(|(_, patience, _)| patience.map(|it| it.until));
        let patience = self.core.gives_up_at().into_iter().chain(held).min();
        let begins = self.returning.filter(|_| !self.has_begun());
        [own, self.world.next_deadline(), closing, leaving, patience, begins]
            .into_iter()
            .flatten()
            .fold(self.next_look, Instant::min)
    }

    fn handle_timers(&mut self) {
        self.sleeps_until = None;
        let now = Instant::now();
        if self.acts() {
            self.core.handle_timers(now, &mut self.world);
            self.look_at_health();
            self.tell_group();
        }
        self.core.expire(now);
        self.expire_held(now);
        self.start_if_ready();
        W::on_time(self, now);
        if self.next_look <= now {
            self.next_look = now + self.config.timing.heartbeat / 2;
            W::look(self, now);
            self.look_at_members();
        }
    }

    /// Sees to it that the clock rings at the next deadline.
    fn poll_sleep(&mut self) {
        let next = self.next_deadline();
        if self.sleeps_until == Some(next) {
            return;
        }
        self.sleeps_until = Some(next);
        self.sleep.as_mut().reset(next);
        let clock = self.clock();
        let wakers = self.ready_links.wakers();
        if self.sleep.as_mut().poll(&mut Context::from_waker(&wakers[clock])).is_ready() {
            self.ready_links.ring(clock);
        }
    }

    /// The place of the clock's waker.
    const fn clock(&self) -> usize {
        self.ready_links.last()
    }

    /// Logs an event, and tells the application and all listeners.
    pub(crate) fn report(&mut self, event: Event) {
        event.log();
        if self.core.on_event(&event) {
            // Its commands are handled in the next turn, if not in this one.
            self.ready_links.ring(self.clock());
        }
        // There need not be a listener.
        let _ = self.events.send(event);
    }
}
