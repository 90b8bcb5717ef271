//! Experiments with the algorithms of the catalogue: a run, a comparison, a sweep, a check, what a
//! fault does, each as a value. No command line and no terminal is needed.
#![forbid(unsafe_code)]

pub mod answer;
pub mod axes;
pub mod between;
pub mod check_args;
pub mod csv_rows;
pub mod extent;
pub mod failure;
pub mod figures;
pub mod format;
pub mod given;
pub mod holder;
pub mod lookup;
pub mod means;
pub mod network;
pub mod options;
pub mod pictures;
pub mod plotting;
pub mod problem;
pub mod progress;
pub mod quorum;
pub mod real;
pub mod selection;
pub mod sheet;
pub mod statistics;
pub mod survive;
pub mod telling;
pub mod tracefile;
pub mod trouble;
pub mod values;
