//! The scenario of a run, and its theory.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Order, Quantity, Span};
use vorrang_algorithms::election::card::{COUNTED, Card, DURATION, MESSAGES, Setting};
use vorrang_algorithms::setup::{Contention, Setup};
use vorrang_protocol::{NodeId, NodeSet, show_duration_ns};
use vorrang_sim::{Fault, Faults};

use super::question;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::figures::{Figure, Reading, Unit};
use crate::options::cable::{self, CableChange, Noticed};
use crate::options::{LastingArgs, OrderKind, RunArgs, list, nodes_of};
use crate::problem::Scene;
use vorrang_workload::election::{Leader, Tally};

/// The limit for elections that may take as many messages as the square of the nodes.
pub(super) const MOST_NODES: u32 = 2_000;

/// How much longer than its contentions an election on a bus takes at most, on real links.
const SETTLES: Duration = Duration::from_millis(500);

/// A larger run would take too long.
pub(super) const MOST_HEARTBEATS: u128 = 100_000_000;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    /// The callers, as given.
    pub(crate) asked: String,
    pub(crate) initiators: Vec<u32>,
    /// What is done to cables, and what nodes notice of it.
    pub(crate) cables: Vec<CableChange>,
    pub(crate) noticed: Vec<Noticed>,
    pub(crate) environment: Environment,
    /// When it ends, where messages go on for ever.
    pub(crate) lasts: Option<Duration>,
    /// How long it was to last at least.
    pub(crate) lasting: LastingArgs,
    /// Whether it is over a real network.
    pub(crate) is_real: bool,
}

impl Scenario {
    /// Options that fit together and fit the algorithm, or why they do not.
    pub(super) fn new(card: &'static Card, args: &RunArgs) -> Result<Self, Failure> {
        let nodes = args.common.nodes;
        if nodes > MOST_NODES && card.terms.quadratic {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: an election may take as many messages as the \
                 square of that, so at most {MOST_NODES}",
                card.name
            )));
        }
        let (setup, environment) = args.placed(&card.about())?;
        let crashed = |node: u32| {
            let script = environment.faults.as_ref().map_or(&[][..], |faults| &faults.script);
            script.contains(&(0, Fault::Crash(NodeId(node))))
        };
        let mut up = (0..nodes).filter(|&node| !crashed(node));
        let usual = if card.terms.everyone_calls { "all" } else { "lowest" };
        let asked = args.election.initiators.as_deref().unwrap_or(usual);
        let mut initiators: Vec<u32> = match asked {
            "lowest" => up.next().into_iter().collect(),
            "highest" => up.next_back().into_iter().collect(),
            "all" => up.collect(),
            text => nodes_of("--initiators", text, nodes)?,
        };
        initiators.sort_unstable();
        if initiators.is_empty() {
            return Err(Failure::usage(
                "--crash: with all nodes down no node can call an election",
            ));
        }
        if let Some(node) = initiators.iter().find(|&&node| crashed(node)) {
            return Err(Failure::usage(format!(
                "--initiators: node {node} cannot call, it is down from the start"
            )));
        }
        if card.terms.everyone_calls {
            question::check_all_call(card, &initiators, (0..nodes).filter(|&it| !crashed(it)))?;
        }
        let cables = args.election.cables();
        let noticed = cable::noticed(card, &setup, &cables, CableChange::typed)?;
        let (asked, is_real) = (asked.to_owned(), args.common.is_real);
        let lasts = lasts(card, &setup, &environment, args)?;
        let lasting = args.lasting.clone();
        Ok(Self {
            card,
            setup,
            asked,
            initiators,
            cables,
            noticed,
            environment,
            lasts,
            lasting,
            is_real,
        })
    }
}

impl Scenario {
    /// The parameters of the theory: callers and crashed nodes, both from the start, on links as
    /// assumed. None with other faults.
    pub(crate) fn setting(&self) -> Option<Setting> {
        let (assumes, environment) = (self.card.assumes, &self.environment);
        let dead = self.dead()?;
        let is_timely = !assumes.timely || self.is_real || environment.is_within(&self.setup);
        let keeps_order = assumes.order == Order::Any || environment.order == OrderKind::Fifo;
        let stands = self.cables.is_empty()
            && (dead.is_empty() || self.card.terms.crashes)
            && !environment.is_reliable;
        // Over a real network, the second caller may have heard of the first.
        let at_once = !self.is_real || self.initiators.len() == 1 || self.card.terms.everyone_calls;
        let believes = self.setup.within.as_nanos();
        let lockstep = environment.latency.constant_ns().is_some_and(|ns| {
            ns > 0 && (!assumes.timely || u128::from(ns) == believes) && !self.is_real
        });
        let mut initiators: Vec<NodeId> = self.initiators.iter().copied().map(NodeId).collect();
        initiators.sort_unstable();
        let setup = self.setup.clone();
        (is_timely && keeps_order && stands && at_once).then_some(Setting {
            setup,
            initiators,
            dead,
            lockstep,
        })
    }

    /// The nodes that are down from the start, if there are no other faults.
    pub(crate) fn dead(&self) -> Option<NodeSet> {
        let mut dead = NodeSet::EMPTY;
        let Some(faults) = &self.environment.faults else { return Some(dead) };
        if !faults.is_scripted() {
            return None;
        }
        for fault in &faults.script {
            let (0, Fault::Crash(node)) = fault else { return None };
            dead.insert(*node);
        }
        Some(dead)
    }

    /// The theory of a quantity, if any: for times, if every message takes T, and as the algorithm
    /// assumes.
    pub(crate) fn theory(&self, of: Quantity) -> Option<Span> {
        let setting = self.setting().filter(|at| at.lockstep || !of.is_time)?;
        self.card.cost(of, &setting)
    }

    /// How long to wait for the last election over a real network, where only time tells whether
    /// a contention is over.
    pub(crate) fn settles_over_tcp(&self) -> Duration {
        let last = self.noticed.iter().map(|it| it.0).max().unwrap_or(0);
        let waits = match self.setup.contention {
            Contention::Id => Duration::ZERO,
            // Seven tosses and more.
            Contention::Wait | Contention::Firewire | Contention::FirewireA => {
                self.setup.within.saturating_mul(30)
            }
        };
        Duration::from_nanos(last) + SETTLES + waits
    }

    /// The callers, as they would be typed. A million numbers are abbreviated.
    pub(crate) fn who(&self) -> String {
        let is_all = self.initiators.len() == self.setup.group.size() as usize;
        if is_all { "all".to_owned() } else { list(&self.initiators) }
    }

    /// The figures of a run, with times in a unit of so many nanoseconds.
    pub(crate) fn figures(&self, tally: &Tally, (unit, unit_ns): Unit) -> Vec<Figure> {
        // An election that nobody has won has not ended.
        let span_ns = (tally.leader() != Leader::None)
            .then(|| tally.ended_ns.saturating_sub(tally.began_ns.unwrap_or(0)));
        let duration = span_ns.filter(|_| unit_ns > 0.0).map(|span_ns| span_ns as f64 / unit_ns);
        let by_kind = tally.traffic.by_kind();
        let is_receipt = |kind: &str| self.card.terms.receipts.contains(&kind);
        let receipts = by_kind.iter().filter(|it| is_receipt(it.0)).map(|it| it.1).sum();
        let sees_crashes = self.card.terms.sees_crashes;
        let counted = by_kind
            .iter()
            .zip(&tally.arrived)
            .filter(|((kind, _), _)| !is_receipt(kind))
            .map(|((_, sent), arrived)| if sees_crashes { *arrived } else { *sent })
            .sum();
        let counted = Figure::of(COUNTED.key, Reading::Count(counted))
            .column("COUNTED")
            .theory(self.theory(COUNTED), None);
        // Where the literature counts all messages, once is enough.
        let is_special = sees_crashes || !self.card.terms.receipts.is_empty();
        let mut all = vec![
            Figure::of("leader", self.leader(tally)).labelled("leader"),
            Figure::count(MESSAGES.key, MESSAGES.name, tally.traffic.messages())
                .column("MESSAGES")
                .theory(self.theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(by_kind)),
            if is_special { counted.labelled(COUNTED.name) } else { counted },
            Figure::of("receipts", Reading::Count(receipts)),
            Figure::real(DURATION.key, duration)
                .labelled(DURATION.name)
                .unit(unit)
                .column("DURATION/T")
                .theory(self.theory(DURATION), None),
            Figure::count("rounds", "messages in a row", tally.rounds.into()).column("ROUNDS"),
            Figure::count("bytes", "bytes", tally.traffic.bytes()).column("BYTES"),
        ];
        if self.card.terms.hot_plug {
            all.push(Figure::count("generation", "generation", tally.generation.into()));
        }
        if let Some(changed_ns) = tally.changed_ns.filter(|_| unit_ns > 0.0) {
            let span = tally.ended_ns.saturating_sub(changed_ns) as f64 / unit_ns;
            let label = "since the last cable came or went";
            all.push(Figure::real("reorganised", Some(span)).labelled(label).unit(unit));
        }
        all
    }

    /// Whom all follow, as a figure; on a bus that is torn apart, who leads in its parts.
    fn leader(&self, tally: &Tally) -> Reading {
        match tally.leader() {
            Leader::One(leader) => Reading::Count(leader.0.into()),
            Leader::Divided if self.card.terms.hot_plug => {
                let all: Vec<String> = tally.leaders().iter().map(ToString::to_string).collect();
                Reading::Text(all.join(", "))
            }
            Leader::Divided => Reading::Text("divided".to_owned()),
            Leader::None => Reading::Unknown,
        }
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
        u64::from(self.setup.group.size())
    }
    fn title(&self) -> String {
        "election".to_owned()
    }
    fn warning(&self) -> Option<String> {
        let slow = question::slow_links(&self.setup, Some(self.setup.within));
        slow.or_else(|| self.lasting.too_short(self.lasts?, "everyone follows one leader again"))
    }
    fn may_get_stuck(&self) -> bool {
        question::slow_links(&self.setup, Some(self.setup.within)).is_some()
    }
    fn ends_ns(&self) -> u64 {
        self.lasts.map_or(u64::MAX, |time| time.as_nanos() as u64)
    }
    fn own_options(&self, net: bool) -> String {
        let lasts = self.lasts.filter(|_| !net || self.lasting.time().is_some());
        let lasts = lasts.map(|it| format!(" --for {}", show_duration_ns(it.as_nanos() as u64)));
        let mut text = format!("--initiators {}", self.who());
        for change in &self.cables {
            let _ = write!(text, " --{} {}", change.option(), change.typed());
        }
        text + &lasts.unwrap_or_default()
    }
    fn page(&self) -> String {
        let (nodes, asked, environment) =
            (self.setup.group.size(), &self.asked, self.environment.page());
        format!("{}: --nodes {nodes} --initiators {asked} {environment}", self.title())
    }
    fn own_head(&self, _net: bool) -> Vec<(&'static str, Value)> {
        let is_long = self.initiators.len() > MOST_NODES as usize;
        let who = if is_long { json!(self.who()) } else { json!(self.initiators) };
        let lasts = self.lasts.map(|it| show_duration_ns(it.as_nanos() as u64));
        let mut head = vec![("initiators", who), ("for", json!(lasts))];
        for (option, plugs) in [("unplug", false), ("plug", true)] {
            let changes = self.cables.iter().filter(|it| it.plugs == plugs);
            let typed: Vec<String> = changes.map(|it| it.typed()).collect();
            if !typed.is_empty() {
                head.push((option, json!(typed)));
            }
        }
        head
    }
}

/// When a run ends in which messages go on for ever: when all must have settled that was ever to be
/// settled, or later.
pub(super) fn lasts(
    card: &Card,
    setup: &Setup,
    environment: &Environment,
    args: &RunArgs,
) -> Result<Option<Duration>, Failure> {
    let asked = args.lasting.time();
    let Some(settles) = card.terms.settles else {
        return match asked {
            None => Ok(None),
            Some(_) => Err(Failure::usage(format!(
                "{} comes to rest by itself: leave out --for",
                card.name
            ))),
        };
    };
    let last_ns = environment.faults.as_ref().and_then(Faults::last_ns).unwrap_or(0);
    let settled = Duration::from_nanos(last_ns).saturating_add(settles(setup));
    let lasts = asked.map_or(settled, |asked| asked.max(settled));
    let beats = lasts.as_nanos() / setup.beat.as_nanos();
    if beats * u128::from(setup.group.size()) > MOST_HEARTBEATS {
        return Err(Failure::usage(format!(
            "{} would send more than {MOST_HEARTBEATS} heartbeats in {}: say a longer --beat, or \
             take fewer nodes",
            card.name,
            show_duration_ns(lasts.as_nanos() as u64)
        )));
    }
    Ok(Some(lasts))
}
