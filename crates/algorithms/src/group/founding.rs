//! Who is to found a group, of which nobody knows whether it was founded already.

use alloc::vec::Vec;

use vorrang_protocol::NodeId;

/// A group to be founded: by the lowest of these nodes, when all others of them have reported that
/// they are in no group, and no node is known to be in one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Founding {
    /// The number of the first view: larger than that of any view of a group that these nodes may
    /// have had and forgotten.
    pub view: u64,
    /// The nodes.
    pub founders: Vec<NodeId>,
    /// For how many heartbeats the lowest waits before: so that members of a group that is still
    /// there, whose addresses those do not know who have forgotten all, can find them.
    pub patience: u32,
}
