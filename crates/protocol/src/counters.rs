//! Numbers that only ever grow, and of which only differences matter.
//!
//! A node that may enter for ever counts for ever, so no two of its states are the same, and no
//! search comes to an end. But a Lamport clock decides nothing by what it reads, only by what it
//! reads beside another. If every clock, and every time in a message, were higher by the same
//! number, the same would happen, with times that are higher by that number. The number of a
//! request means even less: only whether it is older than another of the same node, or the next
//! one. A machine that declares such numbers has its states compared up to what does not matter.

use crate::NodeId;

/// A number that is shifted together with all others of its class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Counter {
    /// One for all nodes: a logical time. Only differences matter.
    Common,
    /// One for each owner: the number of a request of this node. Only this matters: which of two is
    /// larger, and whether it is larger by one. The owner's own is the largest, and only that one
    /// is counted on from.
    Of(NodeId),
    /// The same where even that does not matter, only which of two is larger.
    Ranked(NodeId),
    /// One for each owner: the number of a message of this node, which others count as well. Only
    /// differences matter, and any of them may be counted on from.
    Sequence(NodeId),
}

/// Sees every counter in something, and may change it.
pub type CounterVisitor<'a> = &'a mut dyn FnMut(Counter, &mut u64);

impl Counter {
    /// Shows numbers of which each belongs to the node of its place, in classes of this kind.
    pub fn by_owner<'a>(
        kind: impl Fn(NodeId) -> Self,
        numbers: impl IntoIterator<Item = &'a mut u64>,
        visit: CounterVisitor<'_>,
    ) {
        for (owner, number) in (0..).map(NodeId).zip(numbers) {
            visit(kind(owner), number);
        }
    }
}
