//! What a member knows of one sender.

use crate::multicast::inbox::Inbox;

/// The messages of one sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::multicast) struct Stream {
    pub(in crate::multicast) inbox: Inbox,
    /// All below this number were sent.
    pub(in crate::multicast) below: u64,
    /// The last number that was reported to the sender.
    pub(in crate::multicast) told: u64,
    /// How often in a row the request was repeated, without a word of the sender where silence
    /// counts.
    pub(in crate::multicast) tries: u8,
}

impl Stream {
    pub(in crate::multicast) fn has_gap(&self) -> bool {
        self.inbox.next < self.below
    }
}
