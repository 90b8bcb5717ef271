//! Failure detection: each node finds out which of the others are down.
//!
//! There are no commands: an application is told [`Notice::Suspect`] when a node is believed to be
//! down, and [`Notice::Trust`] when that turns out to be wrong, or the node has restarted.

pub mod card;
pub mod flaws;
pub mod heartbeat;
pub mod spec;

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

pub use card::Card;

use crate::problem::Problem;

/// The problem.
#[derive(Clone, Copy, Debug)]
pub enum Detection {}

impl Problem for Detection {
    const NAME: &'static str = "detection";
    const TITLE: &'static str = "failure detection";
    type Command = Command;
    type Notice = Notice;
    type Terms = card::Terms;
    type Setting = card::Setting;
    type Demonstration = card::Demonstration;
}

/// The commands of an application: none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Command {}

impl fmt::Display for Command {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Err(format!("unknown command '{text}': a failure detector takes none, it only tells"))
    }
}

/// The notices to an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// This node seems to be down.
    Suspect(NodeId),
    /// It is up after all.
    Trust(NodeId),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspect(node) => write!(f, "node {node} seems to be down"),
            Self::Trust(node) => write!(f, "node {node} is up"),
        }
    }
}
