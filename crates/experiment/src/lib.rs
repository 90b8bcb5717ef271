//! Experiments with the algorithms of the catalogue: a run, a comparison, a sweep, a check, what a
//! fault does, each as a value. No command line and no terminal is needed.
#![forbid(unsafe_code)]

pub mod answer;
pub mod csv_rows;
pub mod environment;
pub mod failure;
pub mod figures;
pub mod format;
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
pub mod selection;
pub mod statistics;
pub mod story_from_trace;
pub mod survive;
pub mod sweep_csv;
pub mod tracefile;
pub mod values;
