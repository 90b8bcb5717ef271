//! Problems, and what the drivers must know of each.
//!
//! A problem implements the traits by which drivers run any algorithm of it, one for each job
//! ([`Compared`], [`Simulated`], [`Faulted`], [`Drawn`], [`Checked`], [`Stepped`], [`Networked`]):
//! workload, monitor, meter. The subject of checks and stepped runs, with or without a mistake, is
//! a [`Subject`]: behind it are [nodes of any algorithm](NodeOf), so that all of it is compiled
//! once for every problem.

pub mod channels;
mod counterexample;
pub mod detection;
pub mod election;
pub mod group;
mod holder;
mod jobs;
pub mod multicast;
pub mod mutex;
mod nodes;
mod observation;
mod question;
mod remarks;
mod retrace;
mod scene;
mod simulate;
mod staged;
mod subject;
mod survives;
mod to_file;
mod verify;
pub mod wave;

use std::fmt;

use vorrang_draw::Look;
use vorrang_protocol::NodeId;
use vorrang_trace::Recording;

use crate::failure::Failure;
use crate::options::check::CheckArgs;

pub(crate) use holder::holder_at;
pub use jobs::{
    Checked, Compared, Derived, Drawn, Extremes, Faulted, Networked, Past, ProblemDriver,
    Simulated, Stepped, SummaryOf, Until,
};
use nodes::graph;
pub use nodes::{GuardedNodes, Nodes, make};
pub(crate) use observation::doing;
pub use observation::{
    Activity, ApplicationEvent, InitialRoles, Observation, ObservedMessage, Role, Said, Words,
    observed_line,
};
pub use question::Question;
pub use remarks::Remarks;
pub use retrace::{Retraced, Watching, sides};
pub use scene::Scene;
pub(crate) use simulate::{Extent, measure, observe, overhear, record};
pub use simulate::{header, run_header};
pub use staged::{Ahead, Look as Glance, NodeLook, Staged};
pub(crate) use subject::SubjectOf;
pub use survives::{Survives, minority};
pub use verify::{Looked, Query, Watcher};
pub use vorrang_catalogue::Kinds;

#[cfg(doc)]
use vorrang_catalogue::NodeOf;

/// Why a mistake does not run over TCP.
pub(crate) const FLAW_OVER_TCP: &str =
    "--flaw is for the simulator and the checker: a real network is no place for it";

/// How a trace says that its nodes lived on views and sent their messages over a real network.
pub const BETWEEN_PROCESSES: &str = "processes";

/// Something that can be checked and staged: an algorithm, or one with a mistake.
pub trait Subject: Send + Sync + fmt::Debug {
    /// The question of these options to the checker.
    fn question(&self, args: &CheckArgs) -> Result<Query, Failure>;
    /// Its nodes, to be driven by hand.
    fn stage(&self, args: &CheckArgs) -> Result<Box<dyn Staged>, Failure>;
    /// Replays a recorded run, and shows every node after each of its events.
    fn retrace(&self, run: &Recording, watch: Watching<'_>) -> Result<Retraced, Failure>;
    /// A command or notice of a recorded run, as text, and its appearance.
    fn looks(&self, at: NodeId, told: &vorrang_trace::LineEvent) -> Option<(String, Look)>;
    /// The kinds of messages that carry a token.
    fn tokens(&self) -> &'static [&'static str];
    /// The kinds of messages that only say that their sender is up.
    fn beats(&self, on_views: bool) -> &'static [&'static str];
}
