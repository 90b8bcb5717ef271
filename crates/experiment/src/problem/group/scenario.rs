//! The scenario of a run, and its theory.

use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::group::card::{CHANGE, Card, LATENCY, MESSAGES, Setting};
use vorrang_algorithms::setup::{Detector, Setup};
use vorrang_protocol::{NodeId, show_duration_ns};
use vorrang_sim::{Distribution, Fault, Faults};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::figures::{Figure, Reading, Unit};
use crate::net_defaults::Pace;
use crate::options::RunArgs;
use crate::options::group::GroupArgs;
use crate::problem::Scene;
use crate::problem::multicast::scenario::there;
use vorrang_workload::group::Tally;
use vorrang_workload::group::{Move, RunLength};

/// Everyone watches everyone.
pub(super) const MOST_NODES: u32 = 2_000;

/// When each was made is kept.
pub(super) const MOST_MULTICASTS: u64 = 100_000_000;

/// How often there is something to say, if nothing is said of it.
pub(super) const USUAL_MULTICASTS: u64 = 1_000;

/// How many heartbeats a run over a real network lasts.
const REAL_BEATS: u32 = 30;

impl GroupArgs {
    /// Joins and leaves, the first first; nodes without a join time join at once.
    pub(in crate::problem) fn moves(
        &self,
        setup: &Setup,
        hint: &str,
    ) -> Result<Vec<Move>, Failure> {
        let moves = |all: &[(NodeId, u64)], joins| {
            let of = move |&(node, at_ns): &(NodeId, u64)| Move { at_ns, node, joins };
            all.iter().map(of).collect::<Vec<_>>()
        };
        let mut all = moves(&self.join, true);
        let comes = |id: &NodeId| !self.join.iter().any(|(node, _)| node == id);
        let late = (setup.founders..setup.group.size()).map(NodeId).filter(comes);
        all.extend(late.map(|node| Move { at_ns: 0, node, joins: true }));
        all.extend(moves(&self.leave, false));
        all.sort_by_key(|it| (it.at_ns, it.node, it.joins));
        let mut is_in: Vec<bool> = setup.group.members().map(|id| id.0 < setup.founders).collect();
        for Move { at_ns, node, joins } in &all {
            let typed = if *joins { "--join" } else { "--leave" };
            let typed = format!("{typed} {node}@{}", show_duration_ns(*at_ns));
            let last = setup.group.size() - 1;
            let Some(is_in) = is_in.get_mut(node.index()) else {
                let why = format!("{typed}: there is no node {node}, the last is {last}");
                return Err(Failure::Usage(why));
            };
            if *is_in == *joins {
                let how = if *joins { "belongs to the group by then" } else { "is not in it then" };
                return Err(Failure::Usage(format!("{typed}: node {node} {how}{hint}")));
            }
            *is_in = *joins;
        }
        Ok(all)
    }
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    pub(crate) environment: Environment,
    pub(crate) multicasts: u64,
    pub(crate) senders: u32,
    pub(crate) every: Distribution,
    pub(crate) moves: Vec<Move>,
    pub(crate) is_real: bool,
}

impl Scenario {
    /// Options that fit together and fit the algorithm, or why they do not.
    pub(super) fn new(card: &'static Card, args: &RunArgs) -> Result<Self, Failure> {
        let (nodes, is_real) = (args.common.nodes, args.common.is_real);
        let name = card.name;
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {name}: everyone watches everyone, so at most \
                 {MOST_NODES}"
            )));
        }
        let (mut setup, environment) = args.placed(&card.about())?;
        if setup.detector == Detector::Told {
            return Err(Failure::usage(format!(
                "--detector told: a run has no one to say which nodes are down; 'vorrang step \
                 {name}' and 'vorrang check {name}' are for that"
            )));
        }
        if is_real {
            Pace::REAL.unless_told(&mut setup, &args.setup);
        }
        let given = &args.multicast;
        let senders = given.senders.unwrap_or(nodes);
        if senders > nodes {
            return Err(Failure::usage(format!(
                "--senders {senders}: there are only {nodes} nodes"
            )));
        }
        let usual = if is_real { u64::from(senders) * 10 } else { USUAL_MULTICASTS };
        let multicasts = given.multicasts.unwrap_or(usual);
        if multicasts > MOST_MULTICASTS {
            return Err(Failure::usage(format!(
                "--multicasts {multicasts} is too many for {name}: at most {MOST_MULTICASTS}"
            )));
        }
        let beat_ns = setup.beat.as_nanos() as u64;
        let every = given.every.unwrap_or(Distribution::Exponential(beat_ns));
        let hint = format!("; --founders {} have founded it", setup.founders);
        let moves = args.group.moves(&setup, &hint)?;
        Ok(Self { card, setup, environment, multicasts, senders, every, moves, is_real })
    }
}

impl Scenario {
    /// How long a run over a real network lasts: until all has come of the last fault, join and
    /// leave.
    pub(super) fn lasts_over_tcp(&self) -> Duration {
        let script = self.environment.faults.iter().flat_map(|faults| &faults.script);
        let times = script.map(|it| it.0).chain(self.moves.iter().map(|it| it.at_ns));
        let least = self.setup.beat.saturating_mul(REAL_BEATS);
        let settled = |at_ns| {
            let settles = (self.card.terms.settles)(&self.setup);
            Duration::from_nanos(at_ns).saturating_add(settles)
        };
        times.filter(|at_ns| *at_ns > 0).max().map_or(least, |at_ns| least.max(settled(at_ns)))
    }

    /// The time-out after which a silent node is suspected.
    pub(crate) fn time_out(&self) -> Duration {
        self.setup.beat.saturating_add(self.setup.margin)
    }

    /// How long it takes until there will be no more news.
    pub(crate) fn calm(&self) -> RunLength {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let longest = Duration::from_nanos(self.environment.nearly_longest_ns());
        let noticed = self.time_out().saturating_add(self.setup.late).saturating_add(longest);
        let script = self.environment.faults.iter().flat_map(|faults| &faults.script);
        // Applications know which nodes are up.
        let is_unseen = |it: &&(u64, Fault)| !matches!(it.1, Fault::Crash(_) | Fault::Restart(_));
        let last_ns = script.filter(is_unseen).map(|it| it.0).max();
        let takes = longest.saturating_mul(20);
        let settles = (self.card.terms.settles)(&self.setup).saturating_add(takes);
        RunLength {
            noticed: last_ns.map_or(0, |it| it.saturating_add(ns(noticed.saturating_mul(2)))),
            settles: ns(settles),
            gap: ns(self.setup.beat),
        }
    }

    /// The theory of a quantity, if it covers the run: constant latency, and no fault but one
    /// crash.
    pub(crate) fn theory(&self, of: Quantity, tally: &Tally) -> Option<Span> {
        let latency = &self.environment.latency;
        // Else what was sent is sent again before it can have been heard of.
        let is_quick = 2.0 * latency.mean_ns() < self.setup.beat.as_nanos() as f64;
        let is_constant = latency.is_constant() && latency.mean_ns() > 0.0;
        let script = self.environment.faults.as_ref().map_or(&[][..], |faults| &faults.script);
        let is_scripted = self.environment.faults.as_ref().is_none_or(Faults::is_scripted);
        let gone = match script {
            [] => None,
            [(_, Fault::Crash(node))] => Some(*node),
            _ => return None,
        };
        let is_plain = is_constant && is_quick && is_scripted && self.moves.is_empty();
        let speaks = match gone {
            None => of != CHANGE && tally.views() == 1,
            Some(_) => of == CHANGE && tally.changes().count() == 1,
        };
        if !is_plain || !speaks || self.is_altered() {
            return None;
        }
        let by_sequencer = u32::try_from(tally.by_lowest()).ok()?;
        let all = u32::try_from(tally.multicasts()).ok()?;
        let (setup, lowest_goes) = (self.setup.clone(), gone == Some(NodeId(0)));
        let by_others = all - by_sequencer;
        let setting = Setting { setup, by_sequencer, by_others, lowest_goes };
        let span = self.card.cost(of, &setting).filter(|span| span.high.is_finite())?;
        if of != MESSAGES {
            return Some(span);
        }
        // A heartbeat that crosses a message on its way makes for a copy of it.
        let copies = f64::from(all) * f64::from(self.setup.group.size() - 1);
        Some(Span::between(span.low, span.high + copies))
    }

    pub(crate) fn is_altered(&self) -> bool {
        self.is_real || self.environment.is_reliable || self.environment.flaw.is_some()
    }

    /// The figures of a run, with times in a unit of so many nanoseconds.
    pub(crate) fn figures(&self, tally: &Tally, (unit, unit_ns): Unit) -> Vec<Figure> {
        let in_units = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
        let time_out_ns = self.time_out().as_nanos() as f64;
        let in_time_outs = |ns: Option<f64>| ns.map(|ns| ns / time_out_ns);
        let multicasts = tally.multicasts();
        let (beats, all) = (tally.beats(), tally.traffic().messages());
        let messages = all - beats;
        let per = (multicasts > 0).then(|| messages as f64 / multicasts as f64);
        let theory = |of: Quantity| self.theory(of, tally);
        let each = |span: Span| {
            let many = multicasts.max(1) as f64;
            Span::between(span.low / many, span.high / many)
        };
        let per_theory = per.and_then(|_| theory(MESSAGES)).map(each);
        let (latency, blocked) = (tally.latency(), tally.blocked());
        let (changes, repairs) = (tally.changes(), tally.repairs());
        let time = |key, label, ns: Option<f64>| {
            Figure::real(key, in_units(ns)).labelled(label).unit(unit)
        };
        let time_outs =
            |key, ns: Option<f64>| Figure::real(key, in_time_outs(ns)).labelled("in time-outs");
        vec![
            Figure::count("multicasts", "multicasts", multicasts),
            Figure::count("delivered", "delivered", tally.delivered()),
            Figure::real("messages_per_multicast", per)
                .labelled("messages per multicast")
                .column("MESSAGES/CAST")
                .theory(per_theory, None),
            time(LATENCY.key, LATENCY.name, latency.mean())
                .column("LATENCY/T")
                .theory(latency.mean().and_then(|_| theory(LATENCY)), None),
            time("latency_max", "at most", latency.max()),
            Figure::count("views", "views", tally.views()).column("VIEWS"),
            time(CHANGE.key, CHANGE.name, changes.mean())
                .column("CHANGE/T")
                .theory(changes.mean().and_then(|_| theory(CHANGE)), None),
            time("change_max", "at most", changes.max()),
            time_outs("change_time_outs", changes.mean()),
            time("repair_mean", "from crash to view", repairs.mean()).column("REPAIR/T"),
            time_outs("repair_time_outs", repairs.mean()),
            time("blocked_mean", "blocked", blocked.mean()).column("BLOCKED/T"),
            time("blocked_max", "at most", blocked.max()),
            Figure::count("still_blocked", "still blocked at the end", tally.still_blocked()),
            Figure::count("evictions", "evicted", tally.outs()).column("EVICTED"),
            Figure::count("messages", "messages", tally.traffic().messages()),
            Figure::of("messages_by_kind", Reading::Counts(there(tally.traffic().by_kind()))),
            Figure::count("heartbeats", "heartbeats", beats),
            Figure::count(MESSAGES.key, "other messages", messages)
                .column("MESSAGES")
                .theory(theory(MESSAGES), None),
            Figure::count("bytes", "bytes", tally.traffic().bytes()),
        ]
    }

    /// Those who come and go, as it would have to be typed.
    pub(crate) fn moves_typed(&self) -> String {
        Move::typed(&self.moves)
    }
}

impl Scene for Scenario {
    fn about(&self) -> About {
        self.card.about()
    }
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn between(&self) -> &Environment {
        &self.environment
    }
    fn total(&self) -> u64 {
        self.multicasts.saturating_mul(self.setup.group.size().into())
    }
    fn title(&self) -> String {
        "group communication".to_owned()
    }
    fn own_options(&self, net: bool) -> String {
        let text = format!("--multicasts {} --senders {}", self.multicasts, self.senders);
        let every = if net { String::new() } else { format!(" --every {}", self.every) };
        text + &every + &self.moves_typed()
    }
    fn own_head(&self, _net: bool) -> Vec<(&'static str, Value)> {
        let of = |joins| {
            let moves = self.moves.iter().filter(|it| it.joins == joins);
            let typed = moves.map(|it| format!("{}@{}", it.node, show_duration_ns(it.at_ns)));
            json!(typed.collect::<Vec<_>>().join(","))
        };
        vec![
            ("senders", json!(self.senders)),
            ("every", json!(self.every.to_string())),
            ("join", of(true)),
            ("leave", of(false)),
        ]
    }
}
