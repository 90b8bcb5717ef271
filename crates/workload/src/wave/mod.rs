//! Waves: the initiator starts one, once.

mod meter;
mod workload;

use vorrang_algorithms::wave::Wave;
use vorrang_algorithms::wave::spec::Watch;

use crate::simulated;

pub use meter::Tally;
pub use workload::Once;

simulated!(Wave, Watch, Once, Watch);
