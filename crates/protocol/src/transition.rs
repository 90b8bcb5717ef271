//! The steps of a system of nodes, as values: what happens next, and to whom. The checker finds
//! them, a stage is told them, and both can take each other's.

use alloc::vec::Vec;
use core::fmt;

use crate::{NodeId, Protocol};

/// What happens in a step of a system. Shown, it is a line of a script: `deliver 0->1 REPLY(1)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Occurrence<P: Protocol> {
    /// The application asks for something.
    Command {
        /// The node.
        at: NodeId,
        /// The command.
        command: P::Command,
    },
    /// A message arrives.
    Deliver {
        /// Who sent it.
        from: NodeId,
        /// Who gets it.
        to: NodeId,
        /// What it says.
        message: P::Message,
    },
    /// A timer runs out.
    Timer {
        /// The node.
        at: NodeId,
        /// The timer.
        timer: P::Timer,
    },
    /// A node crashes.
    Crash {
        /// The node.
        at: NodeId,
    },
    /// A node comes up again.
    Restart {
        /// The node.
        at: NodeId,
    },
    /// A message is lost.
    Lose {
        /// Who sent it.
        from: NodeId,
        /// The receiver.
        to: NodeId,
        /// What it says.
        message: P::Message,
    },
    /// A message arrives, and will arrive again.
    Duplicate {
        /// Who sent it.
        from: NodeId,
        /// Who gets it.
        to: NodeId,
        /// What it says.
        message: P::Message,
    },
}

impl<P: Protocol> Occurrence<P> {
    /// The node that it happens to.
    pub const fn at(&self) -> NodeId {
        match self {
            Self::Command { at, .. }
            | Self::Timer { at, .. }
            | Self::Crash { at }
            | Self::Restart { at } => *at,
            Self::Deliver { to, .. } | Self::Lose { to, .. } | Self::Duplicate { to, .. } => *to,
        }
    }

    /// Whether it is about a message.
    pub const fn is_of_message(&self) -> bool {
        match self {
            Self::Deliver { .. } | Self::Lose { .. } | Self::Duplicate { .. } => true,
            Self::Command { .. }
            | Self::Timer { .. }
            | Self::Crash { .. }
            | Self::Restart { .. } => false,
        }
    }
}

impl<P: Protocol<Command: fmt::Display>> fmt::Display for Occurrence<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { at, command } => write!(f, "{command} {at}"),
            Self::Deliver { from, to, message } => write!(f, "deliver {from}->{to} {message}"),
            Self::Timer { at, timer } => write!(f, "timer {at} {timer:?}"),
            Self::Crash { at } => write!(f, "crash {at}"),
            Self::Restart { at } => write!(f, "restart {at}"),
            Self::Lose { from, to, message } => write!(f, "lose {from}->{to} {message}"),
            Self::Duplicate { from, to, message } => {
                write!(f, "duplicate {from}->{to} {message}")
            }
        }
    }
}

/// A step of a system: what happens, and what came up where the node chose. The same state and the
/// same transition give the same next state.
///
/// Shown, it ends with the choices, if there are any: `timer 2 Beat choose 1 0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition<P: Protocol> {
    /// What happens.
    pub what: Occurrence<P>,
    /// The answers that the node got to its choices.
    pub choices: Vec<u32>,
}

impl<P: Protocol> From<Occurrence<P>> for Transition<P> {
    /// One in which the node chooses nothing.
    fn from(what: Occurrence<P>) -> Self {
        Self { what, choices: Vec::new() }
    }
}

impl<P: Protocol<Command: fmt::Display>> fmt::Display for Transition<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)?;
        for (index, choice) in self.choices.iter().enumerate() {
            let word = if index == 0 { " choose" } else { "" };
            write!(f, "{word} {choice}")?;
        }
        Ok(())
    }
}

/// How a run begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefix<P: Protocol> {
    /// The answers that each node got to its choices as it came up; none if any will do.
    pub starts: Option<Vec<Vec<u32>>>,
    /// Its first steps.
    pub steps: Vec<Transition<P>>,
}

impl<P: Protocol> Default for Prefix<P> {
    /// Nothing is known of how it begins.
    fn default() -> Self {
        Self { starts: None, steps: Vec::new() }
    }
}
