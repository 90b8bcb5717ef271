//! How the rest of the program talks to a node.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{broadcast, mpsc, oneshot, watch};
use vorrang_protocol::NodeId;

use crate::error::{CommandError, StopReason, Stopped};
use crate::event::Event;
use crate::resident::AnyCommand;
use crate::status::Status;

/// What a handle asks of the node's task.
#[derive(Debug)]
pub(crate) enum Control {
    Command(AnyCommand, Reply),
    Status(oneshot::Sender<Status>),
    ShutDown(oneshot::Sender<Goodbye>),
    Kill(Option<oneshot::Sender<()>>),
}

pub(crate) type Reply = oneshot::Sender<Result<(), CommandError>>;

/// How a shutdown went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goodbye {
    /// How many messages were not acknowledged in time: their receivers were away.
    pub unacknowledged: usize,
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
    reins: Arc<Reins>,
    commands: PhantomData<fn(C)>,
}

impl<C> Clone for Handle<C> {
    fn clone(&self) -> Self {
        Self { reins: Arc::clone(&self.reins), commands: PhantomData }
    }
}

impl<C> fmt::Debug for Handle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("id", &self.reins.id).finish_non_exhaustive()
    }
}

/// A handle whatever the commands are.
#[derive(Debug)]
pub(crate) struct Reins {
    id: NodeId,
    control: mpsc::UnboundedSender<Control>,
    stopped: Arc<OnceLock<StopReason>>,
    started: watch::Receiver<bool>,
    events: Mutex<broadcast::Receiver<Event>>,
}

impl Drop for Reins {
    fn drop(&mut self) {
        let _ = self.control.send(Control::Kill(None));
    }
}

impl<C: Send + 'static> Handle<C> {
    pub(crate) fn new(reins: Reins) -> Self {
        Self { reins: Arc::new(reins), commands: PhantomData }
    }

    /// Which node this is.
    pub fn id(&self) -> NodeId {
        self.reins.id
    }

    /// Gives the machine a command, and waits until it has handled it. Before the machine has
    /// started, that means waiting for the start.
    ///
    /// # Errors
    ///
    /// If the machine refuses the command, the node is fenced, or it has stopped.
    pub async fn command(&self, command: C) -> Result<(), CommandError> {
        self.reins.command(Box::new(command)).await
    }

    /// Asks how the node is.
    ///
    /// # Errors
    ///
    /// If it has stopped.
    pub async fn status(&self) -> Result<Status, Stopped> {
        self.reins.ask(Control::Status).await
    }

    /// Waits until the machine has started.
    ///
    /// # Errors
    ///
    /// If the node stops before.
    pub async fn started(&self) -> Result<(), Stopped> {
        self.reins.started().await
    }

    /// What happens to the node's links, from the last call of this method on; at the first call,
    /// from the start on. A receiver that falls more than [`EVENTS_KEPT`] behind misses the oldest.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.reins.events()
    }

    /// Ends the node in good order: it takes no more commands and handles no more messages, waits
    /// until what it sent is acknowledged (at most [`Timing::linger`](crate::Timing::linger)), says
    /// goodbye and closes. When this returns, the address is free again.
    ///
    /// # Errors
    ///
    /// If it had stopped before.
    pub async fn shutdown(self) -> Result<Goodbye, Stopped> {
        self.reins.ask(Control::ShutDown).await
    }

    /// Ends the node at once, as a crash would: nothing is flushed, nobody is told. When this
    /// returns, the address is free again.
    pub async fn kill(self) {
        // Already stopped is as good.
        let _ = self.reins.ask(|reply| Control::Kill(Some(reply))).await;
    }
}

impl Reins {
    pub(crate) const fn new(
        id: NodeId,
        control: mpsc::UnboundedSender<Control>,
        stopped: Arc<OnceLock<StopReason>>,
        started: watch::Receiver<bool>,
        events: broadcast::Receiver<Event>,
    ) -> Self {
        Self { id, control, stopped, started, events: Mutex::new(events) }
    }

    async fn command(&self, command: AnyCommand) -> Result<(), CommandError> {
        self.ask(|reply| Control::Command(command, reply)).await?
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
