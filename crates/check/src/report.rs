//! What an exploration is allowed, and what comes of it.

use vorrang_protocol::{Protocol, Violation};

use crate::run::Run;

/// How far to explore. Without bounds, to the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bounds {
    /// No run is followed further than this many steps.
    pub depth: Option<u32>,
    /// No level of the search is begun once more states than this are known. The level that
    /// crosses the bound is still finished, so that the report does not depend on the threads.
    pub states: Option<u64>,
    /// The search stops, even within a level, once it takes more than this. Counted are the table
    /// of the states known (16 bytes a slot, free slots included), the states waiting to be
    /// explored, and the different nodes, messages and monitors that states are made of. Not seen
    /// are what those keep on the heap, and some tens of megabytes at most in which each thread
    /// remembers what handlers did.
    pub memory_bytes: Option<u64>,
}

/// Which of the [`Bounds`] ended the search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bound {
    /// [`Bounds::depth`].
    Depth,
    /// [`Bounds::states`].
    States,
    /// [`Bounds::memory_bytes`].
    Memory,
}

/// The verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<P: Protocol> {
    /// Every state that can be reached was, and nothing was violated.
    Verified,
    /// A shortest run to a violation. The same one for every number of threads, unless
    /// [`Bounds::memory_bytes`] cut its level short.
    Violated {
        /// What happened.
        violation: Violation,
        /// How it came about.
        run: Run<P>,
    },
    /// Nothing was violated as far as the search went, and it did not go to the end.
    Bounded {
        /// The bound that it hit.
        by: Bound,
    },
}

/// The verdict, and how much was looked at for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report<P: Protocol> {
    /// The verdict.
    pub outcome: Outcome<P>,
    /// Distinct states reached, the initial ones included. A step that violates leads to none.
    pub states: u64,
    /// Steps taken, also those to states already known.
    pub steps: u64,
    /// How far the farthest state is from the start, each by its shortest run.
    pub depth: u32,
}

/// Where an exploration stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Distinct states reached.
    pub states: u64,
    /// Steps taken.
    pub steps: u64,
    /// The level that is being explored: how many steps its states are from the start.
    pub depth: u32,
    /// How many states that level has.
    pub frontier: u64,
    /// The memory taken, as [`Bounds::memory_bytes`] counts it.
    pub memory_bytes: u64,
}
