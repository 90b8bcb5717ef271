//! One node as a state machine: its events and its queries.

use core::fmt::{self, Debug};
use core::hash::Hash;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{CounterVisitor, Effects, GroupView, NodeId};

/// One node's side of a distributed algorithm: a deterministic state machine.
///
/// The implementor *is* the state. A driver clones it to explore, hashes it to recognise it and
/// compares it to be sure; so it holds only what decides its future: no statistics, no scratch
/// buffers, no hash tables. Equal states given equal events must end in equal states with equal
/// effects.
pub trait Protocol: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// The messages between nodes.
    type Message: Message;
    /// The keys of its timers. Setting a timer again replaces it.
    type Timer: Data + Copy;
    /// The commands of the application.
    type Command: Data;
    /// The notices to the application: with commands, all that a specification sees.
    type Notice: Data;

    /// The node starts. Most algorithms wait for a command.
    fn on_start(&mut self, _fx: &mut impl Effects<Self>) {}

    /// The application gives a command.
    ///
    /// # Errors
    ///
    /// A command that does not fit the node's state (a release without holding) is refused, and
    /// nothing has changed.
    fn on_command(
        &mut self,
        command: Self::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused>;

    /// A message arrives.
    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>);

    /// A timer that was set, and not replaced or cancelled since, runs out. Only an algorithm that
    /// sets timers has anything to do here.
    fn on_timer(&mut self, _timer: Self::Timer, _fx: &mut impl Effects<Self>) {}

    /// The node restarts after a crash, in the state that [`after_crash`](Self::after_crash)
    /// returned.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.on_start(fx);
    }

    /// The state after a crash and a restart: a `fresh` node, with what this one had on stable
    /// storage. By default there is no stable storage, and the node forgets everything.
    #[must_use]
    fn after_crash(&self, fresh: Self) -> Self {
        fresh
    }

    /// How many messages of applications it buffers, for measurements.
    fn buffered(&self) -> usize {
        0
    }

    /// Whether other nodes still depend on this one for a command of its application, so that a
    /// message could be lost if it left now.
    fn has_obligations(&self) -> bool {
        false
    }

    /// The newest view of its group that it knows, if it runs a membership protocol.
    fn group_view(&self) -> Option<GroupView> {
        None
    }

    /// Shows every number in it that only grows and means nothing by itself, each by its class; see [`Counter`](crate::Counter). Whoever declares any declares all of the class, here and in its
    /// [messages](Message::counters), and keeps none of it in timers. Then every handler does the
    /// same with others that differ only in what does not matter, with such others; and the checker
    /// tests that it does.
    fn counters(&mut self, _visit: CounterVisitor<'_>) {}

    /// The handlers as one, for drivers, traces and replay.
    ///
    /// # Errors
    ///
    /// As [`on_command`](Self::on_command); no other event can be refused.
    fn handle(&mut self, event: Event<Self>, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match event {
            Event::Start => self.on_start(fx),
            Event::Restart => self.on_restart(fx),
            Event::Command(command) => return self.on_command(command, fx),
            Event::Message { from, message } => self.on_message(from, message, fx),
            Event::Timer(timer) => self.on_timer(timer, fx),
        }
        Ok(())
    }
}

/// Everything that can happen to a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "snake_case")]
pub enum Event<P: Protocol> {
    /// The node starts.
    Start,
    /// The node restarts after a crash.
    Restart,
    /// The application gives a command.
    Command(P::Command),
    /// A message arrives.
    Message {
        /// Who sent it.
        from: NodeId,
        /// What it says.
        message: P::Message,
    },
    /// A timer runs out.
    Timer(P::Timer),
}

/// A message: plain data whose kinds have names, so that every driver can count them by kind.
///
/// It is shown as people write it, kind first: `REQUEST(1)`. Runs of the checker, stages and
/// terminals all show it so.
pub trait Message: Data + fmt::Display {
    /// The names of the kinds, as the literature writes them.
    const KINDS: &'static [&'static str];

    /// Which of [`KINDS`](Self::KINDS) this is.
    fn kind(&self) -> usize;

    /// The multicast that it is a copy of, if any: sender and sequence number, the same for all
    /// copies.
    fn carries(&self, _from: NodeId) -> Option<(NodeId, u64)> {
        None
    }

    /// The same as [`Protocol::counters`], of a message between these nodes.
    fn counters(&mut self, _from: NodeId, _to: NodeId, _visit: CounterVisitor<'_>) {}

    /// The name of this message's kind.
    fn kind_name(&self) -> &'static str {
        Self::KINDS[self.kind()]
    }
}

/// Plain data: cloned, ordered, hashed, shown, written and read back, moved between threads.
pub trait Data:
    Clone + Ord + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<T> Data for T where
    T: Clone + Ord + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// The empty type: `type Timer = Never` says that an algorithm has no timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Never {}

/// A command that does not fit the state of the node, which is unchanged.
///
/// This is a mistake of the application, never of the network or of another node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Refused(pub &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for Refused {}
