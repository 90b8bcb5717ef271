//! A deterministic discrete-event simulator for distributed algorithms.
//!
//! Time is counted in whole nanoseconds; everything drawn comes from one seeded, portable
//! generator; so the same seed gives the same run, byte for byte, on every machine.
//!
//! ```
//! use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
//! use vorrang_algorithms::mutex::spec::Exclusion;
//! use vorrang_algorithms::mutex::{Claim, Command};
//! use vorrang_erased::Population;
//! use vorrang_protocol::Group;
//! use vorrang_sim::{Load, Network, Simulation, Turns};
//!
//! let group = Group::of(5);
//! let saturation = Load::Closed { think: "0".parse()? };
//! let workload = Turns::new(
//!     saturation,
//!     Command::Acquire(Claim::Exclusive),
//!     Command::Release,
//! );
//! let report = Simulation::new(
//!     Population::new(5, move |id| RicartAgrawala::new(id, group)),
//!     Exclusion::default(),
//!     Network::constant_ms(1),
//!     workload.entries(100).hold("1ms".parse()?),
//!     7,
//! )
//! .run()?;
//! assert_eq!(report.summary.messages, 100 * 2 * (5 - 1));
//! assert!(report.is_safe() && report.is_quiescent());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Network`] says how long messages take and whether they may overtake each other;
//! - [`Workload`] is what the applications do, and [`Turns`] the one of mutual exclusion;
//! - [`Faults`] is what goes wrong, by chance or on order;
//! - monitors are always on, and [`Report`] has what they and the statistics say.
#![forbid(unsafe_code)]

mod causality;
mod contenders;
mod distribution;
mod fault_injector;
mod faults;
mod latency_matrix;
mod link;
mod links;
mod queue;
mod random;
mod random_faults;
mod recorder;
mod report;
mod routes;
mod simulation;
mod skew;
mod time;
mod turns;
mod workload;
mod world;

pub use contenders::Contenders;
pub use distribution::{Distribution, ParseError, parse_duration_ns, show_duration_ns};
pub use faults::{Fault, FaultCounts, Faults, Partition, Share, Slow, Slowness};
pub use latency_matrix::LatencyMatrix;
pub use link::Link;
pub use links::Network;
pub use random::Random;
pub use random_faults::Severity;
pub use recorder::{InMemoryRecorder, Recorder};
pub use report::{Pending, Report, SimError};
pub use simulation::Simulation;
pub use skew::Skew;
pub use turns::{Load, TurnMeter, Turns};
pub use vorrang_protocol::Order;
pub use workload::{Workload, WorkloadEffects};
