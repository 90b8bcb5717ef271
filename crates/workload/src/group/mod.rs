//! Group communication: members multicast, join and leave.

mod meter;
mod workload;

use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::group::spec::Fed;

use crate::simulated;

pub use meter::Tally;
pub use workload::{Calm, Chatter, Move};

simulated!(Grouping, Fed, Chatter);
