//! Whom a node asks: its quorum, or one of those who seem to be up.

use vorrang_protocol::{NodeId, NodeState};

use crate::mutex::fallback::Fallback;
use crate::quorum::QuorumSchedule;

/// Whom a node asks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum QuorumChoice {
    /// Its quorum, or its quorums in turn.
    Fixed(QuorumSchedule),
    /// A quorum of those who seem to be up.
    Live {
        /// Which.
        fallback: Fallback,
        /// The time of the request, from asking to leaving.
        time: Option<u64>,
    },
}

impl From<QuorumSchedule> for QuorumChoice {
    fn from(schedule: QuorumSchedule) -> Self {
        Self::Fixed(schedule)
    }
}

impl From<Fallback> for QuorumChoice {
    fn from(fallback: Fallback) -> Self {
        Self::Live { fallback, time: None }
    }
}

impl QuorumChoice {
    /// All that are asked for the request, lowest first.
    pub(in crate::mutex) fn quorum(&self) -> &[NodeId] {
        match self {
            Self::Fixed(schedule) => schedule.quorum(),
            Self::Live { fallback, .. } => &fallback.asked,
        }
    }

    /// Whether a request cannot do without the permission of one of them.
    pub(super) fn needs(&self, id: NodeId) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Live { fallback, .. } => fallback.quorum.contains(&id),
        }
    }

    /// A request begins.
    pub(super) fn begin(&mut self, now: u64) {
        match self {
            Self::Fixed(_) => {}
            Self::Live { fallback, time } => {
                *time = Some(now);
                fallback.begin();
            }
        }
    }

    /// Whether the request is the one of this time, where that is remembered.
    pub(in crate::mutex) fn is_for(&self, of: u64) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Live { time, .. } => *time == Some(of),
        }
    }

    /// A request is over.
    pub(super) fn turn(&mut self) {
        match self {
            Self::Fixed(schedule) => schedule.turn(),
            Self::Live { fallback, time } => {
                *time = None;
                fallback.leave();
            }
        }
    }

    pub(super) fn state(&self) -> NodeState {
        match self {
            Self::Fixed(schedule) => schedule.state(),
            Self::Live { fallback, time } => fallback.state().with("request of", *time),
        }
    }
}
