//! One node as a state machine, and what it can do: each is defined by the other.

use core::fmt::{self, Debug};
use core::hash::Hash;
use core::num::NonZeroU32;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CounterVisitor, Delay, GroupHealth, GroupView, NodeId, NodeState};

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

    /// Writes what is on its stable storage: what [`after_crash`](Self::after_crash) keeps of it.
    /// A driver with real storage writes it there after every event that has changed it, before it
    /// carries out any effect of that event: so no message and no notice says what a crash could
    /// still undo. By default nothing, as there is no stable storage by default.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }

    /// This fresh node with what was stored before a crash: `fresh.restore(node.store())` is
    /// `node.after_crash(fresh)`. In this state it [restarts](Self::on_restart).
    ///
    /// # Errors
    ///
    /// Those of the deserializer, if such a node has not stored this.
    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        <()>::deserialize(stored)?;
        Ok(self)
    }

    /// The node's variables under the names of the algorithm's paper: what a person is shown of
    /// it. Two nodes that differ, differ in it; who the node is, and what never changes, may be
    /// left out. By default nothing is shown.
    fn state(&self) -> NodeState {
        NodeState::new()
    }

    /// This fresh node as one that has no stable storage at all, in this life: 0 in the first; in a
    /// later one a number larger than any that its group can have counted to, as by a clock. None
    /// if the algorithm does not stand that its memory is lost. In a later life it
    /// [restarts](Self::on_restart) and does not start.
    #[must_use]
    fn without_memory(self, _life: u64) -> Option<Self> {
        None
    }

    /// Its process is about to leave for good. A member of a group that a membership protocol keeps
    /// asks to be left out, so that nobody has to find out that it is gone. Whether it has asked:
    /// it is out as soon as its [view](Self::group_view) says so.
    fn on_leave(&mut self, _fx: &mut impl Effects<Self>) -> bool {
        false
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

    /// Whether the group of that view can go on, if it runs a membership protocol.
    fn group_health(&self) -> Option<GroupHealth> {
        None
    }

    /// The timer whose end would end its application's stay inside, if it has a lease.
    fn lease(&self) -> Option<Self::Timer> {
        None
    }

    /// Shows every number in it that only grows and means nothing by itself, each by its class; see
    /// [`Counter`](crate::Counter). Whoever declares any declares all of the class, here and in its
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

/// The effects of a node: everything that it can do.
///
/// The implementor (a driver) guarantees: calls take effect in the order they were made; a message
/// goes to one node and arrives, if it arrives, unaltered.
pub trait Effects<P: Protocol> {
    /// Sends `message`; the driver decides whether, when and in what order it arrives.
    fn send(&mut self, to: NodeId, message: P::Message);
    /// Sets a timer; replaces it if it is already set.
    fn set_timer(&mut self, timer: P::Timer, delay: Delay);
    /// Cancels the timer, if it is set.
    fn cancel_timer(&mut self, timer: P::Timer);
    /// Delivers a notice to the application.
    fn notify(&mut self, notice: P::Notice);
    /// A number below `bound`: one drawn by the simulator or the network, *each one in turn* by
    /// the checker, which runs the handler again for every value.
    fn choose(&mut self, bound: NonZeroU32) -> u32;

    /// Sends `message` to each of `to`, in their order.
    fn broadcast(&mut self, to: impl IntoIterator<Item = NodeId>, message: P::Message)
    where
        Self: Sized,
    {
        self.send_to_each(&mut to.into_iter(), message);
    }

    /// The same behind a trait object. A driver that can keep, encode or send one message for many
    /// receivers overrides this one, and a layer forwards it.
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        for id in to {
            self.send(id, message.clone());
        }
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

    /// Whether it only says how its sender stands, now and then: a later one says all that an
    /// earlier one did, so that of several a receiver needs the last.
    fn is_status(&self) -> bool {
        false
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
