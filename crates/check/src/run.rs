//! A run as data: what happened, step by step.

use std::fmt;

use vorrang_protocol::{Effect, NodeId, Protocol};

/// A run from the start of all nodes.
///
/// Shown, it is one line a move. A move that tossed coins ends with what came up, as in
/// `timer 2 Beat choose 1 0`. Before moves that repeat for ever stands a comment that
/// says so.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run<P: Protocol> {
    /// How each node came up, in the order of their numbers.
    pub starts: Vec<Start<P>>,
    /// Its steps.
    pub moves: Vec<Move<P>>,
    /// For a violation that goes on for ever: the place in `moves` from which on they repeat.
    pub repeats_from: Option<usize>,
}

/// How a node came up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Start<P: Protocol> {
    /// The answers that it got to its choices.
    pub choices: Vec<u32>,
    /// Its effects.
    pub effects: Vec<Effect<P>>,
}

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Move<P: Protocol> {
    /// The event.
    pub what: What<P>,
    /// The answers that the node got to its choices.
    pub choices: Vec<u32>,
    /// The effects of the node; none if it refused.
    pub effects: Vec<Effect<P>>,
}

/// The events of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<P: Protocol> {
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

impl<P: Protocol> What<P> {
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
}

impl<P: Protocol<Command: fmt::Display>> fmt::Display for What<P> {
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

impl<P: Protocol<Command: fmt::Display>> fmt::Display for Move<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)?;
        for (index, choice) in self.choices.iter().enumerate() {
            let word = if index == 0 { " choose" } else { "" };
            write!(f, "{word} {choice}")?;
        }
        Ok(())
    }
}

impl<P: Protocol<Command: fmt::Display>> fmt::Display for Run<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.moves.iter().enumerate() {
            if self.repeats_from == Some(place) {
                writeln!(f, "# what follows repeats for ever")?;
            }
            writeln!(f, "{step}")?;
        }
        Ok(())
    }
}
