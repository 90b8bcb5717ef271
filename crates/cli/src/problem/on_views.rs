//! Locks on views: any algorithm for mutual exclusion inside a group that agrees on who belongs to
//! it. Compiled once for all of them.

use std::sync::{Arc, Mutex as Guarded, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};
use vorrang_algorithms::card::About;
use vorrang_algorithms::flaw::{Flawed, Mistake};
use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::locks::flaws::{
    ClockNotCarried, EntersFrozen, HolderForgotten, ViewIgnored,
};
use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{Anew, Below, Lease, Locks, OnViews, message, on_views};
use vorrang_algorithms::layer::reliable::{self, Patience};
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::recipe::Node;
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_catalogue::{Entry, NodeOf};
use vorrang_protocol::{Group, NodeId, Protocol, parse_duration_ns, show_duration_ns};
use vorrang_trace::{AnyNode, Header};

use super::Nodes;
use super::channels::Simulable;
use super::mutex::Scenario;
use crate::between::Between;
use crate::failure::Failure;
use crate::options::{RunArgs, name};
use crate::values::whole;

/// How often something is sent again before a peer is left alone. A view does not last for ever
/// with one that never answers, so this need not be the end of anything.
const TRIES: u8 = 200;
/// So many heartbeats in a row may be lost.
const MISSED: u32 = 3;
/// Every member tells every other how it stands, again and again.
const MOST_NODES: u32 = 256;

/// Whether a lock lives on views, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ViewsArgs {
    /// Run the algorithm inside the views of a group, which goes on without members that it
    /// suspects to be down; every entry has a fencing token that a resource can check
    #[arg(long)]
    pub(crate) on_views: bool,
    /// With --on-views: a node inside loses the lock if it cannot renew its lease for so long, and
    /// the next view waits until leases of the last one are over
    #[arg(long, value_name = "TIME", requires = "on_views", value_parser = parse_lease)]
    lease: Option<Duration>,
    /// With --lease: the largest clock drift that is assumed, in parts per thousand; --skew sets
    /// the real one [default: 0]
    #[arg(long, value_name = "PERMILLE", requires = "lease", value_parser = whole(0..=999_u32))]
    drift: Option<u32>,
}

fn parse_lease(text: &str) -> Result<Duration, String> {
    match parse_duration_ns(text)? {
        0 => Err("a lease lasts some time".to_owned()),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

/// A known mistake of locks on views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Slip {
    EntersFrozen,
    HolderForgotten,
    ViewIgnored,
    ClockNotCarried,
    OwnOrder,
}

/// What a failure detector and the layers above must be told besides what an algorithm is.
const TAKEN: [Parameter; 4] =
    [Parameter::Within, Parameter::Late, Parameter::Beat, Parameter::Margin];

/// What an algorithm takes on views. Of the few lists that there are, each is made once.
pub(crate) fn takes(takes: &[Parameter]) -> &'static [Parameter] {
    static KNOWN: Guarded<Vec<&[Parameter]>> = Guarded::new(Vec::new());
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
    pub(crate) fn on_views(&self, about: About) -> About {
        if self.views.on_views { About { takes: takes(about.takes), ..about } } else { about }
    }

    /// The mistake of locks on views that was asked for, if it is one.
    pub(crate) fn slip(&self) -> Option<Slip> {
        let asked = self.common.flaw.as_deref().filter(|_| self.views.on_views)?;
        Slip::from_str(asked, false).ok()
    }

    /// Sets what a failure detector goes by, where nothing was said of it: heartbeats every five
    /// message delays, and so much time that nobody is suspected for the sake of a message that
    /// takes as long as any; where messages are lost by chance, of a few in a row.
    pub(crate) fn pace(&self, setup: &mut Setup, shortest_ns: u64, longest_ns: u64, mean_ns: u64) {
        let time = Duration::from_nanos;
        if !self.setup.says(Parameter::Within) {
            setup.within = time(longest_ns);
        }
        if mean_ns == 0 {
            return;
        }
        if !self.setup.says(Parameter::Beat) {
            setup.beat = time(mean_ns.saturating_mul(5));
        }
        if !self.setup.says(Parameter::Margin) {
            let late = time((mean_ns / 2).max(longest_ns - shortest_ns).max(1));
            let missed =
                if self.faults.loses() { setup.beat.saturating_mul(MISSED) } else { time(0) };
            setup.margin = late.saturating_add(missed);
        }
    }
}

/// A lock on views, as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    lease: Option<(Duration, u32)>,
    /// Whether the algorithm has channels of its own in every view.
    has_channels: bool,
    slip: Option<Slip>,
    /// What is meant by safe.
    pub(crate) safety: Safety,
}

/// What a run on views must be to be safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Safety {
    /// Nobody is suspected who is up: nobody is beside another.
    Right,
    /// Whoever was left behind is put out in time: nobody is beside another.
    Leased,
    /// Somebody may be left behind and not know: what it does is refused.
    Fenced,
}

impl Safety {
    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::Right => "exclusion (no false suspicions)",
            Self::Leased => "exclusion (leases)",
            Self::Fenced => "fencing (tokens grow; stale holders are refused)",
        }
    }
}

impl Views {
    /// What was asked for, if anything was and the algorithm can.
    pub(crate) fn new(
        card: &Card,
        args: &RunArgs,
        (setup, between): (&Setup, &Between),
    ) -> Result<Option<Self>, Failure> {
        let ViewsArgs { on_views, lease, drift } = args.views;
        if !on_views {
            return Ok(None);
        }
        refuse_what_does_not_fit(card, args, (setup, between))?;
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
        // Nobody is heard later than its margin allows, unless it is down.
        let is_in_time = |ns| u128::from(ns) <= setup.margin.as_nanos();
        let is_right = trouble.is_crashes_only() && between.spread_ns().is_some_and(is_in_time);
        let safety = match lease {
            Some(_) if !trouble.has_pauses() => Safety::Leased,
            Some(_) | None if is_right => Safety::Right,
            Some(_) | None => Safety::Fenced,
        };
        let has_channels = between.faults.is_some() || between.is_reliable;
        let lease = lease.map(|length| (length, assumed));
        Ok(Some(Self { lease, has_channels, slip: args.slip(), safety }))
    }

    pub(crate) const fn is_flawed(&self) -> bool {
        self.slip.is_some()
    }

    /// As it would have to be typed.
    pub(crate) fn options(&self) -> String {
        let mut text = " --on-views".to_owned();
        if let Some((length, drift)) = self.lease {
            text += &format!(" --lease {} --drift {drift}", shown(length));
        }
        if let Some(slip) = self.slip {
            text += &format!(" --flaw {}", name(&slip));
        }
        text
    }

    /// As figures begin with it, also where there are no views.
    pub(crate) fn head(this: Option<&Self>) -> Vec<(&'static str, Value)> {
        let lease = this.and_then(|it| it.lease);
        vec![
            ("on_views", json!(this.is_some())),
            ("lease", json!(lease.map(|it| shown(it.0)))),
            ("drift", json!(lease.map(|it| it.1))),
        ]
    }

    /// Adds it to what is said of a run.
    pub(crate) fn note(&self, header: Header) -> Header {
        let mut header =
            header.with("on_views", &["plain", "channels"][usize::from(self.has_channels)]);
        if let Some((length, drift)) = self.lease {
            header = header.with("lease", &shown(length)).with("drift", &drift);
        }
        match self.slip {
            Some(slip) => header.with("views_flaw", &name(&slip)),
            None => header,
        }
    }

    /// The views that a run was on, if it was.
    pub(crate) fn noted(header: &Header) -> Option<Self> {
        let has_channels = match header.get("on_views")? {
            "channels" => true,
            "plain" => false,
            _ => return None,
        };
        let length = header.get("lease").and_then(|text| parse_duration_ns(text).ok());
        let drift = header.get("drift").and_then(|text| text.parse().ok()).unwrap_or(0);
        let lease = length.map(|ns| (Duration::from_nanos(ns), drift));
        let slip = header.get("views_flaw").and_then(|it| Slip::from_str(it, true).ok());
        Some(Self { lease, has_channels, slip, safety: Safety::Fenced })
    }

    /// What must hold.
    pub(crate) fn monitor(&self, card: &Card, setup: &Setup) -> Locked {
        let locked = Locked::new(setup.group).admitting((card.terms.admission)(setup));
        match self.safety {
            Safety::Right | Safety::Leased => locked,
            Safety::Fenced => locked.fenced(),
        }
    }

    fn stack(&self, of: &Entry<Mutex>, setup: &Setup) -> Result<Stack, Failure> {
        let lease = self.lease.map(|(length, drift)| Lease::new(length, drift));
        let anew = anew(of, setup, self.has_channels)?;
        Ok(Stack { setup: setup.clone(), anew, lease })
    }
}

/// Refuses what no lock on views could make sense of, and algorithms that cannot be there.
fn refuse_what_does_not_fit(
    card: &Card,
    args: &RunArgs,
    (setup, between): (&Setup, &Between),
) -> Result<(), Failure> {
    let (nodes, breaks) = (args.common.nodes, args.common.break_assumptions);
    let refused = |why: String| Err(Failure::usage(why));
    if nodes > MOST_NODES {
        return refused(format!(
            "--nodes {nodes} is too many for --on-views: every member sends its state to every \
             other, so at most {MOST_NODES}"
        ));
    }
    if args.common.is_real {
        return refused(
            "--on-views is for the simulator and for 'vorrang node': over a real network it is \
             not measured yet"
                .to_owned(),
        );
    }
    if between.is_guarded {
        return refused(
            "--invariants are about an algorithm in one group: --on-views starts it anew in every \
             view"
                .to_owned(),
        );
    }
    let usual = Setup::new(setup.group);
    for it in [Parameter::Holder, Parameter::Priorities, Parameter::Ring] {
        if it.show(setup) != it.show(&usual) {
            return refused(format!(
                "--{} {} names nodes, and --on-views numbers them anew in every view, in the \
                 order of their waiting time",
                it.name(),
                it.show(setup)
            ));
        }
    }
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

fn shown(time: Duration) -> String {
    show_duration_ns(time.as_nanos() as u64)
}

/// The set-up of an algorithm in a view of so many members.
fn among(setup: &Setup, members: u32) -> Setup {
    let group = Group::of(members);
    let is_usual = setup.quorum == Quorums::usual(setup.group);
    let quorum = if is_usual { Quorums::usual(group) } else { setup.quorum.clone() };
    Setup { group, quorum, k: setup.k.min(members), within: silence(setup), ..setup.clone() }
}

/// How long an algorithm believes a message to take within a view. If it gives somebody up because
/// of silence, it goes on without a message of that one, and then numbers need not grow: so it must
/// not, before the next view does. That is there when the silence was noticed, with all that it
/// takes to agree; twice as long is enough for a message that comes before its view does.
fn silence(setup: &Setup) -> Duration {
    const ROUNDS: u32 = 8;
    let Setup { within, beat, margin, late, .. } = setup;
    let noticed = beat.saturating_add(*margin).saturating_add(*late).saturating_mul(2);
    noticed.saturating_add(within.saturating_mul(ROUNDS)).saturating_mul(2)
}

/// What is made for views of every size that there may be, the smallest first.
pub(crate) fn in_every_view<T>(
    setup: &Setup,
    make: impl Fn(&Setup) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let each = (1..=setup.group.size()).map(|members| {
        make(&among(setup, members)).map_err(|failure| match failure {
            Failure::Usage(why) if members < setup.group.size() => Failure::Usage(format!(
                "--on-views: in a view of {members} there would be no such group ({why})"
            )),
            failure => failure,
        })
    });
    each.collect()
}

/// The nodes of an algorithm in every view that there may be.
fn anew(
    of: &Entry<Mutex>,
    setup: &Setup,
    has_channels: bool,
) -> Result<Anew<NodeOf<Mutex>>, Failure> {
    let made = in_every_view(setup, |setup| super::make(&of.recipe, setup))?;
    let made: Arc<[Node<NodeOf<Mutex>>]> = made.into();
    let anew = Anew::new(move |me, group: Group| made[group.size() as usize - 1](me));
    if !has_channels {
        return Ok(anew);
    }
    let patience = Patience::within(setup.within, TRIES);
    Ok(anew.over_channels(patience).map(|_, _, node| AnyNode::new(node)))
}

/// What all nodes of a group on views are made with.
struct Stack {
    setup: Setup,
    anew: Anew<NodeOf<Mutex>>,
    lease: Option<Lease>,
}

impl Stack {
    fn node(&self, id: NodeId) -> OnViews<NodeOf<Mutex>> {
        let founders: Vec<NodeId> = self.setup.group.members().collect();
        on_views(id, &self.setup, &founders, self.anew.clone(), self.lease)
    }

    /// With a mistake, made where those who wait ask again.
    fn flawed<F: Mistake<Locks<NodeOf<Mutex>>>>(self, mistake: F) -> Node<NodeOf<Mutex>> {
        let slow = Self { anew: self.anew.asking_again(), ..self };
        Arc::new(move |id| {
            let flawed = slow.node(id).map(|locks| Flawed::new(locks, mistake));
            AnyNode::new::<Detecting<Flawed<Locks<NodeOf<Mutex>>, F>>>(flawed)
        })
    }

    /// The nodes without their types.
    fn any(self, slip: Option<Slip>) -> Node<NodeOf<Mutex>> {
        match slip {
            None => Arc::new(move |id| AnyNode::new(self.node(id))),
            Some(Slip::EntersFrozen) => self.flawed(EntersFrozen),
            Some(Slip::HolderForgotten) => self.flawed(HolderForgotten),
            Some(Slip::ViewIgnored) => self.flawed(ViewIgnored),
            Some(Slip::ClockNotCarried) => self.flawed(ClockNotCarried),
            Some(Slip::OwnOrder) => {
                let apart = Self { anew: self.anew.in_own_order(), ..self };
                Arc::new(move |id| AnyNode::new(apart.node(id)))
            }
        }
    }
}

/// The nodes of a recorded run.
pub(crate) fn again(
    of: &Entry<Mutex>,
    setup: &Setup,
    views: &Views,
) -> Result<Node<NodeOf<Mutex>>, Failure> {
    Ok(views.stack(of, setup)?.any(views.slip))
}

/// The nodes of a run that is to be.
pub(super) fn nodes(
    of: &Entry<Mutex>,
    scenario: &Scenario,
    views: &Views,
) -> Result<Box<dyn Nodes<Mutex>>, Failure> {
    const WHY: &str = "--on-views is for the simulator and for 'vorrang node'";
    let stack = views.stack(of, &scenario.setup)?;
    let within = if views.has_channels { reliable::kinds(of.kinds) } else { of.kinds.to_vec() };
    let kinds = message::kinds::<<Below as Protocol>::Message>(&within).leak();
    if views.is_flawed() {
        let node: Node<AnyNode<Command, Notice>> = stack.any(views.slip);
        return Ok(Box::new(Simulable::new(node, kinds, WHY)));
    }
    let node: Node<OnViews<NodeOf<Mutex>>> = Arc::new(move |id| stack.node(id));
    Ok(Box::new(Simulable::new(node, kinds, WHY)))
}
