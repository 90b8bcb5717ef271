//! The input of machines that depend on a failure detector.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

/// A command of the application, or a report of the failure detector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input<C> {
    /// The application asks for something.
    Ask(C),
    /// This node seems to be down.
    Suspect(NodeId),
    /// It is up after all.
    Trust(NodeId),
    /// It is time to say that one is up; and to say again what may be lost.
    Beat,
}

impl<C: FromStr<Err = String>> FromStr for Input<C> {
    type Err = String;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let node = |word: &str| match word.parse() {
            Ok(id) => Ok(NodeId(id)),
            Err(_) => Err(format!("'{word}' is not the number of a node")),
        };
        match *words {
            ["suspect", of] => node(of).map(Self::Suspect),
            ["trust", of] => node(of).map(Self::Trust),
            ["beat"] => Ok(Self::Beat),
            _ => text.parse().map(Self::Ask),
        }
    }
}

impl<C: fmt::Display> fmt::Display for Input<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask(command) => command.fmt(f),
            Self::Suspect(node) => write!(f, "suspect {node}"),
            Self::Trust(node) => write!(f, "trust {node}"),
            Self::Beat => f.write_str("beat"),
        }
    }
}
