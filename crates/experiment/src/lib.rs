//! Experiments with the algorithms of the catalogue: a run, a comparison, a sweep, a check, what a
//! fault does, each as a value. No command line and no terminal is needed.
//!
//! A run goes one way: a [`Scenario`] (an algorithm and its options) is looked up in the
//! [`catalogue`], driven by the simulator or [over TCP](network), watched by a monitor and a meter,
//! and comes to [`Figures`].
//!
//! ```
//! use vorrang_experiment::Scenario;
//!
//! let mut scenario = Scenario::of("ricart-agrawala");
//! scenario.options.common.nodes = 5;
//! let figures = scenario.simulate()?;
//! // Every entry asks all others and is answered by each: 2 (N - 1).
//! assert_eq!(figures.number("messages_per_entry"), Some(8.0));
//! assert!(figures.is_fine());
//! # Ok::<(), vorrang_experiment::Failure>(())
//! ```
//!
//! A check asks whether anything can go wrong in any order of events, and hands back a shortest run
//! to it:
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use vorrang_experiment::lookup;
//! use vorrang_experiment::options::check::CheckArgs;
//!
//! let lamport = lookup::algorithm("lamport")?;
//! let options = CheckArgs { nodes: Some(2), ..CheckArgs::default() };
//! let query = lamport.correct.question(&options)?;
//! let answer = (query.answer)(&mut |_| ControlFlow::Continue(()));
//! assert_eq!(answer.outcome, "verified");
//! # Ok::<(), vorrang_experiment::Failure>(())
//! ```
//!
//! Several algorithms on the same workload, over several seeds:
//!
//! ```
//! use vorrang_experiment::means::measure;
//! use vorrang_experiment::options::RunArgs;
//! use vorrang_experiment::selection::Selection;
//!
//! let names = ["suzuki-kasami", "raymond"].map(str::to_owned).to_vec();
//! let selection = Selection { algorithms: names, seeds: 3, ..Selection::default() };
//! let mut options = RunArgs::default();
//! options.mutex.entries = 500;
//! let selected = selection.runs(&[options], |_| None)?;
//! for row in measure(&selected.runs, &|_| {})? {
//!     let messages = row.estimate("messages_per_entry").expect("every lock has it");
//!     println!("{}: {:.2} messages an entry", row.runs[0].name, messages.mean);
//! }
//! # Ok::<(), vorrang_experiment::Failure>(())
//! ```
//!
//! With the feature `clap`, all options can be read from a command line.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod check_answer;
pub mod clocks;
pub mod conditions;
pub mod csv_rows;
pub mod environment;
pub mod failure;
pub mod figures;
pub mod format;
pub mod latency;
pub mod lookup;
pub mod means;
pub mod names;
pub mod net_defaults;
pub mod network;
pub mod options;
pub mod pictures;
pub mod plotting;
pub mod problem;
pub mod progress;
pub mod quorum;
pub mod scenario;
pub mod selection;
pub mod state_table;
pub mod statistics;
pub mod story_from_trace;
pub mod structure;
pub mod survive;
pub mod sweep_csv;
pub mod torture;
pub mod tracefile;
pub mod values;

pub use failure::Failure;
pub use figures::Measured as Figures;
pub use scenario::Scenario;
pub use vorrang_catalogue::golden;
