//! Messages and timers of token regeneration.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use crate::election::bully;

/// Which token is meant: every leader makes other ones than every other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// The higher the newer.
    pub number: u64,
    /// The leader that made it.
    pub by: NodeId,
}

impl Generation {
    /// The one that all begin with.
    pub(super) const FIRST: Self = Self { number: 1, by: NodeId(0) };
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.by)
    }
}

/// As in the name of a timer.
impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The messages between nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<M> {
    /// Which node uses the token?
    Ask,
    /// I have it, and am inside, or it goes round.
    Have,
    /// Stop, and say whether you have the token.
    Query(Generation),
    /// I have stopped.
    Status {
        /// The question that it answers.
        generation: Generation,
        /// Whether the token is here.
        has: bool,
    },
    /// I know a newer generation than that.
    Superseded(Generation),
    /// Go on, in a new generation.
    Install {
        /// Which one.
        generation: Generation,
        /// The live nodes, lowest first.
        members: Vec<NodeId>,
        /// The holder of the token.
        holder: NodeId,
    },
    /// A message of an election.
    Election(bully::Message),
    /// A message of the algorithm.
    Token {
        /// In this generation.
        generation: Generation,
        /// The message.
        message: M,
    },
}

impl<M> From<bully::Message> for Message<M> {
    fn from(message: bully::Message) -> Self {
        Self::Election(message)
    }
}

/// A message of an algorithm that can be started anew.
pub trait Inner: vorrang_protocol::Message {
    /// The kinds of this layer's messages, then those of an election, then its own.
    const ALL_KINDS: &'static [&'static str];
}

/// The kinds of this layer and of an election, then these.
macro_rules! kinds {
    ($($own:literal),*) => {
        &[
            "ASK", "HAVE", "QUERY", "STATUS", "SUPERSEDED", "INSTALL", "ELECTION", "ANSWER",
            "COORDINATOR", "OUTDATED", $($own),*
        ]
    };
}
pub(in crate::mutex) use kinds;

/// How many kinds of messages this layer has.
pub(super) const OWN_KINDS: usize = 6;

impl<M: Inner> vorrang_protocol::Message for Message<M> {
    const KINDS: &'static [&'static str] = M::ALL_KINDS;

    fn kind(&self) -> usize {
        match self {
            Self::Ask => 0,
            Self::Have => 1,
            Self::Query(_) => 2,
            Self::Status { .. } => 3,
            Self::Superseded(_) => 4,
            Self::Install { .. } => 5,
            Self::Election(message) => OWN_KINDS + message.kind(),
            Self::Token { message, .. } => OWN_KINDS + bully::Message::KINDS.len() + message.kind(),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask => f.write_str("ASK"),
            Self::Have => f.write_str("HAVE"),
            Self::Query(generation) => write!(f, "QUERY({generation})"),
            Self::Status { generation, has } => {
                let has = if *has { "has" } else { "has not" };
                write!(f, "STATUS({generation}, {has})")
            }
            Self::Superseded(known) => write!(f, "SUPERSEDED({known})"),
            Self::Install { generation, members, holder } => {
                write!(f, "INSTALL({generation}, token at {holder}, up")?;
                members.iter().try_for_each(|id| write!(f, " {id}"))?;
                f.write_str(")")
            }
            Self::Election(message) => write!(f, "{message}"),
            Self::Token { generation, message } => write!(f, "{message} of {generation}"),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer<T> {
    /// It has waited for long.
    Suspect,
    /// The time by which the holder of the token would have answered.
    Have,
    /// The time by which all live nodes have answered.
    Census,
    /// The time by which the leader would have gone on.
    Install,
    /// A message of an election.
    Election(bully::Timer),
    /// A timer of the algorithm, in a generation.
    Token(Generation, T),
}

impl<T> From<bully::Timer> for Timer<T> {
    fn from(timer: bully::Timer) -> Self {
        Self::Election(timer)
    }
}
