//! Waves: one node starts, every node takes part, and the one that started is told when all have.
//!
//! The application of the initiator says [`Command::Start`]. Every other one is told
//! [`Notice::Joined`] when its node takes part, and through which neighbour; these links make a
//! tree that spans the graph. At last the initiator's is told [`Notice::Done`], with what was
//! gathered on the way back. (Gerard Tel, "Introduction to Distributed Algorithms", 2000, chapter
//! 6, calls what such a thing must do termination, decision and dependence.)

pub mod card;
pub mod dijkstra_scholten;
pub mod echo;
pub mod echo_taboo;
pub mod flaws;
mod gathered;
mod invariants;
pub mod spec;
pub mod termination;

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

pub use card::Card;
pub use gathered::{Gathered, Summed, Value};

use crate::problem::Problem;

/// The problem.
#[derive(Clone, Copy, Debug)]
pub enum Wave {}

impl Problem for Wave {
    const NAME: &'static str = "wave";
    const TITLE: &'static str = "wave";
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
    /// Sends a wave through the graph. Only the initiator may, and once.
    Start,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "start" => Ok(Self::Start),
            _ => Err(format!("unknown command '{text}': say start")),
        }
    }
}

/// Why a start is refused: waves of two initiators would run into each other.
const NOT_THE_INITIATOR: &str = "another node is the initiator";
/// Why a start is refused.
const ALREADY_STARTED: &str = "the wave is under way or over";

/// The notices to an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// This node takes part from now on.
    Joined {
        /// The neighbour through which the wave came: the other end of the activation edge.
        parent: NodeId,
    },
    /// This node has done a piece of the work that a wave spreads, where it spreads any.
    Worked,
    /// Every node has taken part, and this is what they gave.
    Done(Gathered),
    /// All work is done, and this is what its pieces gave.
    Over(Gathered),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { parent } => write!(f, "joined through node {parent}"),
            Self::Worked => f.write_str("did a piece of work"),
            Self::Done(Gathered { count, value: Value::Count }) => {
                write!(f, "done: {count} nodes")
            }
            Self::Done(Gathered { count, value }) => write!(f, "done: {count} nodes, {value}"),
            Self::Over(Gathered { count, value }) => write!(f, "over: {count} pieces, {value}"),
        }
    }
}
