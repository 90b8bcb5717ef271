//! Distributed coordination, written once: simulated, model-checked and run over a real network.
//!
//! This crate is the others under one name, so that a program needs one dependency.
//!
//! | module | what it is | feature |
//! | --- | --- | --- |
//! | [`protocol`] | the contract between an algorithm and its drivers | |
//! | [`algorithms`] | the algorithms, one folder a problem | |
//! | [`erased`] | nodes, messages and whole populations of any algorithm, without their types | |
//! | [`trace`] | one run as data: recorded, judged, measured, staged | |
//! | [`sim`] | deterministic simulation | `sim` |
//! | [`check`] | every interleaving, with shortest counterexamples | `check` |
//! | [`net`] | the same machines over TCP | `net` |
//! | `lock` | locks between processes, by a member in your own program | `lock` |
//! | `experiment` | runs, comparisons, sweeps and checks as values | `experiment` |
//!
//! All features but `lock`, `experiment`, `draw` and `png` are on by default.
//!
//! # One machine, measured and verified
//!
//! ```
//! # #[cfg(all(feature = "sim", feature = "check"))] {
//! use std::num::NonZeroUsize;
//!
//! use vorrang::algorithms::mutex::ricart_agrawala::RicartAgrawala;
//! use vorrang::algorithms::mutex::spec::Exclusion;
//! use vorrang::algorithms::mutex::{Claim, Command};
//! use vorrang::check::{Bounds, Demands, Faults, Order, Outcome, Plan, System, explore};
//! use vorrang::erased::Population;
//! use vorrang::protocol::Group;
//! use vorrang::sim::{Distribution, Load, Network, Simulation, Turns};
//!
//! let group = Group::of(3);
//! let node = move |id| RicartAgrawala::new(id, group);
//! let (acquire, release) = (Command::Acquire(Claim::Exclusive), Command::Release);
//!
//! // What does it cost? Three nodes that always want in make a thousand entries.
//! let load = Load::Closed { think: Distribution::Constant(0) };
//! let workload = Turns::new(load, acquire, release).entries(1_000);
//! let network = Network::constant_ms(1);
//! let population = Population::new(group.size(), node);
//! let run = Simulation::new(population, Exclusion::default(), network, workload, 1).run()?;
//! assert!(run.is_safe());
//! assert_eq!(run.summary.messages_per_entry(), Some(4.0)); // 2(N − 1)
//!
//! // Is it right, in every order in which requests can be made and messages can arrive?
//! let system = System {
//!     nodes: group.members().map(node).collect(),
//!     plan: Plan::turns(&[1, 1, 1], &acquire, &release),
//!     monitor: Exclusion::default(),
//!     links: Order::Any.into(),
//!     faults: Faults::NONE,
//!     demands: Demands::default(),
//! };
//! let report = explore(&system, &Bounds::default(), NonZeroUsize::MIN, |_| {});
//! assert_eq!(report.outcome, Outcome::Verified);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub use vorrang_algorithms as algorithms;
pub use vorrang_catalogue as catalogue;
#[cfg(feature = "check")]
pub use vorrang_check as check;
#[cfg(feature = "draw")]
pub use vorrang_draw as draw;
pub use vorrang_erased as erased;
#[cfg(feature = "experiment")]
pub use vorrang_experiment as experiment;
#[cfg(feature = "lock")]
pub use vorrang_lock as lock;
#[cfg(feature = "net")]
pub use vorrang_net as net;
pub use vorrang_protocol as protocol;
#[cfg(feature = "sim")]
pub use vorrang_sim as sim;
pub use vorrang_trace as trace;
