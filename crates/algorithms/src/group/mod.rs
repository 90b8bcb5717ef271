//! Group communication with views: the members agree on who belongs to the group, one view after
//! the other, and between two views all deliver the same messages in the same order.
//!
//! The application says [`Command::Join`] and [`Command::Leave`], and [`Command::Multicast`] to
//! tell all members something. It is told [`Notice::View`] when a view begins,
//! [`Notice::Delivered`] for every message, its own included, [`Notice::Blocked`] when a view is
//! about to end (what it multicasts from then on belongs to the next view), and [`Notice::Out`]
//! when it belongs to the group no more.

mod asks;
pub mod card;
mod claims;
mod cover;
pub mod decision;
pub mod detecting;
pub mod flaws;
pub mod founding;
pub mod informed;
pub mod input;
pub mod locks;
mod log;
pub mod message;
pub mod named;
mod payload;
mod reach;
pub mod replica;
mod shown;
pub mod spec;
pub mod synod;
pub mod view;
pub mod view_leader;
pub mod views;
pub mod virtual_synchrony;
pub mod voters;
pub mod with_suspicions;

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Digest, NodeId, Refused};

pub use card::Card;
pub use payload::Payload;
pub use view::{Member, View};

use crate::problem::Problem;

/// The problem.
#[derive(Clone, Copy, Debug)]
pub enum GroupCommunication {}

impl Problem for GroupCommunication {
    const NAME: &'static str = "group";
    const TITLE: &'static str = "group communication";
    /// The commands of an application, and the reports of a failure detector where it is no part of
    /// the node.
    type Command = input::Input<Command>;
    type Notice = Notice;
    type Terms = card::Terms;
    type Setting = card::Setting;
    type Demonstration = card::Demonstration;
}

/// The commands of an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Wants to belong to the group.
    Join,
    /// Wants to belong to it no more.
    Leave,
    /// Tells all members something.
    Multicast(Payload),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join => f.write_str("join"),
            Self::Leave => f.write_str("leave"),
            Self::Multicast(payload) => write!(f, "multicast {payload}"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "join" => Ok(Self::Join),
            "leave" => Ok(Self::Leave),
            other => match other.strip_prefix("multicast ").map(str::trim) {
                Some(payload) if !payload.is_empty() => Ok(Self::Multicast(payload.into())),
                Some(_) | None => {
                    Err(format!("unknown command '{text}': say join, leave or multicast TEXT"))
                }
            },
        }
    }
}

/// The notices to an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A view begins, to which this node belongs.
    View {
        /// The view.
        view: View,
        /// The state after all messages so far: see [`ledger`].
        state: Digest,
    },
    /// A message is delivered, in the view that the node is in.
    Delivered {
        /// The sender.
        from: NodeId,
        /// Which of that one's in this view it is, from 0.
        number: u32,
        /// The payload.
        payload: Payload,
    },
    /// The view is about to end.
    Blocked,
    /// This node belongs to the group no more. Unless it wanted to leave, it tries to come back.
    Out,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::View { view, .. } => write!(f, "view {view}"),
            Self::Delivered { from, number, payload } => {
                write!(f, "delivers {from}/{number}: {payload}")
            }
            Self::Blocked => f.write_str("blocked"),
            Self::Out => f.write_str("out of the group"),
        }
    }
}

/// The replicated state after one more message. It stands for any state machine that is replicated
/// by delivering messages in order: members that have delivered the same messages have the same
/// state, and a joining member must be given it.
pub fn ledger(Digest(state): Digest, payload: &Payload) -> Digest {
    let mixed = |state: u64, part: u64| {
        state.wrapping_mul(0x100_0000_01b3).wrapping_add(part).wrapping_add(1)
    };
    Digest(match payload {
        Payload::Number(number) => mixed(state, u64::from(*number)),
        Payload::Text(text) => {
            let bytes = text.0.bytes().map(u64::from);
            bytes.fold(mixed(state, text.0.len() as u64), mixed)
        }
    })
}

/// Nodes, as in `0, 1`.
fn list<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = all.into_iter().map(|it| it.to_string()).collect();
    all.join(", ")
}

/// To join once more.
pub const ALREADY_IN: Refused = Refused("cannot join: it belongs to the group, or has asked to");
/// To leave, or to multicast, without belonging to the group.
pub const NOT_IN: Refused =
    Refused("cannot leave or multicast: it neither belongs to the group nor has asked to");

#[cfg(test)]
mod tests {
    use super::input::Input;
    use super::*;

    #[test]
    fn commands_are_read_as_they_are_written() {
        let multicast = |text: &str| Command::Multicast(text.into());
        let said = [multicast("7"), multicast("007"), multicast("hello, all of you")];
        for command in [Command::Join, Command::Leave].into_iter().chain(said) {
            assert_eq!(command.to_string().parse().as_ref(), Ok(&command));
            let asked = Input::Ask(command);
            assert_eq!(asked.to_string().parse(), Ok(asked));
        }
        let two = NodeId(2);
        for said in [Input::<Command>::Suspect(two), Input::Trust(two), Input::Beat] {
            assert_eq!(said.to_string().parse(), Ok(said));
        }
        let no_node = "suspect x".parse::<Input<Command>>().unwrap_err();
        assert_eq!(no_node, "'x' is not the number of a node");
        let wrong = |text: &str| text.parse::<Command>().unwrap_err();
        assert!(wrong("multicast").contains("multicast TEXT"));
        assert!(wrong("enter").contains("unknown command 'enter'"));
    }
}
