//! Fencing tokens.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The fencing token of an entry, to be shown to the resource: larger is later. A resource refuses
/// a token that is lower than one that it has seen: its holder was overtaken. Only [locks on
/// views](crate::group::locks) have such tokens; they are explained there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FencingToken {
    /// The view, compared first.
    pub view: u64,
    /// The Lamport clock at the entry.
    pub clock: u64,
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.view, self.clock)
    }
}
