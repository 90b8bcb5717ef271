//! The verbs.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod draw;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod plot;
pub(crate) mod quorum;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod step;
pub(crate) mod survive;
pub(crate) mod sweep;
pub(crate) mod topology;
