//! The options of mutual exclusion, in runs and in checks.

use std::ops::RangeInclusive;

use vorrang_algorithms::mutex::spec::Only;
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::FOREVER;
use vorrang_sim::Distribution;

use super::choice::Choice;
use super::{NODES, list, nodes_of, within};
use crate::failure::Failure;
use crate::values::whole;

/// How many entries a run may have: a day's work.
const ENTRIES: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// The workload of a lock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct MutexArgs {
    /// How many entries in all; then no new request is made and the run drains
    #[cfg_attr(
        feature = "clap",
        arg(long, short, default_value_t = Self::default().entries, value_parser = whole(ENTRIES))
    )]
    pub entries: u64,
    /// How busy the nodes are
    #[cfg_attr(
        feature = "clap",
        arg(long, short, value_enum, default_value_t = Self::default().load)
    )]
    pub load: LoadKind,
    /// Under heavy load: how long a node waits after leaving before it asks again
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", default_value_t = Self::default().think)
    )]
    pub think: Distribution,
    /// How long a node stays inside, E [default: T, the mean latency; 0 with --net]
    ///
    /// With no stay at all a node that may enter again without asking, such as the holder of a
    /// token, would do so for ever before anyone else is heard, and all figures would speak of it
    /// alone.
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    pub hold: Option<Distribution>,
    /// Only the first so many nodes ever ask [default: all but those that only serve]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES", value_parser = whole(NODES)))]
    pub hot: Option<u32>,
    /// Also show what a run costs on a medium on which a message to many is sent once
    #[cfg_attr(feature = "clap", arg(long))]
    pub broadcast_medium: bool,
    /// Only these nodes ever ask, as in 6,7,10 (nodes are counted from 0)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "NODES", value_parser = whole(0..=u32::MAX))
    )]
    pub requesters: Vec<u32>,
}

impl Default for MutexArgs {
    fn default() -> Self {
        let (load, think) = (LoadKind::Heavy, Distribution::Constant(0));
        Self {
            entries: 10_000,
            load,
            think,
            hold: None,
            hot: None,
            broadcast_medium: false,
            requesters: Vec::new(),
        }
    }
}

impl MutexArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        within("entries", [self.entries], &ENTRIES)?;
        within("hot", self.hot, &NODES)
    }
}

/// How busy the nodes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum LoadKind {
    /// Every node asks again when it has left: saturation, or less with --think
    Heavy,
    /// One request at a time, from a node drawn at random
    Light,
    /// All nodes ask at once; when all have been served, again
    Burst,
}

/// How many entries of a node the checker plans: no group with more was ever explored to its end.
const TO_EXPLORE: RangeInclusive<u32> = 0..=1_000;

/// The properties besides exclusion and progress, which are always checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Property {
    /// A request that happened before another enters first
    Ordering,
    /// No node bypasses a waiting request that it was told of more often than promised, or --bypass
    NoStarvation,
    /// Of two requests the one with the lower logical stamp (t, i) enters first, also if neither
    /// happened before the other; nodes remember their stamps for that
    Stamps,
    /// All that the algorithm promises, but for the order of stamps
    Promised,
}

/// A half of what mutual exclusion is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Half {
    /// No two are inside together
    Safety,
    /// Whoever asks gets in
    Liveness,
}

impl From<Half> for Only {
    fn from(half: Half) -> Self {
        match half {
            Half::Safety => Self::Safety,
            Half::Liveness => Self::Liveness,
        }
    }
}

/// The options of a check of a lock.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct MutexCheckArgs {
    /// How many entries each node makes: one number or `forever`, or one a node as in 2,2,1;
    /// with --requesters, one for each of them [default: 1]
    ///
    /// With `forever` nodes ask again and again, and it is asked besides whether one of them may
    /// wait for ever while the others enter (as with --fair). Clocks and numbers of requests that
    /// an algorithm declares may grow for ever: states that differ in a shift of these alone are
    /// the same. Where states differ in more without end, the search ends in a bound: say one.
    #[cfg_attr(feature = "clap", arg(long, short, value_delimiter = ',', value_name = "ENTRIES"))]
    #[cfg_attr(feature = "clap", arg(value_parser = parse_entries))]
    pub entries: Vec<u32>,
    /// Only these nodes ever ask, as in 6,7,10 (nodes are counted from 0)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "NODES", value_parser = whole(0..=u32::MAX))
    )]
    pub requesters: Vec<u32>,
    /// The claim of each node, one a node: exclusive, shared, group:2 or of:a+b [default: in turn]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "CLAIMS", value_parser = parse_claim)
    )]
    pub claims: Vec<Claim>,
    /// Nodes that never leave after their last entry, as in 0,2
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "NODES", value_parser = whole(0..=u32::MAX))
    )]
    pub stay: Vec<u32>,
    /// Nodes ask only when nobody waits or is inside and no message is in flight
    #[cfg_attr(feature = "clap", arg(long))]
    pub one_at_a_time: bool,
    /// Properties to check besides exclusion and progress
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_delimiter = ','))]
    pub property: Vec<Property>,
    /// Check lemmas of the algorithm's paper, each under its own premises, instead of the
    /// invariants of our proof: lemma-1 to lemma-5, theorem and total-order of singhal, or all;
    /// nodes remember when they entered for that
    #[cfg_attr(feature = "clap", arg(long, value_delimiter = ',', value_name = "NAMES"))]
    pub lemma: Vec<String>,
    /// Check only exclusion (safety) or only progress (liveness): each by itself has a trivial
    /// solution
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "HALF"))]
    pub only: Option<Half>,
    /// How often a node may enter before a waiting request that it was told of [default: as often
    /// as the algorithm promises]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIMES", value_parser = whole(0..=u32::MAX))
    )]
    pub bypass: Option<u32>,
}

impl MutexCheckArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        let counted = self.entries.iter().copied().filter(|it| *it != FOREVER);
        within("entries", counted, &TO_EXPLORE)
    }

    /// Whether something is asked that depends on which messages have arrived.
    pub const fn asks_of_causes(&self) -> bool {
        !self.property.is_empty() || self.bypass.is_some()
    }
}

/// The nodes that are to ask, lowest first: each exists, and none is named twice.
pub fn requesters(said: &[u32], nodes: u32) -> Result<Vec<u32>, Failure> {
    let mut all = match said {
        [] => Vec::new(),
        _ => nodes_of("--requesters", &list(said), nodes)?,
    };
    all.sort_unstable();
    Ok(all)
}

/// Reads a number of entries or `forever`.
pub fn parse_entries(text: &str) -> Result<u32, String> {
    if text == "forever" {
        return Ok(FOREVER);
    }
    whole(TO_EXPLORE)(text).map_err(|why| format!("{why}, or forever"))
}

/// Entries as they are typed.
pub fn show_entries(entries: &[u32]) -> String {
    let one = |it: &u32| if *it == FOREVER { "forever".to_owned() } else { it.to_string() };
    entries.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Reads `exclusive`, `shared`, `group:2` or `of:a+b`.
pub fn parse_claim(text: &str) -> Result<Claim, String> {
    match format!("acquire {}", text.replace(':', " ")).parse() {
        Ok(Command::Acquire(claim)) if !text.is_empty() => Ok(claim),
        Ok(Command::Acquire(_) | Command::Release) | Err(_) => {
            Err(format!("'{text}' is not a claim: write exclusive, shared, group:2 or of:a+b"))
        }
    }
}

impl Choice for LoadKind {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Heavy, "heavy"), (Self::Light, "light"), (Self::Burst, "burst")];
}

impl Choice for Property {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Ordering, "ordering"),
        (Self::NoStarvation, "no-starvation"),
        (Self::Stamps, "stamps"),
        (Self::Promised, "promised"),
    ];
}

impl Choice for Half {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Safety, "safety"), (Self::Liveness, "liveness")];
}
