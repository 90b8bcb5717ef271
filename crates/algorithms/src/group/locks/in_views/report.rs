//! What a member hands over when a view ends, whatever runs inside.

use crate::group::shown::Shown;

/// What a member hands over when a view ends.
pub trait Report: Shown {
    /// Whether an evicted member may not know it yet.
    fn is_early(&self) -> bool;
    /// The member's clock.
    fn clock(&self) -> u64;
}

/// What a member hands over besides what is [inside](super::Inner).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfMember {
    /// Whether an evicted member may not know it yet.
    pub is_early: bool,
    /// Its clock.
    pub clock: u64,
}
