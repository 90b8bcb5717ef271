//! Reliable multicast: what one member sends, all members deliver, once and in an order.
//!
//! An application says [`Command::Cast`]; every application is told [`Notice::Delivered`], also the
//! sender's own. Links may lose, double and overtake messages.
//!
//! Two questions, and two kinds of files. How does a message get to everyone? That is a
//! [carrier](ordered::carrier::Carrier): [`ack`], [`nack`] or [`srm`]. In which order is it
//! delivered? That is an [order](ordering): one of six, on top of any carrier.

pub mod ack;
pub mod body;
pub mod card;
pub mod flaws;
pub mod inbox;
mod incarnation;
pub mod nack;
pub mod ordered;
pub mod ordering;
mod silence;
pub mod spec;
pub mod srm;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

pub use card::Card;
pub use ordered::Ordered;

use self::ordered::carrier::Carrier;
use crate::problem::Problem;
use crate::recipe::Recipe;
use crate::setup::{Ordering, Unfit};

/// The nodes of a carrier under any order, on any network that holds together.
pub(crate) fn recipe<C: Carrier>() -> Recipe<Ordered<C>> {
    Recipe::new(|setup| {
        setup.topology.graph(setup.group)?;
        if let Some(tries) = setup.tries.filter(|_| setup.ordering != Ordering::Fifo) {
            let order = setup.ordering.name();
            return Err(Unfit(format!(
                "--tries {tries}: only in fifo order does nobody wait for a crashed member, not in \
                 --ordering {order}; see virtual-synchrony"
            )));
        }
        if let Some(history) = setup.history {
            if setup.tries.is_some() {
                return Err(Unfit(format!(
                    "--history {history}: a sender that waits for nobody needs no --tries"
                )));
            }
            if setup.ordering != Ordering::Fifo {
                let order = setup.ordering.name();
                return Err(Unfit(format!(
                    "--history {history}: where messages may be given up, only fifo order is \
                     kept, not --ordering {order}"
                )));
            }
            if history.get() > setup.window {
                let window = setup.window;
                return Err(Unfit(format!(
                    "--history {history}: a receiver keeps no more than --window {window} of a \
                     sender, so say {window} at most"
                )));
            }
        }
        let setup = setup.clone();
        Ok(move |id| Ordered::of(id, &setup))
    })
}

/// The problem.
#[derive(Clone, Copy, Debug)]
pub enum Multicast {}

impl Problem for Multicast {
    const NAME: &'static str = "multicast";
    const TITLE: &'static str = "reliable multicast";
    type Command = Command;
    type Notice = Notice;
    type Terms = card::Terms;
    type Setting = card::Setting;
    type Demonstration = card::Demonstration;
}

/// The text of a multicast. The empty text takes no memory of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(pub Box<str>);

impl Text {
    /// How long it may be: with all that carriers and orders add to it, which may be long after it
    /// was taken, it fits into one datagram.
    pub const MOST_BYTES: usize = 1280;
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The commands of an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Tell this to everyone.
    Cast(Text),
    /// Leave, when all have what was said here.
    Leave,
    /// Join again, as a new incarnation.
    Join,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cast(text) if text.0.is_empty() => f.write_str("cast"),
            Self::Cast(text) => write!(f, "cast {text}"),
            Self::Leave => f.write_str("leave"),
            Self::Join => f.write_str("join"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.split_once(' ').unwrap_or((text, "")) {
            ("cast", what) => Ok(Self::Cast(what.trim().into())),
            ("leave", "") => Ok(Self::Leave),
            ("join", "") => Ok(Self::Join),
            (other, _) => Err(format!("unknown command '{other}': say cast TEXT, leave or join")),
        }
    }
}

/// The notices to an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A message is delivered.
    Delivered {
        /// Who.
        from: NodeId,
        /// Its incarnation.
        #[serde(default, skip_serializing_if = "is_first")]
        incarnation: u64,
        /// Which of the messages of that this is, from 0.
        number: u64,
        /// What.
        text: Text,
    },
    /// The messages of an incarnation are delivered here from this number on; or this is the
    /// beginning of a new one here.
    Begins {
        /// Whose.
        from: NodeId,
        /// Its incarnation.
        incarnation: u64,
        /// The first of its messages that is delivered here.
        number: u64,
    },
    /// Others have removed this member, which comes back as a new incarnation.
    Removed,
    /// All have what was said here, and this member has left.
    Left,
    /// Messages that will never be delivered here, since their sender has dropped them.
    Missed {
        /// Whose.
        from: NodeId,
        /// The first of them.
        first: u64,
        /// The first after them.
        below: u64,
    },
    /// So much is under way that nothing more is taken, until there is room.
    Full,
    /// There is room again.
    Room,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_first(incarnation: &u64) -> bool {
    *incarnation == 0
}

/// A member in an incarnation: 1, 1'2, or 1'…417, by the last digits of its clock where
/// incarnations are not counted.
struct Speaker(NodeId, u64);

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id, incarnation) = self;
        match incarnation::counted(*incarnation) {
            Some(0) => write!(f, "{id}"),
            Some(count) => write!(f, "{id}'{count}"),
            None => write!(f, "{id}'…{:03}", incarnation % 1000),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered { from, incarnation, number, text } => {
                write!(f, "delivers {}/{number}", Speaker(*from, *incarnation))?;
                if text.0.is_empty() { Ok(()) } else { write!(f, ": {text}") }
            }
            Self::Begins { from, incarnation, number } => {
                write!(f, "begins with {}/{number}", Speaker(*from, *incarnation))
            }
            Self::Removed => f.write_str("was removed, and comes back as a new incarnation"),
            Self::Left => f.write_str("has left the group"),
            Self::Missed { from, first, below } if below.saturating_sub(*first) < 2 => {
                write!(f, "misses {from}/{first} for ever")
            }
            Self::Missed { from, first, below } => {
                write!(f, "misses {from}/{first} to {from}/{} for ever", below - 1)
            }
            Self::Full => f.write_str("has no room for more"),
            Self::Room => f.write_str("has room again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn what_is_said_is_read_back() {
        for text in ["cast", "cast hello", "cast good morning all", "leave", "join"] {
            assert_eq!(text.parse::<Command>().unwrap().to_string(), text);
        }
        let why = "shout it".parse::<Command>().unwrap_err();
        assert_eq!(why, "unknown command 'shout': say cast TEXT, leave or join");
    }

    #[test]
    fn whoever_speaks_is_named_with_its_incarnation_if_it_is_not_the_first() {
        let begins =
            |incarnation| Notice::Begins { from: NodeId(1), incarnation, number: 5 }.to_string();
        assert_eq!(begins(0), "begins with 1/5");
        assert_eq!(begins(3 << 32), "begins with 1'3/5");
        assert_eq!(begins(1_800_000_000_000_042), "begins with 1'…042/5", "named by a clock");
        assert_eq!(begins(1_800_000_000_000_107), "begins with 1'…107/5", "the next one");
    }
}
