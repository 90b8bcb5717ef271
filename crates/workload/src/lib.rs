//! What applications do in a simulated run of each problem, and what is measured in it.
//!
//! A folder a problem: its workload and its meter, with the monitors that judge its runs. Simulator
//! and checker are compiled here, once for every problem ([`Simulated::run_for`],
//! [`Explored::explore_after`], [`Explored::replay`]), so that their callers may be compiled with
//! less effort.
#![forbid(unsafe_code)]

pub mod detection;
pub mod election;
pub mod group;
pub mod multicast;
pub mod mutex;
mod times;
pub mod wave;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use vorrang_algorithms::problem::Problem;
use vorrang_check::{Bounds, Prefix, Progress, Report, Stray, System, Walks};
use vorrang_erased::AnyNode;
use vorrang_protocol::{Monitor, NodeId};
use vorrang_sim::{Recorder, SimError, Simulation, Workload};
use vorrang_trace::replay::Cast;
use vorrang_trace::{Line, Objection};

pub use times::Times;

/// A problem whose algorithms are simulated.
pub trait Simulated: Explored {
    /// The monitor of a run.
    type Monitor: Monitor<Command = Self::Command, Notice = Self::Notice>;
    /// Its workload.
    type Workload: Workload<Self::Command, Self::Notice>;

    /// Lets at most so many events happen; whether there may be more.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run_for`].
    fn run_for(simulation: &mut SimulationOf<Self>, events: u64) -> Result<bool, SimError>;
}

/// Told the state of a node after an event: after the record at that place, or after its start.
pub type OnNode<'a, Q> = &'a mut dyn FnMut(Option<usize>, NodeId, &NodeOf<Q>);

/// A simulated run of any algorithm of a problem, recorded or not.
pub type SimulationOf<Q> = Simulation<
    <Q as Simulated>::Monitor,
    <Q as Simulated>::Workload,
    Option<Box<dyn Recorder<NodeOf<Q>>>>,
>;

/// A problem whose algorithms are explored by the checker.
pub trait Explored: Problem {
    /// What must hold there.
    type Watch: Monitor<Command = Self::Command, Notice = Self::Notice>;

    /// Explores every run that begins so.
    ///
    /// # Errors
    ///
    /// As [`vorrang_check::explore_after`].
    fn explore_after(
        system: &System<NodeOf<Self>, Self::Watch>,
        before: &Prefix<NodeOf<Self>>,
        bounds: &Bounds,
        threads: NonZeroUsize,
        progress: OnProgress<'_>,
    ) -> Result<(Report<NodeOf<Self>>, Option<usize>), Stray>;

    /// Takes random walks.
    fn walk(
        system: &System<NodeOf<Self>, Self::Watch>,
        walks: &Walks,
        bounds: &Bounds,
        progress: OnProgress<'_>,
    ) -> Report<NodeOf<Self>>;

    /// Lets nodes do again what a recorded run says that they did.
    ///
    /// # Errors
    ///
    /// As [`vorrang_trace::replay()`].
    fn replay(
        cast: &Cast<'_, NodeOf<Self>>,
        lines: &[Line],
        is_whole: bool,
        watch: OnNode<'_, Self>,
    ) -> Result<u64, Objection>;
}

/// Told now and then how far a search has come; says whether it goes on.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// A node of any algorithm of a problem.
type NodeOf<Q> = AnyNode<<Q as Problem>::Command, <Q as Problem>::Notice>;

/// Says which monitor a problem has in the checker, and compiles the checker for it.
macro_rules! explored {
    ($problem:ty, $watch:ty) => {
        impl $crate::Explored for $problem {
            type Watch = $watch;

            fn explore_after(
                system: &vorrang_check::System<$crate::NodeOf<Self>, $watch>,
                before: &vorrang_check::Prefix<$crate::NodeOf<Self>>,
                bounds: &vorrang_check::Bounds,
                threads: std::num::NonZeroUsize,
                progress: $crate::OnProgress<'_>,
            ) -> Result<
                (vorrang_check::Report<$crate::NodeOf<Self>>, Option<usize>),
                vorrang_check::Stray,
            > {
                vorrang_check::explore_after(system, before, bounds, threads, progress)
            }

            fn walk(
                system: &vorrang_check::System<$crate::NodeOf<Self>, $watch>,
                walks: &vorrang_check::Walks,
                bounds: &vorrang_check::Bounds,
                progress: $crate::OnProgress<'_>,
            ) -> vorrang_check::Report<$crate::NodeOf<Self>> {
                vorrang_check::walk(system, walks, bounds, progress)
            }

            fn replay(
                cast: &vorrang_trace::replay::Cast<'_, $crate::NodeOf<Self>>,
                lines: &[vorrang_trace::Line],
                is_whole: bool,
                watch: $crate::OnNode<'_, Self>,
            ) -> Result<u64, vorrang_trace::Objection> {
                vorrang_trace::replay(cast, lines, is_whole, watch)
            }
        }
    };
}

/// Says which monitors and which workload a problem has, and compiles simulator and checker for it.
macro_rules! simulated {
    ($problem:ty, $monitor:ty, $workload:ty, $watch:ty) => {
        $crate::explored!($problem, $watch);

        impl $crate::Simulated for $problem {
            type Monitor = $monitor;
            type Workload = $workload;

            fn run_for(
                simulation: &mut $crate::SimulationOf<Self>,
                events: u64,
            ) -> Result<bool, vorrang_sim::SimError> {
                simulation.run_for(events)
            }
        }
    };
}

use {explored, simulated};
