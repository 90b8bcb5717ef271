//! What an entry shows to the resource.

use core::fmt;

use serde::{Deserialize, Serialize};

/// What an entry shows to the resource: larger is later. Whoever finds a lower number than one that
/// it has seen was overtaken, and is to be refused. Only [locks on views](crate::group::locks) have
/// such numbers, and there it is said what they mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Fence {
    /// The view, compared first.
    pub view: u64,
    /// The Lamport clock at the entry.
    pub clock: u64,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.view, self.clock)
    }
}
