//! A program that runs inside the node's own task: no channel and no wake-up lies between it and
//! the machine.
//!
//! Workloads and benchmarks are applications, and so are services that react to notices at once.
//! The notices that [`Node::start`](crate::Node::start) hands out come from a small application,
//! too.

use std::marker::PhantomData;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use vorrang_protocol::{Data, Refused};

use crate::error::StopReason;
use crate::event::Event;
use crate::status::GroupStatus;

/// Receives the node's notices, and gives it commands.
///
/// It knows the problem and not the algorithm: one application goes with every machine that takes
/// its commands and tells its notices, and is compiled once for all of them.
///
/// It runs on the node's task: while it computes, the node does not answer its peers. It must not
/// block.
pub trait Application: Send + 'static {
    /// Its commands.
    type Command: Data;
    /// The notices of the node.
    type Notice: Data;

    /// The node has started.
    fn on_start(&mut self, _fx: &mut ApplicationEffects<Self::Command>) {}
    /// The node tells something.
    fn on_notice(&mut self, notice: Self::Notice, fx: &mut ApplicationEffects<Self::Command>);
    /// The time that [`ApplicationEffects::wake_after`] asked for has passed.
    fn on_wake(&mut self, _fx: &mut ApplicationEffects<Self::Command>) {}
    /// Something happened to a link, or to the node as a member of its group: a peer is lost, back
    /// or gone.
    fn on_event(&mut self, _event: &Event, _fx: &mut ApplicationEffects<Self::Command>) {}
    /// What the node knows of its group has changed.
    fn on_group(&mut self, _group: &GroupStatus, _fx: &mut ApplicationEffects<Self::Command>) {}
    /// Whether it wants to be told of the machine's lease.
    fn heeds_lease(&self) -> bool {
        false
    }
    /// The machine's lease ends then, if it has one. Told before any notice that rests on it.
    fn on_lease(&mut self, _until: Option<Instant>) {}
    /// The node has stopped, and tells nothing more.
    fn on_stopped(&mut self, _why: &StopReason) {}
    /// A command of this application came at the wrong moment; the machine is as it was.
    fn on_refused(&mut self, refused: Refused, _fx: &mut ApplicationEffects<Self::Command>) {
        tracing::error!(%refused, "a command of the application was refused");
    }
}

/// The effects of an application: commands at once, commands later, wake-ups.
///
/// Commands are given to the machine in the order of the calls, when the handler that made them has
/// returned. Delays are as fine as the runtime's timers: a millisecond.
#[derive(Debug)]
pub struct ApplicationEffects<C> {
    pub(crate) commands: Vec<C>,
    pub(crate) later: Vec<(Duration, Later<C>)>,
}

/// A delayed effect of an application.
#[derive(PartialEq, Debug)]
pub(crate) enum Later<C> {
    Wake,
    Command(C),
}

impl<C> ApplicationEffects<C> {
    pub(crate) const fn new() -> Self {
        Self { commands: Vec::new(), later: Vec::new() }
    }

    /// Asks the node for something, at once.
    pub fn command(&mut self, command: C) {
        self.commands.push(command);
    }

    /// Asks the node for something when `delay` has passed; at once if it is zero.
    pub fn command_after(&mut self, delay: Duration, command: C) {
        if delay.is_zero() {
            self.command(command);
        } else {
            self.later.push((delay, Later::Command(command)));
        }
    }

    /// Asks to be woken when `delay` has passed. Every call wakes once.
    pub fn wake_after(&mut self, delay: Duration) {
        self.later.push((delay, Later::Wake));
    }
}

/// An application of which only the problem is known.
pub(crate) type AnyApplication<C, N> = Box<dyn Application<Command = C, Notice = N>>;

/// Passes notices on to a channel.
#[derive(Debug)]
pub(crate) struct Forward<C, N> {
    notices: mpsc::UnboundedSender<N>,
    commands: PhantomData<fn(C)>,
}

impl<C, N> Forward<C, N> {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<N>) {
        let (notices, receiver) = mpsc::unbounded_channel();
        (Self { notices, commands: PhantomData }, receiver)
    }
}

impl<C: Data, N: Data> Application for Forward<C, N> {
    type Command = C;
    type Notice = N;

    fn on_notice(&mut self, notice: N, _fx: &mut ApplicationEffects<C>) {
        // The receiver was dropped: then notices are dropped, too.
        let _ = self.notices.send(notice);
    }
}
