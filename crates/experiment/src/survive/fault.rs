//! Single faults.

use std::fmt;

use crate::problem::{Kinds, Role};

/// A single fault; of a message, of this kind or of any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A message is lost.
    Lose(Option<&'static str>),
    /// A message arrives twice.
    Duplicate(Option<&'static str>),
    /// A message is overtaken.
    Reorder(Option<&'static str>),
    /// A node in this role crashes.
    Crash(Role),
    /// A crash in any role, on views; or instead, another incarnation, a pause, a broken link.
    OnViews,
    /// All cables of a device are pulled out.
    Unplug,
}

impl Fault {
    /// Those that befall messages.
    const OF_MESSAGES: [fn(Option<&'static str>) -> Self; 3] =
        [Self::Lose, Self::Duplicate, Self::Reorder];

    /// Those that have a column, for all kinds of messages.
    pub fn columns(roles: &[Role]) -> Vec<Self> {
        let of_messages = Self::OF_MESSAGES.into_iter().map(|fault| fault(None));
        let crashes = roles.iter().map(|&role| Self::Crash(role));
        of_messages.chain(crashes).chain(Self::besides(roles)).collect()
    }

    /// Those of the problem: of locks, that they run on views; of elections, that a bus has cables.
    fn besides(roles: &[Role]) -> Option<Self> {
        let elects = [Role::Initiator, Role::Leader].iter().all(|role| roles.contains(role));
        let is_lock = roles.contains(&Role::Holder);
        is_lock.then_some(Self::OnViews).or_else(|| elects.then_some(Self::Unplug))
    }

    /// All of them: a column, and what it is made of if that is more than itself.
    pub(super) fn all(kinds: Kinds, roles: &[Role]) -> Vec<Self> {
        let mut all = Vec::new();
        for fault in Self::OF_MESSAGES {
            all.push(fault(None));
            all.extend(kinds.iter().map(|&kind| fault(Some(kind))));
        }
        all.extend(roles.iter().map(|&role| Self::Crash(role)));
        all.extend(Self::besides(roles));
        all
    }

    /// Whether that one is among those that this one stands for.
    pub(super) fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Lose(None), Self::Lose(_))
            | (Self::Duplicate(None), Self::Duplicate(_))
            | (Self::Reorder(None), Self::Reorder(_)) => true,
            (
                Self::Lose(_)
                | Self::Duplicate(_)
                | Self::Reorder(_)
                | Self::Crash(_)
                | Self::OnViews
                | Self::Unplug,
                Self::Lose(_)
                | Self::Duplicate(_)
                | Self::Reorder(_)
                | Self::Crash(_)
                | Self::OnViews
                | Self::Unplug,
            ) => self == other,
        }
    }

    /// The kind of message that it befalls, if only one.
    pub(super) const fn kind(self) -> Option<&'static str> {
        match self {
            Self::Lose(kind) | Self::Duplicate(kind) | Self::Reorder(kind) => kind,
            Self::Crash(_) | Self::OnViews | Self::Unplug => None,
        }
    }

    /// Its name without the kind of message.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Lose(_) => "lose",
            Self::Duplicate(_) => "duplicate",
            Self::Reorder(_) => "reorder",
            Self::Crash(Role::Idle) => "crash-idle",
            Self::Crash(Role::Waiting) => "crash-waiting",
            Self::Crash(Role::Holder) => "crash-holder",
            Self::Crash(Role::Coordinator) => "crash-coordinator",
            Self::Crash(Role::Other) => "crash-other",
            Self::Crash(Role::Initiator) => "crash-initiator",
            Self::Crash(Role::Leader) => "crash-leader",
            Self::OnViews => "on-views",
            Self::Unplug => "unplug",
        }
    }
}

/// As it is typed.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class())?;
        self.kind().map_or(Ok(()), |kind| write!(f, ":{kind}"))
    }
}
