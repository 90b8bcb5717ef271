//! A program that runs inside the node's own task: no channel and no wake-up lies between it and
//! the machine.
//!
//! Workloads and benchmarks are applications, and so are services that react to notices at once.
//! The notices that [`Node::start`](crate::Node::start) hands out come from a small application,
//! too.

use std::time::Duration;

use tokio::sync::mpsc;
use vorrang_protocol::{Protocol, Refused};

/// Hears what the node tells, and asks it for things.
///
/// It runs on the node's task: while it computes, the node answers nobody. It must not block.
pub trait Application<P: Protocol>: Send + 'static {
    /// The node has started.
    fn on_start(&mut self, _fx: &mut ApplicationEffects<P>) {}
    /// The node tells something.
    fn on_notice(&mut self, notice: P::Notice, fx: &mut ApplicationEffects<P>);
    /// The time that [`ApplicationEffects::wake_after`] asked for has passed.
    fn on_wake(&mut self, _fx: &mut ApplicationEffects<P>) {}
    /// A command of this application came at the wrong moment; the machine is as it was.
    fn on_refused(&mut self, refused: Refused, _fx: &mut ApplicationEffects<P>) {
        tracing::error!(%refused, "a command of the application was refused");
    }
}

/// What an application can do: ask at once, ask later, be woken.
///
/// Commands are given to the machine in the order of the calls, when the handler that made them has
/// returned. Delays are as fine as the runtime's timers: a millisecond.
#[derive(Debug)]
pub struct ApplicationEffects<P: Protocol> {
    pub(crate) commands: Vec<P::Command>,
    pub(crate) later: Vec<(Duration, Later<P::Command>)>,
}

/// What an application wants when a time has passed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Later<C> {
    Wake,
    Command(C),
}

impl<P: Protocol> ApplicationEffects<P> {
    pub(crate) const fn new() -> Self {
        Self { commands: Vec::new(), later: Vec::new() }
    }

    /// Asks the node for something, at once.
    pub fn command(&mut self, command: P::Command) {
        self.commands.push(command);
    }

    /// Asks the node for something when `delay` has passed; at once if it is zero.
    pub fn command_after(&mut self, delay: Duration, command: P::Command) {
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

/// Passes notices on to a channel.
#[derive(Debug)]
pub(crate) struct Forward<N>(pub(crate) mpsc::UnboundedSender<N>);

impl<P: Protocol> Application<P> for Forward<P::Notice> {
    fn on_notice(&mut self, notice: P::Notice, _fx: &mut ApplicationEffects<P>) {
        // Nobody listens any more: then nobody needs to know.
        let _ = self.0.send(notice);
    }
}
