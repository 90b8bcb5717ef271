//! One node as a state machine: what it is told, and what it may be asked.

use core::fmt::{self, Debug};
use core::hash::Hash;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Belonging, Effects, NodeId};

/// One node's side of a distributed algorithm: a deterministic state machine.
///
/// The implementor *is* the state. A driver clones it to explore, hashes it to recognise it and
/// compares it to be sure; so it holds only what decides its future: no statistics, no scratch
/// buffers, no hash tables. Equal states given equal events must end in equal states with equal
/// effects.
pub trait Protocol: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// What nodes say to each other.
    type Message: Message;
    /// What the node may be woken for: a key. Setting a timer again replaces it.
    type Timer: Data + Copy;
    /// What the application asks of the node.
    type Command: Data;
    /// What the node tells the application: with commands, all that a specification sees.
    type Notice: Data;

    /// The node comes up. Most algorithms wait to be asked.
    fn on_start(&mut self, _fx: &mut impl Effects<Self>) {}

    /// The application asks for something.
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

    /// The node comes up again after a crash, as [`kept`](Self::kept) left it.
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.on_start(fx);
    }

    /// What survives a crash of this node: a node to come up again, made of a `fresh` one and of
    /// whatever lies on stable storage. By default nothing does, and a node forgets all it knew.
    #[must_use]
    fn kept(&self, fresh: Self) -> Self {
        fresh
    }

    /// How many messages of applications it keeps, for those who measure buffers. An algorithm that
    /// carries none keeps none.
    fn holds(&self) -> usize {
        0
    }

    /// Whether others may still need this node for what its application has asked: if it left now,
    /// something could be lost.
    fn owes(&self) -> bool {
        false
    }

    /// The newest view of its group that it knows, if it agrees with others on who belongs to it.
    fn belongs(&self) -> Option<Belonging> {
        None
    }

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
    /// The node comes up.
    Start,
    /// The node comes up again after a crash.
    Restart,
    /// The application asks for something.
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

    /// What it carries, if it is a copy of something that a node sends to many: whose, and which of
    /// its messages. Copies of one thing say the same.
    fn carries(&self, _from: NodeId) -> Option<(NodeId, u64)> {
        None
    }

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

/// The type of a thing that an algorithm never has: `type Timer = Never` says it has no timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Never {}

/// A command came at the wrong moment; the node is as it was before.
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
