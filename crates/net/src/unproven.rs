//! A process that comes under the number of another, in an open group, before it is a member.
//!
//! Anybody can say that it was started later than the process before, which has to give way: it may
//! have crashed. But whoever goes away without having become a member was perhaps none of the
//! group, and the one before may come back.

use tokio::time::Instant;

/// A process has come of which the group has not had a view: anybody can say that it was started
/// later than the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unproven {
    /// The generation, and the address, of the process before.
    pub(crate) generation: u64,
    pub(crate) address: String,
    pub(crate) since: Instant,
}
