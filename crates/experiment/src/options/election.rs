//! The options of elections, in runs and in checks.

use std::ops::RangeInclusive;

use super::within;
use crate::failure::Failure;
#[cfg(feature = "clap")]
use crate::values::whole;

/// The callers of an election.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ElectionArgs {
    /// Nodes that call for an election, as in 0,2; also: lowest, highest (of those up), all
    /// [default: lowest; all, where all must]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES"))]
    pub initiators: Option<String>,
}

/// The callers in the checker.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ElectionCheckArgs {
    /// Nodes that call for an election, as in 0,2, or all [default: 0; all, where all must]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES"))]
    pub initiators: Option<String>,
    /// How often each of them calls [default: 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIMES", value_parser = whole(CALLS)))]
    pub calls: Option<u32>,
}

/// How often nodes call for an election in a check.
const CALLS: RangeInclusive<u32> = 1..=1000;

impl ElectionCheckArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        within("calls", self.calls, &CALLS)
    }
}
