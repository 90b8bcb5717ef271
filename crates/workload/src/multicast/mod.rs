//! Reliable multicast: some nodes multicast so many messages.

mod meter;
mod workload;

use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::multicast::spec::Deliveries;

use crate::simulated;

pub use meter::{Tag, Tally};
pub use workload::{MulticastWorkload, in_rounds, shares};

simulated!(Multicast, Deliveries, MulticastWorkload, Deliveries);
