//! What a member of SRM knows of one sender's messages.

use alloc::collections::{BTreeMap, VecDeque};

use vorrang_protocol::NodeId;

use super::pace::Experience;
use crate::multicast::body::Body;
use crate::multicast::inbox::Inbox;

/// What comes from one sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::multicast) struct Stream {
    pub(in crate::multicast) inbox: Inbox,
    /// All below this number were sent.
    pub(in crate::multicast) below: u64,
    /// What has been handed up and may be missing elsewhere, oldest first.
    pub(in crate::multicast) kept: VecDeque<Body>,
    /// The number of the first of these.
    pub(in crate::multicast) first: u64,
    /// What is missing here.
    pub(in crate::multicast) missing: BTreeMap<u64, Missing>,
    /// What others have asked for and this member is about to send.
    pub(in crate::multicast) repairs: BTreeMap<u64, Repairing>,
    /// What has been repaired a short while ago, and what that teaches.
    pub(in crate::multicast) held: BTreeMap<u64, Option<Experience>>,
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
    /// What it teaches, where anything is learnt: since when, and what came of it so far.
    pub(in crate::multicast) lesson: Option<Lesson>,
}

/// Something that this member is about to repair.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Repairing {
    pub(in crate::multicast) to: NodeId,
    pub(in crate::multicast) lesson: Option<Lesson>,
}

/// What is to be learnt from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Lesson {
    pub(in crate::multicast) since: u32,
    pub(in crate::multicast) is_begun: bool,
    pub(in crate::multicast) so_far: Experience,
}

impl Stream {
    /// What this number stands for, if it is here and not forgotten.
    pub(in crate::multicast) fn get(&self, number: u64) -> Option<&Body> {
        let place = number.checked_sub(self.first)?;
        self.kept.get(place as usize).or_else(|| self.inbox.early.get(&number))
    }
}
