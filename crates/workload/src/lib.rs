//! What applications do in a simulated run of each problem, and what is measured in it.
//!
//! A folder a problem: its workload and its meter, with the monitor that judges its runs. The
//! simulator's loop is compiled here, once for every problem ([`Simulated::run_for`]), and
//! whatever calls it may be compiled with less effort.
#![forbid(unsafe_code)]

pub mod detection;
pub mod election;
pub mod group;
pub mod multicast;
pub mod mutex;
mod times;
pub mod wave;

use vorrang_algorithms::problem::Problem;
use vorrang_erased::AnyNode;
use vorrang_protocol::Monitor;
use vorrang_sim::{Recorder, SimError, Simulation, Workload};

pub use times::Times;

/// A problem whose algorithms are simulated.
pub trait Simulated: Problem {
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

/// A simulated run of any algorithm of a problem, recorded or not.
pub type SimulationOf<Q> = Simulation<
    <Q as Simulated>::Monitor,
    <Q as Simulated>::Workload,
    Option<Box<dyn Recorder<NodeOf<Q>>>>,
>;

/// A node of any algorithm of a problem.
type NodeOf<Q> = AnyNode<<Q as Problem>::Command, <Q as Problem>::Notice>;

/// Says which monitor and which workload the runs of a problem have, and compiles its loop.
macro_rules! simulated {
    ($problem:ty, $monitor:ty, $workload:ty) => {
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

use simulated;
