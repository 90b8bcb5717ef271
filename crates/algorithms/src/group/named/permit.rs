//! What members say of the permits of a semaphore.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// The messages between a member and the home. A member numbers what it asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A client wants a permit of so many.
    Ask {
        /// The sender's number of the request.
        ticket: u32,
        /// As the client says.
        permits: u32,
    },
    /// It has it.
    Grant(u32),
    /// It does not get it, since there are another number of permits.
    Refuse {
        /// The request.
        ticket: u32,
        /// There are so many.
        bound: u32,
    },
    /// It does not want it any more, or has left.
    Free(u32),
}

impl Message {
    /// Which kind it is, from 0.
    pub(super) const fn kind(&self) -> usize {
        match self {
            Self::Ask { .. } => 0,
            Self::Grant(_) => 1,
            Self::Refuse { .. } => 2,
            Self::Free(_) => 3,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { ticket, permits } => write!(f, "ASK_PERMIT({ticket} of {permits})"),
            Self::Grant(ticket) => write!(f, "PERMIT({ticket})"),
            Self::Refuse { ticket, bound } => write!(f, "NO_PERMIT({ticket}: {bound})"),
            Self::Free(ticket) => write!(f, "FREE_PERMIT({ticket})"),
        }
    }
}

/// How the clients of a member stand when a view ends. In the next one their requests are numbered
/// in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// How many permits there are, as each says who is inside.
    pub inside: Vec<u32>,
    /// As each says who waits, and since when it does.
    pub waiting: Vec<(u64, u32)>,
}
