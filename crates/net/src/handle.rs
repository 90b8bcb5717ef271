//! How the rest of the program talks to a node.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, oneshot, watch};
use vorrang_protocol::NodeId;

use crate::error::{CommandError, StopReason, Stopped};
use crate::event::Event;
use crate::node_core::AnyCommand;
use crate::status::Status;
use crate::turns::{ReleaseOutcome, RequestDeadline};

/// The requests of a handle to the node's task.
#[derive(Debug)]
pub(crate) enum Control {
    Command(AnyCommand, Option<RequestDeadline>, Reply),
    Withdraw(Reply),
    Status(oneshot::Sender<Status>),
    Leave(Duration, oneshot::Sender<Goodbye>),
    ShutDown(oneshot::Sender<Goodbye>),
    Kill(Option<oneshot::Sender<()>>),
}

pub(crate) type Reply = oneshot::Sender<Result<(), CommandError>>;

/// How a shutdown went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goodbye {
    /// How many messages were not acknowledged in time: their receivers were away.
    pub unacknowledged: usize,
    /// What the node had to release before it left ([`Handle::leave`]).
    pub let_go: ReleaseOutcome,
}

/// A running node that takes commands of type `C`: those of the problem that its algorithm solves.
///
/// Which algorithm it runs does not matter from here on, so nodes of different algorithms for one
/// problem have handles of one type. Clones are the same node; when the last is dropped, the node
/// is killed.
///
/// A node can only be given commands of its own problem:
///
/// ```compile_fail,E0308
/// use vorrang_algorithms::{election, mutex};
/// use vorrang_net::Handle;
///
/// async fn confuse(node: Handle<mutex::Command>) {
///     let _ = node.command(election::Command::Elect).await;
/// }
/// ```
pub struct Handle<C> {
    raw: Arc<RawHandle>,
    commands: PhantomData<fn(C)>,
}

impl<C> Clone for Handle<C> {
    fn clone(&self) -> Self {
        Self { raw: Arc::clone(&self.raw), commands: PhantomData }
    }
}

impl<C> fmt::Debug for Handle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("id", &self.raw.id).finish_non_exhaustive()
    }
}

/// A handle without the type of commands.
#[derive(Debug)]
pub(crate) struct RawHandle {
    id: NodeId,
    control: mpsc::UnboundedSender<Control>,
    stopped: Arc<OnceLock<StopReason>>,
    started: watch::Receiver<bool>,
    events: Mutex<broadcast::Receiver<Event>>,
}

impl Drop for RawHandle {
    fn drop(&mut self) {
        let _ = self.control.send(Control::Kill(None));
    }
}

impl<C: Send + 'static> Handle<C> {
    pub(crate) fn new(raw: RawHandle) -> Self {
        Self { raw: Arc::new(raw), commands: PhantomData }
    }

    /// Which node this is.
    pub fn id(&self) -> NodeId {
        self.raw.id
    }

    /// Gives the machine a command, and waits until it has handled it. Before the machine has
    /// started, that means waiting for the start.
    ///
    /// # Errors
    ///
    /// If the machine refuses the command, the node is fenced, it has stopped, or a node that is
    /// needed for it has left for good.
    pub async fn command(&self, command: C) -> Result<(), CommandError> {
        self.raw.command(Box::new(command), None).await
    }

    /// Gives the machine a command without waiting: it is handled after all that were given before,
    /// and nobody is told if it is refused. For what must also be done where nothing can be waited
    /// for, as when something is dropped.
    pub fn post(&self, command: C) {
        let (reply, _) = oneshot::channel();
        // There is nobody to tell that the node has stopped.
        let _ = self.raw.control.send(Control::Command(Box::new(command), None, reply));
    }

    /// Why the node has stopped, if it has.
    pub fn why_stopped(&self) -> Option<StopReason> {
        self.raw.stopped.get().cloned()
    }

    /// As [`command`](Self::command), for one that asks: if it is not granted `within` this time,
    /// it is given up as by [`withdraw`](Self::withdraw), and [`Event::TimedOut`] says so.
    ///
    /// # Errors
    ///
    /// As of a command; and if the time is over before the machine has started, in which case
    /// nothing was asked.
    pub async fn ask_within(&self, command: C, within: Duration) -> Result<(), CommandError> {
        self.raw.command(Box::new(command), Some(RequestDeadline::of(within))).await
    }

    /// Gives up what was asked for: from now on it is not granted to this application any more.
    /// The node releases it the moment it gets it, so that the others wait no longer than one
    /// hand-over for it. To ask for the same meanwhile is to take over the request that was given
    /// up, with its place in the queue.
    ///
    /// Only nodes that were told what a turn is can do that; see
    /// [`Node::steps`](crate::Node::steps).
    ///
    /// # Errors
    ///
    /// If nothing is asked for, or it was granted before, or given up before; if the node does not
    /// know turns; if it has stopped.
    pub async fn withdraw(&self) -> Result<(), CommandError> {
        self.raw.ask(Control::Withdraw).await?
    }

    /// Asks how the node is.
    ///
    /// # Errors
    ///
    /// If it has stopped.
    pub async fn status(&self) -> Result<Status, Stopped> {
        self.raw.ask(Control::Status).await
    }

    /// Waits until the machine has started.
    ///
    /// # Errors
    ///
    /// If the node stops before.
    pub async fn started(&self) -> Result<(), Stopped> {
        self.raw.started().await
    }

    /// The events of the node, from the last call of this method on; at the first call, from the
    /// start on. A receiver that falls more than [`EVENTS_KEPT`] behind misses the oldest.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.raw.events()
    }

    /// Leaves the group without taking anything along: releases what the node has, gives up what it
    /// waits for, and waits until that was granted and released, at most `within` this time; then
    /// it shuts down. Meanwhile it takes no commands and goes on answering the others. A machine
    /// with a membership protocol asks its group to go on without it, and what it waits for is gone
    /// with it as soon as that has another view.
    ///
    /// # Errors
    ///
    /// If it had stopped before.
    pub async fn leave(self, within: Duration) -> Result<Goodbye, Stopped> {
        self.raw.ask(|reply| Control::Leave(within, reply)).await
    }

    /// Ends the node in good order: it takes no more commands and handles no more messages, waits
    /// until what it sent is acknowledged (at most [`Timing::linger`](crate::Timing::linger)), says
    /// goodbye and closes. When this returns, the address is free again.
    ///
    /// # Errors
    ///
    /// If it had stopped before.
    pub async fn shutdown(self) -> Result<Goodbye, Stopped> {
        self.raw.ask(Control::ShutDown).await
    }

    /// Ends the node at once, as a crash would: nothing is flushed, no peer is told. When this
    /// returns, the address is free again.
    pub async fn kill(self) {
        // Already stopped is as good.
        let _ = self.raw.ask(|reply| Control::Kill(Some(reply))).await;
    }
}

impl RawHandle {
    pub(crate) const fn new(
        id: NodeId,
        control: mpsc::UnboundedSender<Control>,
        stopped: Arc<OnceLock<StopReason>>,
        started: watch::Receiver<bool>,
        events: broadcast::Receiver<Event>,
    ) -> Self {
        Self { id, control, stopped, started, events: Mutex::new(events) }
    }

    async fn command(
        &self,
        command: AnyCommand,
        patience: Option<RequestDeadline>,
    ) -> Result<(), CommandError> {
        self.ask(|reply| Control::Command(command, patience, reply)).await?
    }

    async fn started(&self) -> Result<(), Stopped> {
        let mut started = self.started.clone();
        match started.wait_for(|&started| started).await {
            Ok(_) => Ok(()),
            Err(_) => Err(self.stopped()),
        }
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        let mut kept = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = kept.resubscribe();
        std::mem::replace(&mut *kept, fresh)
    }

    async fn ask<T>(
        &self,
        control: impl FnOnce(oneshot::Sender<T>) -> Control,
    ) -> Result<T, Stopped> {
        let (reply, answer) = oneshot::channel();
        let _ = self.control.send(control(reply));
        if let Ok(answer) = answer.await {
            return Ok(answer);
        }
        if self.stopped.get().is_none() {
            // It fell over this very question and has not yet said why.
            self.control.closed().await;
        }
        Err(self.stopped())
    }

    fn stopped(&self) -> Stopped {
        let why = self.stopped.get().cloned();
        Stopped { why: why.unwrap_or(StopReason::Vanished) }
    }
}

/// How many events are kept for a slow listener.
pub const EVENTS_KEPT: usize = 1024;
