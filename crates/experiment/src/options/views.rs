//! The options of locks on views.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use vorrang_algorithms::card::About;
use vorrang_algorithms::group::locks::flaws::LocksFlaw;
use vorrang_algorithms::setup::Parameter;
use vorrang_protocol::{NodeId, parse_duration_ns};

use super::choice::Choice;
use super::{RunArgs, within};
use crate::failure::Failure;
#[cfg(feature = "clap")]
use crate::values::whole;

/// By how much clocks may be assumed to be wrong.
const DRIFTS: RangeInclusive<u32> = 0..=999;

/// Whether a lock lives on views, and how.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ViewsArgs {
    /// Run the algorithm inside the views of a group, which goes on without members that it
    /// suspects to be down; every entry has a fencing token that a resource can check
    #[cfg_attr(feature = "clap", arg(long))]
    pub on_views: bool,
    /// With --on-views: a node inside loses the lock if it cannot renew its lease for so long, and
    /// the next view waits until leases of the last one are over
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", requires = "on_views", value_parser = parse_lease)
    )]
    pub lease: Option<Duration>,
    /// With --lease: the largest clock drift that is assumed, in parts per thousand; --skew sets
    /// the real one [default: 0]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "PERMILLE", requires = "lease", value_parser = whole(DRIFTS))
    )]
    pub drift: Option<u32>,
    /// With --on-views and --net: keep on disk what nodes must not forget, as 'vorrang node --data'
    /// does, each in a directory of its own in this one, or in a new one that is removed in the
    /// end. In the simulator nothing is forgotten that must not be, unless --forgetful
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "DIR", requires = "on_views", num_args = 0..=1),
        arg(default_missing_value = "")
    )]
    pub data: Option<String>,
    /// With --on-views, in the simulator: nodes keep nothing on stable storage, as those of
    /// 'vorrang node' without --data; one that restarts has forgotten views and votes, and comes in
    /// as a new member
    #[cfg_attr(feature = "clap", arg(long, requires = "on_views"))]
    pub forgetful: bool,
}

/// Locks on views in the checker.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ViewsCheckArgs {
    /// Check the algorithm inside the views of a group: every crash, every suspicion and every join
    /// at every moment. Where nodes are suspected, rightly or wrongly, fencing tokens must grow;
    /// where none is, no two may be inside
    #[cfg_attr(feature = "clap", arg(long))]
    pub on_views: bool,
    /// With --on-views: who suspects whom, at any moment before its first request or never, as in
    /// 0:2,1:2; or none [default: all but the last suspect the last; none with --joins]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE:NODE", requires = "on_views", value_parser = parse_suspicions)
    )]
    pub suspicions: Option<Suspicions>,
    /// With --on-views: how many nodes, the last ones, have not founded the group and come in at
    /// any moment [default: none]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODES", requires = "on_views", value_parser = whole(0..=63_u32))
    )]
    pub joins: Option<u32>,
    /// With --on-views: no two may be inside, whoever is suspected, since leases last for so long
    /// and no message takes longer than --within. Only safety is checked then
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", requires = "on_views", value_parser = parse_lease)
    )]
    pub lease: Option<Duration>,
    /// With --on-views: nodes keep nothing on stable storage, as those of 'vorrang node' without
    /// --data; one that restarts has forgotten views and votes, and comes in as a new member
    #[cfg_attr(feature = "clap", arg(long, requires = "on_views"))]
    pub forgetful: bool,
    /// With --forgetful: a second process is started under the number of this node, at any moment,
    /// while the first goes on; it asks for nothing. Only safety is checked then, and a message may
    /// be lost unless --losses 0
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE", requires = "on_views", value_parser = whole(0..=63_u32))
    )]
    pub second: Option<u32>,
}

/// Who suspects whom.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suspicions(pub Vec<(NodeId, NodeId)>);

impl fmt::Display for Suspicions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(by, of)| format!("{by}:{of}")).collect();
        f.write_str(if pairs.is_empty() { NONE } else { "" })?;
        f.write_str(&pairs.join(","))
    }
}

const NONE: &str = "none";

/// Reads `0:2,1:2` or `none`.
pub fn parse_suspicions(text: &str) -> Result<Suspicions, String> {
    if text == NONE {
        return Ok(Suspicions::default());
    }
    let pair = |part: &str| {
        let wrong = || format!("'{part}' is not who suspects whom: write 0:2,1:2, or none");
        let node = |text: &str| text.trim().parse().map(NodeId).map_err(|_| wrong());
        let (by, of) = part.split_once(':').ok_or_else(wrong)?;
        let (by, of) = (node(by)?, node(of)?);
        if by == of {
            Err(format!("'{part}': a node does not suspect itself"))
        } else {
            Ok((by, of))
        }
    };
    text.split(',').map(pair).collect::<Result<_, _>>().map(Suspicions)
}

impl ViewsArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        check_lease(self.lease)?;
        within("drift", self.drift, &DRIFTS)
    }
}

impl ViewsCheckArgs {
    pub(super) fn check(&self) -> Result<(), Failure> {
        check_lease(self.lease)
    }
}

fn check_lease(lease: Option<Duration>) -> Result<(), Failure> {
    match lease {
        Some(Duration::ZERO) => Err(Failure::usage("--lease 0: a lease lasts some time")),
        Some(_) | None => Ok(()),
    }
}

/// How long a lease lasts.
pub fn parse_lease(text: &str) -> Result<Duration, String> {
    match parse_duration_ns(text)? {
        0 => Err("a lease lasts some time".to_owned()),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

impl Choice for LocksFlaw {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::EntersFrozen, "enters-frozen"),
        (Self::HolderForgotten, "holder-forgotten"),
        (Self::ViewIgnored, "view-ignored"),
        (Self::ClockNotCarried, "clock-not-carried"),
        (Self::OwnOrder, "own-order"),
        (Self::ReplacedLifeNotAwaited, "replaced-life-not-awaited"),
    ];
}

/// The parameters of the failure detector and the layers above, besides those of the algorithm.
const TAKEN: [Parameter; 6] = [
    Parameter::Within,
    Parameter::Late,
    Parameter::Beat,
    Parameter::Margin,
    Parameter::MarginCap,
    Parameter::MarginHalvesAfter,
];

/// The parameters of an algorithm on views. Each distinct list is made once.
pub fn takes(takes: &[Parameter]) -> &'static [Parameter] {
    static KNOWN: Mutex<Vec<&[Parameter]>> = Mutex::new(Vec::new());
    let more = TAKEN.iter().filter(|it| !takes.contains(it));
    let all: Vec<Parameter> = takes.iter().chain(more).copied().collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(list) = known.iter().find(|it| **it == all) {
        return list;
    }
    known.push(all.leak());
    known[known.len() - 1]
}

impl RunArgs {
    /// An algorithm as these options take it.
    pub fn on_views(&self, about: About) -> About {
        if self.views.on_views { About { takes: takes(about.takes), ..about } } else { about }
    }

    /// The mistake of locks on views that was asked for, if it is one.
    pub fn slip(&self) -> Option<LocksFlaw> {
        let asked = self.common.flaw.as_deref().filter(|_| self.views.on_views)?;
        LocksFlaw::named(asked)
    }
}
