//! Messages and timers of SRM.

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use crate::multicast::body::{Body, Id, Numbered, Shared};

/// The messages between carriers, to all but for what is said to a neighbourhood.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A multicast.
    Data {
        /// Its number, from 0.
        number: u64,
        /// All of its sender's below this number are everywhere.
        stable: u64,
        /// What it is.
        body: Body,
    },
    /// A request for a missing message.
    Request {
        /// The missing message.
        of: Id,
        /// How far away its sender is from the one who asks, in nanoseconds.
        distance_ns: u64,
        /// It goes to the neighbourhood only.
        is_local: bool,
    },
    /// Here it is.
    Repair {
        /// The repaired message.
        of: Id,
        /// What it is.
        body: Body,
        /// It goes to those only who may have heard requests to neighbourhoods.
        is_local: bool,
    },
    /// How far a member has come.
    Session(News),
}

/// The content of a session message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct News {
    /// For each sender how far this member has delivered, and the highest number that it knows.
    pub streams: Shared<(NodeId, u64, u64)>,
    /// All of its own below this number are everywhere.
    pub stable: u64,
    /// The members that have not acknowledged all of its own messages.
    pub seeks: Shared<NodeId>,
    /// Its clock, if it measures distances.
    pub stamp: Option<u32>,
    /// For each whose clock it has heard: that, and how long ago it was.
    pub echoes: Shared<(NodeId, u32, u32)>,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &[
        Body::KINDS[0],
        Body::KINDS[1],
        Body::KINDS[2],
        Body::KINDS[3],
        "REQUEST",
        "REPAIR",
        "SESSION",
    ];

    /// A retransmission has the kind of its content, except payloads of applications: those are
    /// repairs.
    fn kind(&self) -> usize {
        match self {
            Self::Data { body, .. } => body.kind(),
            Self::Repair { body, .. } if body.kind() > 0 => body.kind(),
            Self::Request { .. } => 4,
            Self::Repair { .. } => 5,
            Self::Session(_) => 6,
        }
    }

    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        match self {
            Self::Data { number, .. } => Some((from, *number)),
            Self::Repair { of, .. } => Some((of.from, of.number)),
            Self::Request { .. } | Self::Session(_) => None,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = vorrang_protocol::Message::kind_name(self);
        match self {
            Self::Data { number, body, .. } => write!(f, "{kind}({}{body})", Numbered(*number)),
            Self::Request { of, is_local, .. } => write!(f, "{kind}({of}{})", near(*is_local)),
            Self::Repair { of, body, is_local } => {
                write!(f, "{kind}({of}{}{body})", near(*is_local))
            }
            Self::Session(news) => {
                write!(f, "{kind}(")?;
                for (at, (from, next, below)) in news.streams.0.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{from}:{}", Numbered(*next))?;
                    if below > next {
                        write!(f, "<{}", Numbered(*below))?;
                    }
                }
                f.write_str(")")
            }
        }
    }
}

/// What is added where something does not go to all.
const fn near(is_local: bool) -> &'static str {
    if is_local { " near" } else { "" }
}

/// The timers of a carrier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// To ask for this.
    Request(Id),
    /// Requests for this belong to another round from now on.
    Ignore(Id),
    /// To repair this.
    Repair(Id),
    /// Requests for this were made after the last repair from now on.
    Hold(Id),
    /// To say how far this member has come.
    Session,
    /// To count time, while it is measured.
    Tick,
    /// Whoever was sought has had time to answer.
    Answer,
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(of) => write!(f, "Request({of})"),
            Self::Ignore(of) => write!(f, "Ignore({of})"),
            Self::Repair(of) => write!(f, "Repair({of})"),
            Self::Hold(of) => write!(f, "Hold({of})"),
            Self::Session => f.write_str("Session"),
            Self::Tick => f.write_str("Tick"),
            Self::Answer => f.write_str("Answer"),
        }
    }
}
