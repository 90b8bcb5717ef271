//! Messages and timers of negative acknowledgements.

use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Effects, NodeId};

use crate::multicast::body::{Body, Numbered};
use crate::multicast::ordered::carrier::Carrier;
use crate::multicast::ordered::{self, Ordered};

/// The messages between carriers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A multicast.
    Data {
        /// Its number, from 0.
        number: u64,
        /// The message.
        body: Body,
    },
    /// These of the receiver's messages are missing: the first, and of the 32 from there on those
    /// whose bits are set.
    Nack {
        /// The first.
        first: u64,
        /// The bits.
        mask: u32,
    },
    /// The sender has sent all below this number.
    Heartbeat(u64),
    /// All of the receiver's messages below this number are here.
    Digest(u64),
    /// The sender has dropped all below the first number, and has sent all below the second.
    Gone {
        /// The first that it has.
        first: u64,
        /// The next that it will send.
        below: u64,
    },
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &[
        Body::KINDS[0],
        Body::KINDS[1],
        Body::KINDS[2],
        Body::KINDS[3],
        "NACK",
        "HEARTBEAT",
        "DIGEST",
        "GONE",
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Data { body, .. } => body.kind(),
            Self::Nack { .. } => 4,
            Self::Heartbeat(_) => 5,
            Self::Digest(_) => 6,
            Self::Gone { .. } => 7,
        }
    }

    fn carries(&self, from: NodeId) -> Option<(NodeId, u64)> {
        match self {
            Self::Data { number, .. } => Some((from, *number)),
            Self::Nack { .. } | Self::Heartbeat(_) | Self::Digest(_) | Self::Gone { .. } => None,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = vorrang_protocol::Message::kind_name(self);
        match self {
            Self::Data { number, body } => write!(f, "{kind}({}{body})", Numbered(*number)),
            Self::Nack { first, mask } => {
                write!(f, "{kind}{{")?;
                for (at, number) in numbers(*first, *mask).enumerate() {
                    write!(f, "{}{}", if at > 0 { "," } else { "" }, Numbered(number))?;
                }
                f.write_str("}")
            }
            Self::Heartbeat(upto) | Self::Digest(upto) => write!(f, "{kind}({})", Numbered(*upto)),
            Self::Gone { first, below } => write!(f, "{kind}({first}<{below})"),
        }
    }
}

/// The numbers that a mask stands for.
pub(in crate::multicast) fn numbers(first: u64, mask: u32) -> impl Iterator<Item = u64> {
    let bits = (0..32_u32).filter(move |bit| mask >> bit & 1 == 1);
    bits.filter_map(move |bit| first.checked_add(bit.into()))
}

/// The timers of a carrier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// To say how far it has come.
    Beat,
    /// To repeat the request for missing messages to this sender.
    Repeat(NodeId),
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beat => f.write_str("Beat"),
            Self::Repeat(of) => write!(f, "Repeat({of})"),
        }
    }
}

/// Asks a sender for these, lowest first.
pub(in crate::multicast) fn ask<C>(
    of: NodeId,
    missing: impl Iterator<Item = u64>,
    fx: &mut impl Effects<Ordered<C>>,
) where
    C: Carrier<Message = Message>,
{
    let mut wanted: Option<(u64, u32)> = None;
    let mut say = |(first, mask)| {
        fx.send(of, ordered::Message::Carried(Message::Nack { first, mask }));
    };
    for number in missing {
        match &mut wanted {
            Some((first, mask)) if number - *first < 32 => *mask |= 1 << (number - *first),
            _ => {
                if let Some(full) = wanted.replace((number, 1)) {
                    say(full);
                }
            }
        }
    }
    if let Some(last) = wanted {
        say(last);
    }
}
