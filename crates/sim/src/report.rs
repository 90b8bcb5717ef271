//! The report of a run, and the errors that end one.

use std::fmt;

use vorrang_protocol::{NodeId, Refused, Violation};

use crate::FaultCounts;
use crate::distribution::show_duration_ns;
use crate::time::END_NS;

/// The report of a run.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report<S> {
    /// Its costs.
    pub summary: S,
    /// How far it came, as its meter counts.
    pub progress: u64,
    /// How often the monitor objected.
    pub violations: u64,
    /// The first violation, and when.
    pub first_violation: Option<(u64, Violation)>,
    /// Whether nothing is under way any more, nor any fault to come; or, where something always is,
    /// all that was wanted is done.
    pub is_over: bool,
    /// The liveness violation at the end; or of a run that was ended because it made no progress.
    pub at_rest: Option<Violation>,
    /// The counts of faults.
    pub faults: FaultCounts,
    /// How many events there were: commands, messages and timers.
    pub events: u64,
    /// When the last of them was.
    pub now_ns: u64,
}

impl<S> Report<S> {
    /// The monitor never objected.
    pub const fn is_safe(&self) -> bool {
        self.violations == 0
    }

    /// The run came to an end, and no node is left waiting.
    pub const fn is_quiescent(&self) -> bool {
        self.is_over && self.at_rest.is_none()
    }
}

/// Why a run cannot go on. What happened before did happen, and its report stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SimError {
    /// The workload gave a command that a node refused.
    #[error("node {node} refused a command of the workload at {at_ns} ns: {refused}")]
    Refused {
        /// The node.
        node: NodeId,
        /// When.
        at_ns: u64,
        /// Its reason.
        refused: Refused,
    },
    /// Something would happen only after the end of simulated time.
    #[error(
        "simulated time ran out: at {}, {pending} node {node} would come {} later, but time ends \
         at {}, after some 584 years",
        show_duration_ns(*.at_ns), show_duration_ns(*.in_ns), show_duration_ns(END_NS)
    )]
    OutOfTime {
        /// To which node it would happen.
        node: NodeId,
        /// The time when it was planned.
        at_ns: u64,
        /// How long after that it would happen.
        in_ns: u64,
        /// The event.
        pending: Pending,
    },
}

/// A planned event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// The workload gives a command.
    Command,
    /// A message arrives.
    Message {
        /// The sender.
        from: NodeId,
    },
    /// A timer runs out.
    Timer,
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("a command for"),
            Self::Message { from } => write!(f, "a message from node {from} to"),
            Self::Timer => f.write_str("a timer of"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_come_to_rest_if_it_is_over_and_nothing_is_owed() {
        let owed = Violation { property: "progress", what: "node 1 still waits".to_owned() };
        for (is_over, at_rest, is_quiescent) in
            [(true, None, true), (false, None, false), (true, Some(owed), false)]
        {
            let report = Report {
                summary: (),
                progress: 0,
                violations: 0,
                first_violation: None,
                is_over,
                at_rest,
                faults: FaultCounts::default(),
                events: 7,
                now_ns: 9,
            };
            assert_eq!(report.is_quiescent(), is_quiescent, "{report:?}");
        }
    }
}
