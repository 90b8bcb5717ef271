//! What can go wrong.

use std::time::Duration;

use serde::Serialize;
use vorrang_algorithms::group::named::{
    self, ALREADY_HELD, ALREADY_WANTED, IS_LEAVING, LONGEST_NAME, Name, Refusal, UnfitText,
};
use vorrang_net::{CommandError, NetError, StopReason, Stopped, StorageError};
use vorrang_protocol::WallTime;

use crate::config::ConfigError;

/// Why a member could not be started.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The network: an address that cannot be listened on, or that is none.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The keys.
    #[cfg(feature = "tls")]
    #[error("keys: {0}")]
    Keys(#[from] crate::tls::KeyError),
    /// There are keys, and this program cannot use them.
    #[error("the configuration has keys, and this program was built without the feature `tls`")]
    NoTls,
    /// The data directory.
    #[error("data: {0}")]
    Storage(#[from] StorageError),
    /// No member of the group that is to be joined lets this process in.
    #[error("join: {0}")]
    Join(NetError),
}

/// Why something was not granted, or not done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockError {
    /// The text is no name.
    #[error("'{}' is no name: {why}", shortened(.name))]
    Name {
        /// The text.
        name: String,
        /// Why it is none.
        why: UnfitText,
    },
    /// A candidate would lead with a value that is none.
    #[error("a candidate of '{name}' cannot lead with this value: {why}")]
    Value {
        /// The election.
        name: Name,
        /// Why it is none.
        why: UnfitText,
    },
    /// One name is in the list twice.
    #[error("'{0}' is wanted twice at once: locks are not re-entrant")]
    Twice(Name),
    /// The semaphore has another number of permits.
    #[error(
        "semaphore '{name}' was asked for as one of {asked} permits, and those who hold or want \
         it now say that there are {bound}"
    )]
    Permits {
        /// The semaphore.
        name: Name,
        /// As this client says.
        asked: u32,
        /// As others say, who have or want it.
        bound: u32,
    },
    /// A semaphore of no permit.
    #[error("semaphore '{0}' was asked for with 0 permits: it has at least one")]
    NoPermits(Name),
    /// The time is over, and nobody could have been granted anything: there is no majority.
    #[error("not granted in time: {0}")]
    NoMajority(String),
    /// This member leaves the group, or has left it.
    #[error("this member leaves the group")]
    Leaving,
    /// Another process was started as this member: this one takes no part any more.
    #[error("this member was replaced: {0}")]
    Replaced(String),
    /// The member does not run any more.
    #[error("this member has stopped: {0}")]
    Stopped(StopReason),
    /// The group is to be changed by a member that does not belong to it.
    #[error("this member does not belong to the group: {0}")]
    Outside(String),
    /// Nobody of that name is a member.
    #[error("'{}' is no member of the group", shortened(.0))]
    NotAMember(String),
    /// The member refuses it.
    #[error("{0}")]
    Refused(String),
}

/// The beginning of a text that may be long, without control characters.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let start: String = text.chars().take(MOST).collect();
    let is_cut = start.len() < text.len();
    format!("{}{}", start.escape_debug(), if is_cut { "…" } else { "" })
}

impl LockError {
    /// One word for programs, of lower-case letters and hyphens.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "bad-name",
            Self::Value { .. } => "bad-value",
            Self::Twice(_) => "twice",
            Self::Permits { .. } => "permits",
            Self::NoPermits(_) => "no-permits",
            Self::NoMajority(_) => "no-majority",
            Self::Leaving => "leaving",
            Self::Replaced(_) => "replaced",
            Self::Stopped(_) => "stopped",
            Self::Outside(_) => "outside",
            Self::NotAMember(_) => "not-a-member",
            Self::Refused(_) => "refused",
        }
    }

    /// A name, or why the text is none.
    pub(crate) fn name(text: &str) -> Result<Name, Self> {
        // What is too long is not repeated in full.
        let name = || text.chars().take(LONGEST_NAME).collect();
        Name::new(text).map_err(|why| Self::Name { name: name(), why })
    }

    /// The machine does not do what was wanted.
    pub(crate) fn of_command(error: CommandError, name: &Name) -> Self {
        match error {
            CommandError::Refused(named::NO_PERMITS) => Self::NoPermits(name.clone()),
            CommandError::Refused(IS_LEAVING) => Self::Leaving,
            CommandError::Refused(ALREADY_HELD | ALREADY_WANTED) => Self::Twice(name.clone()),
            other => Self::of_change(other),
        }
    }

    /// The same of a command that is about members and not about a name.
    pub(crate) fn of_change(error: CommandError) -> Self {
        match error {
            CommandError::Stopped(Stopped { why }) => Self::Stopped(why),
            CommandError::Fenced(why) => Self::Replaced(why),
            CommandError::Refused(_)
            | CommandError::Hopeless(_)
            | CommandError::GivenUp
            | CommandError::TooLarge { .. } => Self::Refused(error.to_string()),
        }
    }

    pub(crate) fn of_refusal(refusal: Refusal, name: Name) -> Self {
        match refusal {
            Refusal::Permits { asked, bound } => Self::Permits { name, asked, bound },
        }
    }
}

/// Why a hold is no more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The others had not heard this member in time.
    #[error("the group has gone on without this member, which it had not heard in time")]
    Evicted,
    /// The same, since somebody has asked them to.
    #[error("somebody has evicted this member, and the group has gone on without it")]
    Removed,
    /// The member could not prove for as long as a lease lasts that it belongs to the group.
    #[error("this member could not renew its lease in time")]
    LeaseOver,
    /// It was held for as long as is allowed.
    #[error("it was held for {}, and no longer is allowed (max-hold)", WallTime(*.0))]
    MaxHold(Duration),
    /// The member left the group, and did not wait any longer.
    #[error("this member has left the group")]
    Left,
    /// Another process was started as this member.
    #[error("this member was replaced: {0}")]
    Replaced(String),
    /// The member does not run any more.
    #[error("this member has stopped: {0}")]
    Stopped(String),
}

impl Loss {
    /// One word for programs, of lower-case letters and hyphens.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Evicted | Self::Removed => "evicted",
            Self::LeaseOver => "lease-over",
            Self::MaxHold(_) => "max-hold",
            Self::Left => "left",
            Self::Replaced(_) => "replaced",
            Self::Stopped(_) => "stopped",
        }
    }
}

impl From<named::Loss> for Loss {
    fn from(loss: named::Loss) -> Self {
        match loss {
            named::Loss::Evicted => Self::Evicted,
            named::Loss::Removed => Self::Removed,
            named::Loss::LeaseOver => Self::LeaseOver,
        }
    }
}
