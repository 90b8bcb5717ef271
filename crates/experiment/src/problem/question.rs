//! A question to the checker.

use std::fmt;

use vorrang_algorithms::setup::Setup;
use vorrang_check as check;
use vorrang_workload::Explored;

use super::remarks::Remarks;
use crate::options::command_line::CommandLine;

/// The system to explore.
pub struct Question<Q: Explored> {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// The plan of the applications.
    pub plan: check::Plan<Q::Command>,
    /// The monitor.
    pub monitor: Q::Watch,
    /// The environment.
    pub links: check::Links,
    /// The budget of faults.
    pub faults: check::Faults,
    /// Whether no node may wait for ever in any fair run.
    pub fair: bool,
    /// What nodes are told again and again after a restart, if anything.
    pub beat: Option<Q::Command>,
    /// The names of what must hold.
    pub properties: Vec<String>,
    /// Which nodes and which surroundings the answer is about, in words.
    pub covers: String,
    /// Remarks about the question.
    pub remarks: Remarks,
    /// The command that asks exactly this again.
    pub line: CommandLine,
}

impl<Q: Explored> fmt::Debug for Question<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("line", &self.line).finish_non_exhaustive()
    }
}
