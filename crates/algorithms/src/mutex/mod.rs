//! Mutual exclusion: at most one node is inside, and every node that asks gets in.
//!
//! The application says [`Command::Acquire`], waits to be told [`Notice::Entered`], does what only
//! one may do, and says [`Command::Release`]. A node makes one request at a time.
//!
//! On views, where [the group goes on without unreachable members](crate::group::locks), an
//! application gets a fencing token when it [enters](Notice::EnteredAs), and is told when it [loses
//! the lock](Notice::Evicted) and when the [view changes](Notice::View).

pub mod cao_singhal;
pub mod cao_singhal_fallback;
pub mod card;
pub mod carvalho_roucairol;
pub mod central;
pub mod echo_lift;
pub mod elected_lift;
pub mod fallback;
mod fencing_token;
pub mod flaws;
pub mod group_exclusion;
pub mod handing_on;
pub mod k_exclusion;
pub mod lamport;
pub mod lemmas;
pub mod lift;
pub mod locking;
mod locking_state;
pub mod maekawa;
pub mod maekawa_basic;
pub mod maekawa_fallback;
pub mod majority_votes;
pub mod majority_votes_timely;
pub mod raymond;
pub mod readers_writers;
pub mod regenerating;
pub mod regenerating_raymond;
pub mod regenerating_ring;
pub mod regenerating_suzuki_kasami;
pub mod resource_sets;
mod resources;
pub mod ricart_agrawala;
pub mod ricart_agrawala_probing;
pub mod sanders;
pub mod self_messages;
pub mod singhal;
pub mod spec;
pub mod stamps;
pub mod suzuki_kasami;
mod theory;
pub mod token_ring;
pub mod total_order;
pub mod tree_token;

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Refused, Step, Turn};

pub use card::Card;
pub use fencing_token::FencingToken;
pub use resources::Resources;

use crate::problem::Problem;

/// The problem.
#[derive(Clone, Copy, Debug)]
pub enum Mutex {}

impl Problem for Mutex {
    const NAME: &'static str = "mutex";
    const TITLE: &'static str = "mutual exclusion";
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
    /// Wants in.
    Acquire(Claim),
    /// Leaves.
    Release,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acquire(Claim::Exclusive) => f.write_str("acquire"),
            Self::Acquire(claim) => write!(f, "acquire {claim}"),
            Self::Release => f.write_str("release"),
        }
    }
}

impl FromStr for Command {
    type Err = String;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let words: alloc::vec::Vec<&str> = text.split_whitespace().collect();
        let claim = match *words {
            ["acquire"] | ["acquire", "exclusive"] => Claim::Exclusive,
            ["acquire", "shared"] => Claim::Shared,
            ["acquire", "group", class] => match class.parse() {
                Ok(class) => Claim::Group(class),
                Err(_) => return Err(format!("a group is a number from 0 to 255, not '{class}'")),
            },
            ["acquire", "of", resources] => Claim::Of(resources.parse()?),
            ["release"] => return Ok(Self::Release),
            _ => {
                return Err(format!(
                    "unknown command '{text}': say acquire (shared, group NUMBER, of a+b) or \
                     release"
                ));
            }
        };
        Ok(Self::Acquire(claim))
    }
}

impl Turn for Command {
    fn step(&self) -> Option<Step> {
        Some(match self {
            Self::Acquire(_) => Step::Ask,
            Self::Release => Step::Leave,
        })
    }

    fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Acquire(ours), Self::Acquire(theirs)) => ours.conflicts_with(*theirs),
            (Self::Acquire(_) | Self::Release, _) => true,
        }
    }
}

/// The other applications that may be inside together with this one.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// None.
    #[default]
    Exclusive,
    /// All that also share: a reader among readers.
    Shared,
    /// Those of the same class.
    Group(u8),
    /// Those that need none of these resources.
    Of(Resources),
}

impl Claim {
    /// Whether the two may not be inside together.
    pub fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Shared, Self::Shared) => false,
            (Self::Group(ours), Self::Group(theirs)) => ours != theirs,
            (Self::Of(ours), Self::Of(theirs)) => ours.meet(theirs),
            (Self::Exclusive | Self::Shared | Self::Group(_) | Self::Of(_), _) => true,
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("exclusive"),
            Self::Shared => f.write_str("shared"),
            Self::Group(class) => write!(f, "group {class}"),
            Self::Of(resources) => write!(f, "of {resources}"),
        }
    }
}

/// The notices to an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// You are inside, until you release.
    Entered,
    /// The same, with a fencing token to show to the resource, until you release or lose the lock.
    EnteredAs(FencingToken),
    /// You have lost the lock: the others have gone on without you. The application may release it
    /// all the same, or ask again.
    Evicted,
    /// You belong to a view from now on: its number, and how many members it has.
    View {
        /// Views are counted from 1.
        number: u64,
        /// This node included.
        members: u32,
    },
}

impl Notice {
    /// Whether it says that the application is inside.
    pub const fn is_entry(self) -> bool {
        match self {
            Self::Entered | Self::EnteredAs(_) => true,
            Self::Evicted | Self::View { .. } => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered => f.write_str("entered"),
            Self::EnteredAs(fence) => write!(f, "entered with token {fence}"),
            Self::Evicted => f.write_str("lost the lock"),
            Self::View { number, members } => write!(f, "view {number} of {members} members"),
        }
    }
}

impl Turn for Notice {
    fn step(&self) -> Option<Step> {
        match self {
            Self::Entered | Self::EnteredAs(_) => Some(Step::Enter),
            Self::Evicted => Some(Step::Evicted),
            Self::View { .. } => None,
        }
    }
}

/// A request while the last one is still waiting.
pub const ALREADY_WAITING: Refused = Refused("cannot acquire: already waiting to enter");
/// A request from inside.
pub const ALREADY_INSIDE: Refused = Refused("cannot acquire: already inside");
/// A release from outside.
pub const NOT_INSIDE: Refused = Refused("cannot release: not inside");
/// A claim that the algorithm does not know how to share.
pub const EXCLUSIVE_ONLY: Refused = Refused("cannot acquire: only exclusive claims are granted");

/// A claim that is not among those that the algorithm grants.
pub const CLAIM_NOT_GRANTED: Refused = Refused(
    "cannot acquire: this algorithm does not grant that kind of claim: say acquire of a+b for \
         resources, acquire group 2 for classes, acquire shared for readers",
);

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn commands_are_read_as_they_are_written() {
        let of = Claim::Of(Resources::named(b"ad"));
        for claim in [Claim::Exclusive, Claim::Shared, Claim::Group(7), of] {
            let command = Command::Acquire(claim);
            assert_eq!(command.to_string().parse(), Ok(command));
        }
        assert_eq!("release".parse(), Ok(Command::Release));
        assert!("aquire".parse::<Command>().unwrap_err().contains("unknown command 'aquire'"));
        assert!("acquire group x".parse::<Command>().unwrap_err().contains("not 'x'"));
    }

    #[test]
    fn claims_conflict_unless_both_agree_to_share() {
        let one = Claim::Of(Resources::named(b"a"));
        let claims = [Claim::Exclusive, Claim::Shared, Claim::Group(1), Claim::Group(2), one];
        let apart = Claim::Of(Resources::named(b"b"));
        assert!(one.conflicts_with(one) && !one.conflicts_with(apart));
        for (i, a) in claims.into_iter().enumerate() {
            for (j, b) in claims.into_iter().enumerate() {
                assert_eq!(
                    a.conflicts_with(b),
                    i != j || [Claim::Exclusive, one].contains(&a),
                    "{a} and {b}"
                );
            }
        }
    }
}
