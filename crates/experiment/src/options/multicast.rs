//! The options of reliable multicast, in runs and in checks.

use std::ops::RangeInclusive;

use vorrang_sim::Distribution;

use super::{NODES, within};
use crate::failure::Failure;
#[cfg(feature = "clap")]
use crate::values::whole;

/// How many multicasts a run may have.
const MULTICASTS: RangeInclusive<u64> = 1..=1_000_000_000;

/// How often a member multicasts in a check.
const CASTS: RangeInclusive<u32> = 0..=100;

/// The multicasts of members.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct MulticastArgs {
    /// How many multicasts there are, of all senders together [default: 1000; 10 a sender with
    /// --net]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NUMBER", value_parser = whole(MULTICASTS))
    )]
    pub multicasts: Option<u64>,
    /// How many members multicast: those with the lowest numbers [default: all]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MEMBERS", value_parser = whole(NODES)))]
    pub senders: Option<u32>,
    /// How long a sender waits from one multicast to the next: a time as --latency has them; 0 for
    /// as fast as its window allows [default: exp: and the mean of --latency; in group
    /// communication exp: and --beat]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    pub every: Option<Distribution>,
}

/// The multicasts of members in the checker.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct MulticastCheckArgs {
    /// How often each member multicasts: one number for all, or one a node, as in 2,1,0 [default:
    /// as much as can be exhausted]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = whole(CASTS))
    )]
    pub casts: Option<Vec<u32>>,
    /// Members that leave after their multicasts, and join again, at any time, with --tries: 1,2
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES", value_delimiter = ','))]
    pub leavers: Vec<u32>,
}

impl MulticastArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        within("multicasts", self.multicasts, &MULTICASTS)?;
        within("senders", self.senders, &NODES)
    }
}

impl MulticastCheckArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        within("casts", self.casts.iter().flatten().copied(), &CASTS)
    }
}
