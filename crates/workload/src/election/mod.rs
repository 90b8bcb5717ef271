//! Election: some nodes call for one, once.

mod meter;
mod workload;

use vorrang_algorithms::election::Election;
use vorrang_algorithms::election::spec::Leadership;

use crate::simulated;

pub use meter::{Leader, Tally};
pub use workload::Calls;

simulated!(Election, Leadership, Calls, Leadership);
