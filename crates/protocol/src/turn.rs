//! Turns: the steps request, entry and exit, which workloads and statistics count.

/// Commands and notices of problems in which a node asks, enters and leaves.
///
/// Workloads and statistics are about turns, not about any one problem: both the commands and the
/// notices of such a problem say which step of a turn they are.
pub trait Turn {
    /// The step that this is, if it is one.
    fn step(&self) -> Option<Step>;

    /// Whether two requests may not be inside together, so that one has to go first.
    fn conflicts_with(&self, _other: &Self) -> bool {
        true
    }
}

/// The steps of a turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// The application asks to enter.
    Ask,
    /// The node enters.
    Enter,
    /// The application leaves.
    Leave,
    /// The node is told that it has lost the lock. The application may release it all the same, or
    /// ask again.
    Evicted,
}
