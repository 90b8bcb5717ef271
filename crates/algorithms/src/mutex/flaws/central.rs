//! The central coordinator with another queue, and among applications that talk to each other.
//!
//! As it should be, the coordinator serves in the order of arrival. As long as nodes exchange
//! nothing but its messages, no node can tell that order from happened-before. Let an application
//! tell another that it has asked, and let that one ask as well: the second request may arrive
//! first.

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, Group, Lift, Never, NodeId, NodeState, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::central::{self, Central, Ticket};
use crate::mutex::{Command, Notice};

/// The coordinator serves the latest request first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LastComeFirstServed;

impl Mistake<Central> for LastComeFirstServed {
    fn on_command(
        self,
        node: &mut Central,
        command: Command,
        fx: &mut impl Effects<Central>,
    ) -> Result<(), Refused> {
        if command == Command::Release {
            latest_to_the_front(node);
        }
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Central,
        from: NodeId,
        message: central::Message,
        fx: &mut impl Effects<Central>,
    ) {
        if let central::Message::Release { .. } = message {
            latest_to_the_front(node);
        }
        node.on_message(from, message, fx);
    }
}

/// Brings the ticket that came last, which stands at the back, to the front.
fn latest_to_the_front(node: &mut Central) {
    if let Some(latest) = node.desk.queue.pop_back() {
        node.desk.queue.push_front(latest);
    }
}

/// Nobody is ever let in: the trivial solution if only safety is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlwaysDenied;

impl Mistake<Central> for AlwaysDenied {
    fn on_command(
        self,
        node: &mut Central,
        command: Command,
        fx: &mut impl Effects<Central>,
    ) -> Result<(), Refused> {
        node.desk.holder = Some(NOBODY);
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Central,
        from: NodeId,
        message: central::Message,
        fx: &mut impl Effects<Central>,
    ) {
        node.desk.holder = Some(NOBODY);
        node.on_message(from, message, fx);
    }
}

/// A holder that never releases, since it does not exist.
const NOBODY: Ticket = Ticket { node: NodeId(u32::MAX), number: 0 };

/// Everybody is let in at once: the trivial solution if only liveness is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlwaysGranted;

impl Mistake<Central> for AlwaysGranted {
    fn on_command(
        self,
        node: &mut Central,
        command: Command,
        fx: &mut impl Effects<Central>,
    ) -> Result<(), Refused> {
        node.desk.holder = None;
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Central,
        from: NodeId,
        message: central::Message,
        fx: &mut impl Effects<Central>,
    ) {
        node.desk.holder = None;
        node.on_message(from, message, fx);
    }
}

/// The messages between nodes and between applications.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// One node to another.
    Central(central::Message),
    /// One application to another: I have just asked.
    Told,
}

impl From<central::Message> for Message {
    fn from(message: central::Message) -> Self {
        Self::Central(message)
    }
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "REPLY", "RELEASE", "TOLD"];

    fn kind(&self) -> usize {
        match self {
            Self::Central(message) => message.kind(),
            Self::Told => 3,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Central(message) => message.fmt(f),
            Self::Told => f.write_str("TOLD"),
        }
    }
}

/// A node whose application tells all others when it asks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Talkative {
    node: Central,
    me: NodeId,
    group: Group,
}

impl Talkative {
    /// A node of `group`, whose last node coordinates.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { node: Central::new(me, group), me, group }
    }

    /// Lets the node below do something, and passes on what it tells.
    fn below<E: Effects<Self>, T>(
        &mut self,
        fx: &mut E,
        step: impl FnOnce(&mut Central, &mut Lift<'_, Central, Self, E>) -> T,
    ) -> T {
        let mut heard = alloc::vec::Vec::new();
        let done = step(&mut self.node, &mut Lift::new(fx, &mut heard));
        for notice in heard {
            fx.notify(notice);
        }
        done
    }
}

impl Protocol for Talkative {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.below(fx, |node, fx| node.on_command(command, fx))?;
        if let Command::Acquire(_) = command {
            fx.broadcast(self.group.others(self.me), Message::Told);
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Central(message) => {
                self.below(fx, |node, fx| node.on_message(from, message, fx));
            }
            Message::Told => {}
        }
    }

    fn state(&self) -> NodeState {
        self.node.state()
    }
}
