//! The options of elections, in runs and in checks.

use std::ops::RangeInclusive;

use super::cable::{Cable, CableChange, CableList};
#[cfg(feature = "clap")]
use super::cable::{parse_cable_at, parse_cables};
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
    /// Cables that are unplugged while it runs, and when: 1-2@50ms, or all cables of a device,
    /// 2@50ms; a time of 0 is before anything happens. Both ends notice at once (only bus-reset)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "CABLE@TIME", value_delimiter = ',', value_parser = parse_cable_at)
    )]
    pub unplug: Vec<(Cable, u64)>,
    /// Cables that are plugged in again, and when: 1-2@80ms, or those of a device, 2@80ms
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "CABLE@TIME", value_delimiter = ',', value_parser = parse_cable_at)
    )]
    pub plug: Vec<(Cable, u64)>,
}

impl ElectionArgs {
    /// What is done to cables.
    pub(crate) fn cables(&self) -> Vec<CableChange> {
        let change = |plugs| move |&(cable, at_ns)| CableChange { at_ns, cable, plugs };
        let unplugged = self.unplug.iter().map(change(false));
        unplugged.chain(self.plug.iter().map(change(true))).collect()
    }
}

/// The callers in the checker.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ElectionCheckArgs {
    /// Nodes that call for an election, as in 0,2, or all; none where cables come and go [default:
    /// 0; all, where all must; none, where cables come and go]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES"))]
    pub initiators: Option<String>,
    /// How often each of them calls [default: 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIMES", value_parser = whole(CALLS)))]
    pub calls: Option<u32>,
    /// Cables that are unplugged at any time, as in 1-2,0-3, or all cables of a device, as in 2;
    /// none for none. Each end notices by itself [default: those of the last device; only
    /// bus-reset]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CABLES", value_parser = parse_cables))]
    pub unplug: Option<CableList>,
    /// Cables that are plugged in again at any time after that [default: those that are unplugged]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CABLES", value_parser = parse_cables))]
    pub plug: Option<CableList>,
}

/// How often nodes call for an election in a check.
const CALLS: RangeInclusive<u32> = 1..=1000;

impl ElectionCheckArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        within("calls", self.calls, &CALLS)
    }
}
