//! Failure detection: nothing is asked, and what is measured is how good the detector is.

mod meter;
mod workload;

use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::detection::spec::Suspicions;

use crate::simulated;

pub use meter::Tally;
pub use workload::NoWorkload;

simulated!(Detection, Suspicions, NoWorkload, Suspicions);
