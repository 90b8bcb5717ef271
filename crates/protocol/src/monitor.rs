//! Specifications as monitors.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
use core::hash::Hash;

use crate::NodeId;

/// A specification, as a state machine over commands and notices.
///
/// It knows no algorithm, so one monitor judges every algorithm of its class: in the simulator, in
/// the checker (where its state is part of the state) and over a trace recorded from the network.
///
/// A property about *cause* (did this request happen before that one?) cannot be read off commands
/// and notices alone. For it, a monitor may put a [`Tag`](Self::Tag) on every message, which the
/// algorithm never sees; for most monitors it is `()` and costs nothing.
pub trait Monitor: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// The commands of the class.
    type Command;
    /// The notices of the class.
    type Notice;
    /// Data that the monitor attaches to every message.
    type Tag: Clone + Ord + Hash + Debug + Default + Send + Sync + 'static;

    /// The application asked `at` for something, and the node did not refuse.
    fn on_command(&mut self, at: NodeId, command: &Self::Command) -> Result<(), Violation>;
    /// `at` told the application something.
    fn on_notice(&mut self, at: NodeId, notice: &Self::Notice) -> Result<(), Violation>;
    /// The final state, in which no further step is bound to happen: is any obligation still open?
    fn at_rest(&self) -> Result<(), Violation>;
    /// Open obligations, which must be fulfilled eventually: the checker uses them for systems that
    /// never come to rest. An obligation listed here is also a violation at rest.
    fn obligations(&self) -> Vec<Obligation> {
        Vec::new()
    }

    /// What an application is bound to do by itself, as one that is inside is bound to leave: as
    /// long as there is something, this is not the final state, whatever nodes do.
    fn unfinished(&self) -> Option<String> {
        None
    }

    /// `at` crashes, and its application with it: obligations from and to both end.
    fn on_crash(&mut self, _at: NodeId) {}
    /// `at` restarts; called before the node handles the restart.
    fn on_restart(&mut self, _at: NodeId) {}
    /// The network is partitioned into these sides, and one more of the nodes that are on none: no
    /// message crosses between sides.
    fn on_cut(&mut self, _sides: &[Vec<NodeId>]) {}
    /// The partition that [`on_cut`](Self::on_cut) reported with the same sides heals.
    fn on_heal(&mut self, _sides: &[Vec<NodeId>]) {}
    /// A link is cut in one direction: what `from` sends does not reach `to`, though both hear all
    /// others.
    fn on_link_cut(&mut self, _from: NodeId, _to: NodeId) {}
    /// It is mended.
    fn on_link_mended(&mut self, _from: NodeId, _to: NodeId) {}

    /// The tag of a message that `at` sends now.
    fn on_send(&self, _at: NodeId) -> Self::Tag {
        Self::Tag::default()
    }
    /// A message with this tag arrives at `at`, just before the node handles it.
    fn on_receive(&mut self, _at: NodeId, _tag: &Self::Tag) {}
}

/// Something that a node waits for. A debt lasts as long as it is listed; one that is settled and
/// owed again within one step has not been settled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Obligation {
    /// The node.
    pub to: NodeId,
    /// The property that is violated if it never gets it.
    pub property: &'static str,
}

/// What a specification forbids has happened.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Violation {
    /// The property's name, as the specification calls it.
    pub property: &'static str,
    /// What happened, in a sentence.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)
    }
}

impl core::error::Error for Violation {}

/// Two monitors of the same run: the first violation counts.
impl<A, B> Monitor for (A, B)
where
    A: Monitor,
    B: Monitor<Command = A::Command, Notice = A::Notice>,
{
    type Command = A::Command;
    type Notice = A::Notice;
    type Tag = (A::Tag, B::Tag);

    fn on_command(&mut self, at: NodeId, command: &Self::Command) -> Result<(), Violation> {
        self.0.on_command(at, command)?;
        self.1.on_command(at, command)
    }
    fn on_notice(&mut self, at: NodeId, notice: &Self::Notice) -> Result<(), Violation> {
        self.0.on_notice(at, notice)?;
        self.1.on_notice(at, notice)
    }
    fn at_rest(&self) -> Result<(), Violation> {
        self.0.at_rest()?;
        self.1.at_rest()
    }
    fn obligations(&self) -> Vec<Obligation> {
        let mut owed = self.0.obligations();
        owed.extend(self.1.obligations());
        owed
    }
    fn unfinished(&self) -> Option<String> {
        self.0.unfinished().or_else(|| self.1.unfinished())
    }
    fn on_crash(&mut self, at: NodeId) {
        self.0.on_crash(at);
        self.1.on_crash(at);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.0.on_restart(at);
        self.1.on_restart(at);
    }
    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.0.on_cut(sides);
        self.1.on_cut(sides);
    }
    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.0.on_heal(sides);
        self.1.on_heal(sides);
    }
    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.0.on_link_cut(from, to);
        self.1.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.0.on_link_mended(from, to);
        self.1.on_link_mended(from, to);
    }
    fn on_send(&self, at: NodeId) -> Self::Tag {
        (self.0.on_send(at), self.1.on_send(at))
    }
    fn on_receive(&mut self, at: NodeId, tag: &Self::Tag) {
        self.0.on_receive(at, &tag.0);
        self.1.on_receive(at, &tag.1);
    }
}

/// A monitor that may be left out: without one, nothing is checked.
impl<M: Monitor> Monitor for Option<M> {
    type Command = M::Command;
    type Notice = M::Notice;
    type Tag = M::Tag;

    fn on_command(&mut self, at: NodeId, command: &Self::Command) -> Result<(), Violation> {
        self.as_mut().map_or(Ok(()), |monitor| monitor.on_command(at, command))
    }
    fn on_notice(&mut self, at: NodeId, notice: &Self::Notice) -> Result<(), Violation> {
        self.as_mut().map_or(Ok(()), |monitor| monitor.on_notice(at, notice))
    }
    fn at_rest(&self) -> Result<(), Violation> {
        self.as_ref().map_or(Ok(()), Monitor::at_rest)
    }
    fn obligations(&self) -> Vec<Obligation> {
        self.as_ref().map_or_else(Vec::new, Monitor::obligations)
    }
    fn unfinished(&self) -> Option<String> {
        self.as_ref().and_then(Monitor::unfinished)
    }
    fn on_crash(&mut self, at: NodeId) {
        if let Some(monitor) = self {
            monitor.on_crash(at);
        }
    }
    fn on_restart(&mut self, at: NodeId) {
        if let Some(monitor) = self {
            monitor.on_restart(at);
        }
    }
    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        if let Some(monitor) = self {
            monitor.on_cut(sides);
        }
    }
    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        if let Some(monitor) = self {
            monitor.on_heal(sides);
        }
    }
    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        if let Some(monitor) = self {
            monitor.on_link_cut(from, to);
        }
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        if let Some(monitor) = self {
            monitor.on_link_mended(from, to);
        }
    }
    fn on_send(&self, at: NodeId) -> Self::Tag {
        self.as_ref().map_or_else(Self::Tag::default, |monitor| monitor.on_send(at))
    }
    fn on_receive(&mut self, at: NodeId, tag: &Self::Tag) {
        if let Some(monitor) = self {
            monitor.on_receive(at, tag);
        }
    }
}
