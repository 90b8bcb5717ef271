//! Election: the nodes that are up agree on one of them.
//!
//! The application says [`Command::Elect`] when it believes that there is no leader; every
//! application is told [`Notice::Leader`], also the leader's own.

pub mod bully;
pub mod card;
pub mod chang_roberts;
pub mod echo_election;
pub mod flaws;
pub mod ring_election;
pub mod spec;
pub mod tree_election;
pub mod tree_theory;
pub mod watching;
pub mod watching_bully;
pub mod watching_ring;

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
pub enum Election {}

impl Problem for Election {
    const NAME: &'static str = "election";
    const TITLE: &'static str = "election";
    type Command = Command;
    type Notice = Notice;
    type Terms = card::Terms;
    type Setting = card::Setting;
    type Demonstration = card::Demonstration;
}

/// The commands of an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Believes that there is no leader.
    Elect,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elect => f.write_str("elect"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "elect" => Ok(Self::Elect),
            _ => Err(format!("unknown command '{text}': say elect")),
        }
    }
}

/// The notices to an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// This node leads, until further notice.
    Leader(NodeId),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader(node) => write!(f, "node {node} leads"),
        }
    }
}
