//! Messages and timers of reliable channels, and incarnations.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use super::kinds::{MOST_KINDS, with};

/// The messages between the layers of two nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<M> {
    /// I am here in this life: in which are you?
    Greeting {
        /// The sender's.
        life: u32,
    },
    /// I have all of yours below this number.
    Receipt {
        /// From which life to which.
        lives: Incarnations,
        /// The number.
        upto: u64,
    },
    /// A message of the node above.
    Data {
        /// From which life to which.
        lives: Incarnations,
        /// Its number, from 0.
        number: u64,
        /// The message.
        message: M,
    },
}

/// From which life of the sender to which of the receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Incarnations {
    /// The sender's.
    pub from: u32,
    /// The receiver's, as far as the sender knows.
    pub to: u32,
}

/// Kinds of its own that a layer has.
const OWN: [&str; 2] = ["GREETING", "RECEIPT"];

impl<M: vorrang_protocol::Message> Message<M> {
    const KINDS_AND_MORE: &'static [&'static str; MOST_KINDS] = &with(OWN, M::KINDS);
}

/// The kinds of the layer's messages over messages of these kinds.
pub fn kinds(above: &[&'static str]) -> Vec<&'static str> {
    OWN.iter().chain(above).copied().collect()
}

impl<M: vorrang_protocol::Message> vorrang_protocol::Message for Message<M> {
    const KINDS: &'static [&'static str] =
        Self::KINDS_AND_MORE.split_at(OWN.len() + M::KINDS.len()).0;

    fn kind(&self) -> usize {
        match self {
            Self::Greeting { .. } => 0,
            Self::Receipt { .. } => 1,
            Self::Data { message, .. } => OWN.len() + message.kind(),
        }
    }
    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        match self {
            Self::Greeting { .. } | Self::Receipt { .. } => None,
            Self::Data { message, .. } => message.carries(from),
        }
    }
    fn kind_name(&self) -> &'static str {
        match self {
            Self::Greeting { .. } => OWN[0],
            Self::Receipt { .. } => OWN[1],
            Self::Data { message, .. } => message.kind_name(),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Greeting { life } => write!(f, "GREETING [life {life}]"),
            Self::Receipt { lives, upto } => write!(f, "RECEIPT [{upto}{lives}]"),
            Self::Data { lives, number, message } => write!(f, "{message} [{number}{lives}]"),
        }
    }
}

/// Nothing, as long as both are in their first life.
impl fmt::Display for Incarnations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { from: 0, to: 0 } => Ok(()),
            Self { from, to } => write!(f, ", lives {from} to {to}"),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer<T> {
    /// This peer has not acknowledged something in time.
    Resend(NodeId),
    /// A timer of the node above.
    Above(T),
}

/// As it is called on a stage; those of the node above as without the layer.
impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resend(to) => write!(f, "Resend({to})"),
            Self::Above(timer) => timer.fmt(f),
        }
    }
}

/// The known incarnation of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Incarnation {
    /// It was this one when it was last heard.
    Known(u32),
    /// It is this one or a later one. (It may have said so long ago.)
    AtLeast(u32),
}

impl Incarnation {
    pub(super) const fn known(self) -> Option<u32> {
        match self {
            Self::Known(life) => Some(life),
            Self::AtLeast(_) => None,
        }
    }

    /// Whether one that is called so has ended since.
    pub(super) const fn is_over(self, life: u32) -> bool {
        let (Self::Known(at_least) | Self::AtLeast(at_least)) = self;
        life < at_least
    }
}
