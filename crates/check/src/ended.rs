//! How a search ends, and what it counted.

use vorrang_protocol::Violation;

use crate::report::Bound;
use crate::retrace::Way;

/// The result of a search.
pub(crate) enum Ended {
    Verified,
    Bounded(Bound),
    Violated(Violation, Way),
}

/// The counts of a search.
pub(crate) struct Counted {
    pub(crate) states: u64,
    pub(crate) steps: u64,
    pub(crate) depth: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) has_unjudged_loops: bool,
}

impl Counted {
    /// Nothing was reached.
    pub(crate) const NONE: Self =
        Self { states: 0, steps: 0, depth: 0, memory_bytes: 0, has_unjudged_loops: false };
}
