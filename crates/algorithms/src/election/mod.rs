//! Election: the nodes that are up agree on one of them.
//!
//! The application says [`Command::Elect`] when it believes that there is no leader; every
//! application is told [`Notice::Leader`], also the leader's own.
//!
//! Where nodes are linked by cables that people plug in and pull out, both ends notice:
//! [`Command::Plug`] and [`Command::Unplug`]. Only [`bus_reset`] takes these.

pub mod bully;
pub mod bus_reset;
pub mod cables;
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
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, Refused};

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
    /// The cable to this node is there.
    Plug(NodeId),
    /// The cable to this node is gone.
    Unplug(NodeId),
}

impl Command {
    /// For algorithms on links that neither come nor go.
    ///
    /// # Errors
    ///
    /// Whatever does not call for an election.
    pub(crate) const fn only_elect(self) -> Result<(), Refused> {
        match self {
            Self::Elect => Ok(()),
            Self::Plug(_) | Self::Unplug(_) => {
                Err(Refused("only the election bus-reset has cables to plug in and unplug"))
            }
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elect => f.write_str("elect"),
            Self::Plug(peer) => write!(f, "plug {peer}"),
            Self::Unplug(peer) => write!(f, "unplug {peer}"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let peer = |word: &str| match word.parse() {
            Ok(id) => Ok(NodeId(id)),
            Err(_) => Err(format!("'{word}' is not the number of a node")),
        };
        match *words {
            ["elect"] => Ok(Self::Elect),
            ["plug", of] => peer(of).map(Self::Plug),
            ["unplug", of] => peer(of).map(Self::Unplug),
            _ => Err(format!("unknown command '{text}': say elect, plug 1 or unplug 1")),
        }
    }
}

/// The notices to an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// This node leads, until further notice.
    Leader(NodeId),
    /// A bus reset of this generation: there is no leader, until further notice.
    Reset(u32),
}

impl Notice {
    /// Who leads, if it says that.
    pub(crate) const fn leader(self) -> Option<NodeId> {
        match self {
            Self::Leader(leader) => Some(leader),
            Self::Reset(_) => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader(node) => write!(f, "node {node} leads"),
            Self::Reset(generation) => write!(f, "bus reset {generation}"),
        }
    }
}
