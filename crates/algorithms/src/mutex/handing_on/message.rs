//! The messages between nodes.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Stamp;
use vorrang_protocol::NodeId;

/// The messages between nodes.
///
/// A permission has an *epoch*: how often it had been given by then. Every message about a
/// permission names it, for a permission may come by way of a third node, and then no order of
/// messages on links says what was meant by the one that comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// To an arbiter: may I, at this time?
    Request {
        /// The asker's clock when it asked.
        time: u64,
    },
    /// You have the permission of an arbiter, from the arbiter or from its last holder.
    Reply {
        /// The time of the request that is granted.
        time: u64,
        /// Whose permission it is.
        arbiter: NodeId,
        /// Its epoch.
        epoch: u64,
        /// The next holder, unless the arbiter names another.
        next: Option<Stamp>,
    },
    /// From an arbiter: another request is before yours.
    Fail {
        /// The time of the request that must wait.
        time: u64,
    },
    /// From an arbiter: when you leave, hand my permission on.
    Transfer {
        /// The epoch of the permission.
        epoch: u64,
        /// The receiver.
        next: Stamp,
        /// INQUIRE: the one who waits is older than you; give it back if you cannot enter anyway.
        inquire: bool,
    },
    /// To an arbiter: I give your permission back, and still want it.
    Yield {
        /// Its epoch.
        epoch: u64,
    },
    /// To an arbiter: I have left.
    Release {
        /// The epoch of the permission that I had.
        epoch: u64,
        /// The node that I have forwarded it to; if none, you have it back.
        next: Option<Stamp>,
    },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] =
        &["REQUEST", "REPLY", "FAIL", "TRANSFER", "YIELD", "RELEASE"];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Reply { .. } => 1,
            Self::Fail { .. } => 2,
            Self::Transfer { .. } => 3,
            Self::Yield { .. } => 4,
            Self::Release { .. } => 5,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = |f: &mut fmt::Formatter<'_>, next: Option<Stamp>| match next {
            Some(Stamp { time, node }) => write!(f, ", next ({time}, {node}))"),
            None => f.write_str(")"),
        };
        match *self {
            Self::Request { time } => write!(f, "REQUEST({time})"),
            Self::Reply { time, arbiter, epoch, next: then } => {
                write!(f, "REPLY({time}, of {arbiter}, epoch {epoch}")?;
                next(f, then)
            }
            Self::Fail { time } => write!(f, "FAIL({time})"),
            Self::Transfer { epoch, next: then, inquire } => {
                f.write_str("TRANSFER(")?;
                f.write_str(if inquire { "INQUIRE, " } else { "" })?;
                write!(f, "epoch {epoch}")?;
                next(f, Some(then))
            }
            Self::Yield { epoch } => write!(f, "YIELD(epoch {epoch})"),
            Self::Release { epoch, next: then } => {
                write!(f, "RELEASE(epoch {epoch}")?;
                next(f, then)
            }
        }
    }
}
