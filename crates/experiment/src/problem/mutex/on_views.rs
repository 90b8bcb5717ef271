//! Locks on views, as they were asked for.

use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::group::locks::Lease;
use vorrang_algorithms::group::locks::flaws::LocksFlaw;
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::layer::reliable::Retries;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_catalogue::on_views::{LockBetweenProcesses, LockOnViews};
use vorrang_catalogue::{self as any, Entry, NodeOf};
use vorrang_erased::Fresh;
use vorrang_protocol::{parse_duration_ns, show_duration_ns};
use vorrang_trace::Header;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::options::choice::{Choice as _, name};
use crate::options::views::ViewsArgs;
use crate::problem::BETWEEN_PROCESSES;

/// How often something is sent again before a peer is left alone. A view does not last for ever
/// with one that never answers, so this need not be the end of anything.
const TRIES: u8 = 200;
/// Every member tells every other how it stands, again and again.
const MOST_NODES: u32 = 256;

/// A lock on views, as it was asked for.
#[derive(Clone, Debug)]
pub struct Views {
    lease: Option<(Duration, u32)>,
    /// Whether there is no stable storage.
    forgets: bool,
    /// Whether the algorithm has channels of its own in every view.
    has_channels: bool,
    slip: Option<LocksFlaw>,
    /// The safety property of the run.
    pub safety: Safety,
    /// Whether it is over a real network.
    is_real: bool,
    /// Where its nodes keep what they must not forget, if anywhere; nothing, where that is a new
    /// directory.
    pub(crate) data: Option<String>,
}

/// The safety property of a run on views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Safety {
    /// No live node is suspected: exclusion holds.
    Right,
    /// An evicted node loses the lock in time: exclusion holds.
    Leased,
    /// An evicted node may not know it: its writes are refused.
    Fenced,
}

impl Safety {
    /// In words.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Right => "exclusion (no false suspicions)",
            Self::Leased => "exclusion (leases)",
            Self::Fenced => "fencing (tokens grow; stale holders are refused)",
        }
    }
}

impl Views {
    /// The views that were asked for, if the algorithm supports them.
    pub fn new(
        card: &Card,
        args: &RunArgs,
        (setup, environment): (&Setup, &Environment),
    ) -> Result<Option<Self>, Failure> {
        let ViewsArgs { on_views, lease, drift, ref data, forgetful: forgets } = args.views;
        if !on_views {
            return Ok(None);
        }
        let is_real = args.common.is_real;
        refuse_what_does_not_fit(card, args, (setup, environment))?;
        let (breaks, trouble) = (args.common.break_assumptions, &args.faults);
        let refused = |why: String| Err(Failure::usage(why));
        let assumed = drift.unwrap_or(0);
        let worst = trouble.clocks().iter().max_by_key(|it| it.drift_per_mille());
        if let (Some(skew), true) = (worst, lease.is_some() && !breaks)
            && skew.drift_per_mille() > assumed
        {
            return refused(format!(
                "--skew {skew} is a clock drift of {} parts in a thousand, and leases assume \
                 --drift {assumed}: say more, or --break-assumptions to see it break",
                skew.drift_per_mille()
            ));
        }
        // No live node is heard later than its margin allows.
        let is_in_time = |ns| u128::from(ns) <= setup.margin.as_nanos();
        let is_right = trouble.is_crashes_only() && environment.spread_ns().is_some_and(is_in_time);
        let safety = match lease {
            // A busy machine may keep any process waiting, and be late to run out a lease.
            Some(_) | None if is_real => Safety::Fenced,
            Some(_) if !trouble.has_pauses() => Safety::Leased,
            Some(_) | None if is_right => Safety::Right,
            Some(_) | None => Safety::Fenced,
        };
        let has_channels = environment.faults.is_some() || environment.is_reliable;
        let lease = lease.map(|length| (length, assumed));
        let (slip, data) = (args.slip(), data.clone());
        Ok(Some(Self { lease, forgets, has_channels, slip, safety, is_real, data }))
    }

    /// Whether they have a mistake.
    pub const fn is_flawed(&self) -> bool {
        self.slip.is_some()
    }

    /// As it would have to be typed.
    pub fn options(&self) -> String {
        let mut text = " --on-views".to_owned();
        if let Some((length, drift)) = self.lease {
            text += &format!(" --lease {} --drift {drift}", shown(length));
        }
        if self.forgets {
            text += " --forgetful";
        }
        if let Some(slip) = self.slip {
            text += &format!(" --flaw {}", name(&slip));
        }
        match self.data.as_deref() {
            None => {}
            Some("") => text += " --data",
            Some(directory) => text += &format!(" --data {directory}"),
        }
        text
    }

    /// As figures begin with it, also where there are no views.
    pub fn head(this: Option<&Self>) -> Vec<(&'static str, Value)> {
        let lease = this.and_then(|it| it.lease);
        vec![
            ("on_views", json!(this.is_some())),
            ("lease", json!(lease.map(|it| shown(it.0)))),
            ("drift", json!(lease.map(|it| it.1))),
            ("data", json!(this.is_some_and(|it| it.data.is_some()))),
            ("forgetful", json!(this.is_some_and(|it| it.forgets))),
        ]
    }

    /// Adds it to the head of a run.
    pub fn note(&self, header: Header) -> Header {
        let kind = match (self.is_real, self.has_channels) {
            (true, _) => BETWEEN_PROCESSES,
            (false, true) => "channels",
            (false, false) => "plain",
        };
        let mut header = header.with("on_views", &kind);
        if let Some((length, drift)) = self.lease {
            header = header.with("lease", &shown(length)).with("drift", &drift);
        }
        if self.forgets {
            header = header.with("forgetful", &true);
        }
        match self.slip {
            Some(slip) => header.with("views_flaw", &name(&slip)),
            None => header,
        }
    }

    /// The views that a run was on, if it was.
    pub fn noted(header: &Header) -> Option<Self> {
        let has_channels = match header.get("on_views")? {
            "channels" => true,
            "plain" => false,
            _ => return None,
        };
        let length = header.get("lease").and_then(|text| parse_duration_ns(text).ok());
        let drift = header.get("drift").and_then(|text| text.parse().ok()).unwrap_or(0);
        let lease = length.map(|ns| (Duration::from_nanos(ns), drift));
        let slip = header.get("views_flaw").and_then(LocksFlaw::named);
        let forgets = header.get("forgetful").is_some();
        let (safety, is_real, data) = (Safety::Fenced, false, None);
        Some(Self { lease, forgets, has_channels, slip, safety, is_real, data })
    }

    /// The lock of an algorithm in the checker, where channels play no part: with leases, and
    /// without stable storage.
    pub(super) fn checked(
        of: &Entry<Mutex>,
        setup: &Setup,
        (lease, forgets): (Option<(Duration, u32)>, bool),
    ) -> Result<LockOnViews, Failure> {
        let (slip, safety, data) = (None, Safety::Fenced, None);
        let has_channels = false;
        let checked = Self { lease, forgets, has_channels, slip, safety, is_real: false, data };
        checked.lock(of, setup)
    }

    /// The monitor.
    pub fn monitor(&self, card: &Card, setup: &Setup) -> Locked {
        let locked = Locked::new(setup.group).admitting((card.terms.admission)(setup));
        match self.safety {
            Safety::Right | Safety::Leased => locked,
            Safety::Fenced => locked.fenced(),
        }
    }

    /// The lock between processes, whose applications are told of views.
    pub(crate) fn between_processes(
        &self,
        of: &Entry<Mutex>,
        setup: &Setup,
    ) -> Result<LockBetweenProcesses, Failure> {
        let lock = LockBetweenProcesses::new(in_every_view(of, setup)?, self.lease());
        Ok(match self.slip {
            Some(LocksFlaw::OwnOrder) => lock.in_own_order().telling_views(),
            _ => lock.telling_views(),
        })
    }

    /// What a process is told that is one of its nodes: the lease, with the drift that is assumed,
    /// and whether it makes the mistake.
    pub(crate) const fn orders(&self) -> (Option<(Duration, u32)>, bool) {
        (self.lease, self.slip.is_some())
    }

    fn lease(&self) -> Option<Lease> {
        self.lease.map(|(length, drift)| Lease::new(length, drift))
    }

    fn lock(&self, of: &Entry<Mutex>, setup: &Setup) -> Result<LockOnViews, Failure> {
        let lease = self.lease();
        let by_size = in_every_view(of, setup)?;
        let channels = self.has_channels.then(|| Retries::within(setup.within, TRIES));
        let lock = LockOnViews::new(setup, (by_size, of.kinds), channels, lease);
        Ok(if self.forgets { lock.forgetful() } else { lock })
    }
}

/// Refuses what no lock on views could make sense of, and algorithms that cannot be there.
fn refuse_what_does_not_fit(
    card: &Card,
    args: &RunArgs,
    (setup, environment): (&Setup, &Environment),
) -> Result<(), Failure> {
    let (nodes, breaks) = (args.common.nodes, args.common.break_assumptions);
    let refused = |why: String| Err(Failure::usage(why));
    if args.slip() == Some(LocksFlaw::ReplacedLifeNotAwaited) {
        return refused(format!(
            "--flaw {}: in a run nobody starts a second process under a number; 'vorrang check {} \
             --on-views' with this flaw does",
            name(&LocksFlaw::ReplacedLifeNotAwaited),
            card.name
        ));
    }
    if nodes > MOST_NODES {
        return refused(format!(
            "--nodes {nodes} is too many for --on-views: every member sends its state to every \
             other, so at most {MOST_NODES}"
        ));
    }
    refuse_what_is_not_real(card, args)?;
    if environment.is_guarded {
        return refused(
            "--invariants are about an algorithm in one group: --on-views starts it anew in every \
             view"
                .to_owned(),
        );
    }
    refuse_named_nodes(setup)?;
    if card.assumes.timely && !args.faults.is_crashes_only() && !breaks {
        return refused(format!(
            "{} assumes that messages take no longer than --within, and on views lost messages \
             are retransmitted later: crash nodes only, choose an algorithm without time-outs, or \
             say --break-assumptions to see it break",
            card.name
        ));
    }
    Ok(())
}

/// Refuses what the simulator alone can do, or only a real network.
fn refuse_what_is_not_real(card: &Card, args: &RunArgs) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::usage(why));
    match (&args.views.data, args.common.is_real) {
        (Some(directory), false) => refused(format!(
            "--data {directory}: in the simulator nodes keep what they must not forget without a \
             disk; it is for --net"
        )),
        (_, true) if args.views.forgetful => refused(
            "--forgetful: over a network nodes forget unless --data says where they keep what they \
             must not forget; leave it out"
                .to_owned(),
        ),
        (_, true) if card.assumes.timely => refused(format!(
            "--on-views: {} assumes that messages take no longer than --within, which does not \
             hold where connections are made anew; with --net choose any other algorithm",
            card.name
        )),
        (_, true) if args.slip().is_some_and(|slip| slip != LocksFlaw::OwnOrder) => {
            refused(format!(
                "--flaw {}: with --net the only mistake of locks on views is {}; the others are \
                 made in the simulator and in the checker",
                args.common.flaw.as_deref().unwrap_or_default(),
                name(&LocksFlaw::OwnOrder)
            ))
        }
        (_, true) if !args.faults.is_of_processes() => refused(format!(
            "{}: with --net processes are killed, started again, stopped and cut off from each \
             other; what else befalls messages and clocks is for the simulator",
            args.faults.options().trim_start()
        )),
        (Some(_) | None, _) => Ok(()),
    }
}

/// Refuses parameters that name nodes: each view has numbers of its own.
pub(super) fn refuse_named_nodes(setup: &Setup) -> Result<(), Failure> {
    let usual = Setup::new(setup.group);
    for it in [Parameter::Holder, Parameter::Priorities, Parameter::Ring] {
        if it.show(setup) != it.show(&usual) {
            return Err(Failure::usage(format!(
                "--{} {} names nodes, and --on-views numbers them anew in every view, in the \
                 order of their waiting time",
                it.name(),
                it.show(setup)
            )));
        }
    }
    Ok(())
}

fn shown(time: Duration) -> String {
    show_duration_ns(time.as_nanos() as u64)
}

/// The factories for views of every size, the smallest first.
pub fn in_every_view(
    of: &Entry<Mutex>,
    setup: &Setup,
) -> Result<Vec<Fresh<NodeOf<Mutex>>>, Failure> {
    of.in_every_view(setup).map_err(|(members, Unfit(why))| {
        Failure::usage(if members < setup.group.size() {
            format!("--on-views: in a view of {members} there would be no such group ({why})")
        } else {
            why
        })
    })
}

/// The nodes of a run, or of a recorded one.
pub(super) fn nodes(
    of: &Entry<Mutex>,
    setup: &Setup,
    views: &Views,
) -> Result<any::Nodes<Mutex>, Failure> {
    Ok(views.lock(of, setup)?.nodes(views.slip))
}
