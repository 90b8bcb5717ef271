//! The messages of one sender, as a member of SRM knows them.

use alloc::collections::VecDeque;

use vorrang_protocol::{NodeId, SortedMap};

use super::pace::Experience;
use crate::multicast::body::Body;
use crate::multicast::inbox::Inbox;

/// The messages of one sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::multicast) struct Stream {
    pub(in crate::multicast) inbox: Inbox,
    /// All below this number were sent.
    pub(in crate::multicast) below: u64,
    /// Delivered messages that may be missing elsewhere, oldest first.
    pub(in crate::multicast) kept: VecDeque<Body>,
    /// The number of the first of these.
    pub(in crate::multicast) first: u64,
    /// The missing messages.
    pub(in crate::multicast) missing: SortedMap<u64, Missing>,
    /// Requested messages that this member is about to send.
    pub(in crate::multicast) repairs: SortedMap<u64, Repairing>,
    /// Recent repairs.
    pub(in crate::multicast) held: SortedMap<u64, Held>,
    /// How far it had come when that was last said.
    pub(in crate::multicast) told: u64,
}

/// Something that is missing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::multicast) struct Missing {
    /// How often the wait has been doubled.
    pub(in crate::multicast) doublings: u8,
    /// Whether requests belong to the present round.
    pub(in crate::multicast) is_ignoring: bool,
    /// Data for adaptive waits, if they are used: since when, and the outcome so far.
    pub(in crate::multicast) lesson: Option<Lesson>,
}

/// Something that this member is about to repair.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Repairing {
    pub(in crate::multicast) to: NodeId,
    /// How many links the repair is to go, if not to all.
    pub(in crate::multicast) reach: Option<u32>,
    pub(in crate::multicast) lesson: Option<Lesson>,
}

/// Something that was repaired a short time ago.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Held {
    /// Not to all.
    pub(in crate::multicast) is_local: bool,
    /// Data for adaptive waits, if they are used and this member was about to repair it.
    pub(in crate::multicast) came: Option<Experience>,
}

/// Data for adaptive waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Lesson {
    pub(in crate::multicast) since: u32,
    pub(in crate::multicast) is_begun: bool,
    pub(in crate::multicast) so_far: Experience,
}

impl Stream {
    /// The messages from this number on.
    pub(in crate::multicast) fn from(first: u64) -> Self {
        let inbox = Inbox { next: first, ..Inbox::default() };
        Self { inbox, below: first, first, told: first, ..Self::default() }
    }

    /// The message of this number, if it is here and not dropped.
    pub(in crate::multicast) fn get(&self, number: u64) -> Option<&Body> {
        let place = number.checked_sub(self.first)?;
        self.kept.get(place as usize).or_else(|| self.inbox.early.get(&number))
    }
}
