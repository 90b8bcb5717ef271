//! What a node reports of its links, besides the log.

use std::fmt;

use vorrang_protocol::NodeId;

use crate::config::Limits;
use crate::hello::{Refusal, Refuser};

/// Something happened to a link, or to the node as a member of its group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Connected, for the first time or again.
    Connected {
        /// With whom.
        peer: NodeId,
        /// How many connections there were before.
        before: u64,
    },
    /// The connection ended; it is being made anew, and what was sent is kept.
    Lost {
        /// With whom.
        peer: NodeId,
        /// What ended it.
        why: String,
    },
    /// We refused a node. Repeated refusals for the same reason are reported once.
    WeRefused {
        /// Who it said it was, or its address.
        who: String,
        /// Why.
        why: Refusal,
    },
    /// A node refused us. Repeated refusals for the same reason are reported once.
    RefusedUs {
        /// Who did.
        peer: NodeId,
        /// Why.
        why: Refusal,
    },
    /// A connection was closed because it made no sense: a stranger, or broken bytes.
    Malformed {
        /// The node or the address that it came from.
        from: String,
        /// What was wrong.
        why: String,
    },
    /// Nobody answers where a node should be. Said after a while, and again whenever it was twice
    /// as often, or for another reason.
    Unanswered {
        /// Who does not.
        peer: NodeId,
        /// Where it should be.
        address: String,
        /// What the system says.
        why: String,
        /// How many calls in a row.
        tries: u64,
    },
    /// More waited for a node than may: it is given up for good, and nothing is sent to it any
    /// more.
    GivenUp {
        /// Who.
        peer: NodeId,
        /// How much may wait.
        limits: Limits,
    },
    /// A node has said goodbye; nothing is sent to it any more.
    Left {
        /// Who.
        peer: NodeId,
    },
    /// The machine has started.
    Started,
    /// This node was restarted and others remember its past: as long as they do, it neither handles
    /// messages nor takes commands.
    Fenced {
        /// Who remembers.
        by: NodeId,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { peer, before: 0 } => write!(f, "connected with node {peer}"),
            Self::Connected { peer, before: _ } => write!(f, "connected again with node {peer}"),
            Self::Lost { peer, why } => write!(f, "lost the connection with node {peer}: {why}"),
            Self::WeRefused { who, why } => {
                write!(f, "we refused {who}: {}", why.sentence(Refuser::Us))
            }
            Self::RefusedUs { peer, why } => {
                write!(f, "node {peer} refused us: {}", why.sentence(Refuser::Them))
            }
            Self::Malformed { from, why } => write!(f, "closed a connection with {from}: {why}"),
            Self::Unanswered { peer, address, why, tries } => {
                let nth = ordinal(*tries);
                write!(f, "waiting for node {peer} at {address}: {why}, {nth} try")
            }
            Self::GivenUp { peer, limits } => {
                write!(f, "node {peer} is given up for good: more than {limits} waited for it")
            }
            Self::Left { peer } => write!(f, "node {peer} has left for good"),
            Self::Started => f.write_str("started"),
            Self::Fenced { by } => {
                write!(f, "fenced: node {by} remembers what we forgot when we were restarted")
            }
        }
    }
}

/// 1st, 2nd, 3rd, 4th.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_endings() {
        let numbers = [1, 2, 3, 4, 11, 12, 13, 21, 111, 122];
        let words = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th", "122nd"];
        assert_eq!(numbers.map(ordinal), words);
    }
}
