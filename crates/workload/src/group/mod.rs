//! Group communication: members multicast, join and leave.

mod meter;
mod workload;

use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::group::spec::WithSuspicions;

use crate::simulated;

pub use meter::Tally;
pub use workload::{GroupWorkload, Move, RunLength};

simulated!(GroupCommunication, WithSuspicions, GroupWorkload, WithSuspicions);
