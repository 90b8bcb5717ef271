//! Mutual exclusion: nodes ask, enter and leave, and use a resource that checks fencing tokens.

mod told;
mod workload;

use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::spec::{Exclusion, Watch};

use crate::simulated;

pub use told::ToldLocks;
pub use workload::{Resource, UseMeter, Users, Uses};

simulated!(Mutex, (Option<Exclusion>, Option<Locked>), Users, Watch);
