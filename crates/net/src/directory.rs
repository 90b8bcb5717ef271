//! Starts of a node in its directory, so that copies of directories are noticed.
//!
//! What is in a directory holds only if there is one of it, and if it has only ever grown. A copy
//! that is used elsewhere, or one that was put back from a backup, has forgotten promises, and
//! looks like the directory that has given them. So every directory has a number that is drawn when
//! it is made, and every start in it is counted and draws another number; all three are on the disk
//! before anything is sent, and in every hello. Peers keep the newest start of each node, and
//! refuse an earlier one in the same directory, or another one with the same count.
//!
//! **Limits**: a copy of what the directory had during its last start is not noticed if it is
//! started before the original is, and peers that were all restarted know nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use crate::drawn::draw_number;
use crate::refusal::Refusal;

/// A start of a node in a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DirectoryStart {
    /// Drawn when the directory was made.
    pub directory: u64,
    /// How many starts there have been in it, this one included.
    pub count: u64,
    /// Drawn at this start.
    pub nonce: u64,
}

impl DirectoryStart {
    /// The next one in the same directory, or the first in a new one.
    pub(crate) fn after(former: Option<Self>) -> Self {
        let (directory, count) =
            former.map_or_else(|| (draw_number(), 0), |it| (it.directory, it.count));
        Self { directory, count: count.saturating_add(1), nonce: draw_number() }
    }
}

/// The newest starts of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starts(Arc<Mutex<BTreeMap<NodeId, DirectoryStart>>>);

impl Starts {
    /// Whether a node can have been started so, after what was heard of it before.
    pub(crate) fn judge(&self, of: NodeId, start: DirectoryStart) -> Result<(), Refusal> {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = newest.get(&of)
            && known.directory == start.directory
            && (start.count < known.count
                || (start.count == known.count && start.nonce != known.nonce))
        {
            return Err(Refusal::Copied);
        }
        newest.insert(of, start);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_start_and_another_one_with_the_same_count_are_refused() {
        let starts = Starts::default();
        let judge = |start| starts.judge(NodeId(1), start);
        let first = DirectoryStart::after(None);
        let second = DirectoryStart::after(Some(first));
        let of_a_copy = DirectoryStart::after(Some(first));
        assert_eq!((second.directory, second.count), (first.directory, 2));
        assert!(judge(first).is_ok() && judge(first).is_ok(), "it calls again");
        assert!(judge(second).is_ok());
        assert_eq!(judge(first), Err(Refusal::Copied), "it was put back");
        assert_eq!(judge(of_a_copy), Err(Refusal::Copied), "the other one was there before");
        assert!(judge(second).is_ok() && judge(DirectoryStart::after(Some(second))).is_ok());
        assert_eq!(judge(second), Err(Refusal::Copied));
        assert!(judge(DirectoryStart::after(None)).is_ok(), "an empty directory");
        assert!(starts.judge(NodeId(2), first).is_ok(), "of another node nothing is known");
    }
}
