//! Elections: what their runs are runs of, and what is measured.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Order, Quantity, Span};
use vorrang_algorithms::election::card::{Card, DURATION, MESSAGES, Setting};
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, Election, Notice};
use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_check::Ask;
use vorrang_protocol::{Message, Needs, NodeId, NodeSet, Protocol, show_duration_ns};
use vorrang_sim::{Distribution, Fault, Faults, Orders, Workload};
use vorrang_trace::{Meter, Traffic};

use super::election_question;
use super::{Doing, Driven, Extremes, Made, Question, Role, Said, Scene};
use crate::between::Between;
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Measured, Reading};
use crate::network::Place;
use crate::network::once::{self, Until};
use crate::options::{OrderKind, RunArgs, list, nodes_of};
use crate::selection::Axis;

/// Where elections may take as many messages as the square of the nodes, that many are as many as
/// anybody waits for.
const MOST_NODES: u32 = 2_000;

/// More than anybody waits for.
const MOST_HEARTBEATS: u128 = 100_000_000;

/// Who calls for an election.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ElectionArgs {
    /// Nodes that call for an election, as in 0,2; also: lowest, highest (of those up), all
    /// [default: lowest; all, where all must]
    #[arg(long, value_name = "NODES")]
    pub(crate) initiators: Option<String>,
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    card: &'static Card,
    setup: Setup,
    /// Who calls, as it was asked for.
    asked: String,
    initiators: Vec<u32>,
    between: Between,
    /// When it ends, where messages go on for ever.
    lasts: Option<Duration>,
    /// Whether that was said.
    asked_to_last: bool,
    /// Whether it is over a real network.
    is_real: bool,
}

impl Scenario {
    /// What the theory needs to know: who calls and who is down, both from the start, on links that
    /// are as the algorithm assumes. None if more goes wrong, or what the algorithm cannot stand.
    fn setting(&self) -> Option<Setting> {
        let (assumes, between) = (self.card.assumes, &self.between);
        let dead = self.dead()?;
        let is_timely = !assumes.timely || self.is_real || between.is_within(&self.setup);
        let keeps_order = assumes.order == Order::Any || between.order == OrderKind::Fifo;
        let stands = (dead.is_empty() || self.card.terms.crashes) && !between.is_reliable;
        // Over a real network, whoever calls second may have heard of the first.
        let at_once = !self.is_real || self.initiators.len() == 1 || self.card.terms.everyone_calls;
        let believes = self.setup.within.as_nanos();
        let lockstep = match between.latency {
            Distribution::Constant(ns) => {
                ns > 0 && (!assumes.timely || u128::from(ns) == believes) && !self.is_real
            }
            Distribution::Uniform(..) | Distribution::Exponential(_) => false,
        };
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

    /// Who is down from the start, if nothing else goes wrong.
    fn dead(&self) -> Option<NodeSet> {
        let mut dead = NodeSet::EMPTY;
        let Some(faults) = &self.between.faults else { return Some(dead) };
        if !faults.is_scripted() {
            return None;
        }
        for fault in &faults.script {
            let (0, Fault::Crash(node)) = fault else { return None };
            dead.insert(*node);
        }
        Some(dead)
    }

    /// What the theory says of a quantity, where it says anything: of times, if every message takes
    /// T, and as the algorithm believes.
    fn theory(&self, of: Quantity) -> Option<Span> {
        let setting = self.setting().filter(|at| at.lockstep || !of.is_time)?;
        self.card.cost(of, &setting)
    }

    /// Who calls, as it would have to be typed. A million numbers are no line to read.
    fn who(&self) -> String {
        let is_all = self.initiators.len() == self.setup.group.size() as usize;
        if is_all { "all".to_owned() } else { list(&self.initiators) }
    }

    /// What a run came to, with times in a unit of so many nanoseconds.
    fn figures(&self, tally: &Tally, (unit, unit_ns): (&'static str, f64)) -> Vec<Figure> {
        let span_ns = tally.ended_ns.saturating_sub(tally.began_ns.unwrap_or(0));
        let by_kind = tally.traffic.by_kind();
        let is_receipt = |kind: &str| self.card.terms.receipts.contains(&kind);
        let receipts = by_kind.iter().filter(|it| is_receipt(it.0)).map(|it| it.1).sum();
        let messages = tally.traffic.messages() - receipts;
        vec![
            Figure::of("leader", tally.leader()).labelled("leader"),
            Figure::count(MESSAGES.key, MESSAGES.name, messages)
                .column("MESSAGES")
                .theory(self.theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(by_kind)),
            Figure::of("receipts", Reading::Count(receipts)),
            Figure::real(DURATION.key, (unit_ns > 0.0).then(|| span_ns as f64 / unit_ns))
                .labelled(DURATION.name)
                .unit(unit)
                .column("DURATION/T")
                .theory(self.theory(DURATION), None),
            Figure::count("rounds", "messages in a row", tally.rounds.into()).column("ROUNDS"),
            Figure::count("bytes", "bytes", tally.traffic.bytes()).column("BYTES"),
        ]
    }
}

impl Scene for Scenario {
    fn about(&self) -> About {
        self.card.about()
    }
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn between(&self) -> &Between {
        &self.between
    }
    fn total(&self) -> u64 {
        u64::from(self.setup.group.size())
    }
    fn title(&self) -> String {
        "election".to_owned()
    }
    fn ends_ns(&self) -> u64 {
        self.lasts.map_or(u64::MAX, |time| time.as_nanos() as u64)
    }
    fn own_options(&self, net: bool) -> String {
        let lasts = self.lasts.filter(|_| !net || self.asked_to_last);
        let lasts = lasts.map(|it| format!(" --for {}", show_duration_ns(it.as_nanos() as u64)));
        format!("--initiators {}{}", self.who(), lasts.unwrap_or_default())
    }
    fn page(&self) -> String {
        let (nodes, asked, between) = (self.setup.group.size(), &self.asked, self.between.page());
        format!("{}: --nodes {nodes} --initiators {asked} {between}", self.title())
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
        let is_long = self.initiators.len() > MOST_NODES as usize;
        let who = if is_long { json!(self.who()) } else { json!(self.initiators) };
        let lasts = self.lasts.map(|it| show_duration_ns(it.as_nanos() as u64));
        vec![("initiators", who), ("for", json!(lasts))]
    }
}

/// When a run ends in which messages go on for ever: when all must have settled that was ever to be
/// settled, or later.
fn lasts(
    card: &Card,
    setup: &Setup,
    between: &Between,
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
    let last_ns = between.faults.as_ref().and_then(Faults::last_ns).unwrap_or(0);
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

/// Some nodes call for an election when the run begins.
#[derive(Clone, Debug)]
pub(crate) struct Calls(Vec<NodeId>);

impl Workload<Command, Notice> for Calls {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally {
            traffic: Traffic::new(nodes, kinds),
            follows: vec![None; nodes as usize],
            began_ns: None,
            ended_ns: 0,
            depth: vec![0; nodes as usize],
            rounds: 0,
        }
    }
    fn on_start(&mut self, orders: &mut Orders<'_, Command>) {
        for &node in &self.0 {
            orders.command_in(0, node, Command::Elect);
        }
    }
}

/// Counts what an election takes.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    traffic: Traffic,
    /// Whom each follows; those that are down nobody.
    follows: Vec<Option<NodeId>>,
    began_ns: Option<u64>,
    ended_ns: u64,
    /// For each node, how many messages in a row led to what it knows.
    depth: Vec<u32>,
    rounds: u32,
}

impl Tally {
    /// Whom all follow: who of them is up if somebody is, and else one that has gone down.
    fn leader(&self) -> Reading {
        let mut leaders: Vec<NodeId> = self.follows.iter().copied().flatten().collect();
        let is_up = |leader: &NodeId| self.follows[leader.index()].is_some();
        if leaders.iter().any(is_up) {
            leaders.retain(is_up);
        }
        match leaders.first() {
            Some(&leader) if leaders.iter().all(|&other| other == leader) => {
                Reading::Count(leader.0.into())
            }
            Some(_) => Reading::Text("divided".to_owned()),
            None => Reading::Unknown,
        }
    }
}

impl Meter<Command, Notice> for Tally {
    /// How many messages in a row there were up to this one.
    type Tag = u32;
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, _: NodeId, Command::Elect: &Command) {
        self.began_ns.get_or_insert(at_ns);
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, Notice::Leader(leader): &Notice) {
        self.follows[at.index()] = Some(*leader);
        self.ended_ns = at_ns;
    }
    fn on_send<M: Message>(&mut self, from: NodeId, to: NodeId, message: &M) -> u32 {
        self.traffic.on_send(from, to, message);
        self.depth[from.index()] + 1
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, depth: u32) {
        self.traffic.on_receive(from, at);
        self.depth[at.index()] = self.depth[at.index()].max(depth);
        self.rounds = self.rounds.max(depth);
    }
    fn on_crash(&mut self, _: u64, at: NodeId) {
        self.follows[at.index()] = None;
    }
    fn progress(&self) -> u64 {
        self.follows.iter().filter(|leader| leader.is_some()).count() as u64
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

impl Driven for Election {
    fn extremes(card: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let (nodes, group) = (setup.group.size(), setup.group);
        let (setup, lockstep) = (setup.clone(), true);
        if card.terms.everyone_calls {
            let (initiators, dead) = (group.members().collect(), NodeSet::EMPTY);
            let shape = setup.topology.in_short();
            let here = Setting { setup, initiators, dead, lockstep };
            let mut gathers = here.clone();
            gathers.setup.gather = gathers.setup.within;
            return Ok(Extremes {
                common: format!("--nodes {nodes} --topology {shape}, ALL CALL"),
                settings: [("AS SET UP", here), ("IF NODES GATHER", gathers)],
            });
        }
        let dead: NodeSet =
            group.members().rev().take(usize::from(card.terms.crashes && nodes > 1)).collect();
        let (down, highest) = match dead.len() as u32 {
            0 => ("", nodes - 1),
            _ => (", THE HIGHEST DOWN", nodes - 2),
        };
        let calls = |id: u32| Setting {
            setup: setup.clone(),
            initiators: vec![NodeId(id)],
            dead: dead.clone(),
            lockstep,
        };
        let shape = setup.topology.in_short();
        let has_shape = card.takes.contains(&Parameter::Topology);
        let on = if has_shape { format!(" --topology {shape}") } else { String::new() };
        Ok(Extremes {
            common: format!("--nodes {nodes}{on}{down}"),
            settings: [("HIGHEST UP CALLS", calls(highest)), ("LOWEST CALLS", calls(0))],
        })
    }
    fn contrast(card: &'static Card) -> Axis {
        let all: &[&str] = &["highest", "lowest", "all"];
        ("initiators", if card.terms.everyone_calls { &["all"] } else { all })
    }

    type Scenario = Scenario;
    type Monitor = Leadership;
    type Workload = Calls;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let nodes = args.common.nodes;
        if nodes > MOST_NODES && card.terms.quadratic {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: an election may take as many messages as the \
                 square of that, so at most {MOST_NODES}",
                card.name
            )));
        }
        let (setup, between) = args.placed(&card.about())?;
        let crashed = |node: u32| {
            let script = between.faults.as_ref().map_or(&[][..], |faults| &faults.script);
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
            election_question::check_all_call(
                card,
                &initiators,
                (0..nodes).filter(|&it| !crashed(it)),
            )?;
        }
        let (asked, is_real) = (asked.to_owned(), args.common.is_real);
        let lasts = lasts(card, &setup, &between, args)?;
        let asked_to_last = args.lasting.time().is_some();
        Ok(Scenario { card, setup, asked, initiators, between, lasts, asked_to_last, is_real })
    }
    fn monitor(scenario: &Scenario) -> Leadership {
        scenario.card.watch(&scenario.setup, true)
    }
    fn workload(scenario: &Scenario) -> Calls {
        Calls(scenario.initiators.iter().copied().map(NodeId).collect())
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        scenario.figures(tally, (" T", scenario.between.latency.mean_ns()))
    }

    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator, Role::Leader];

    /// One calls, low or high, who must ask many or none; two call; all call.
    fn trials(card: &'static Card, nodes: u32) -> Vec<String> {
        if card.terms.everyone_calls {
            return vec!["--latency uniform:500us..1500us --initiators all".to_owned()];
        }
        let high = |by: u32| vec![nodes.saturating_sub(by)];
        let mut calls: Vec<Vec<u32>> = Vec::new();
        for mut some in [vec![0], vec![0, nodes / 2], high(2), high(1), (0..nodes).collect()] {
            some.dedup();
            if !calls.contains(&some) {
                calls.push(some);
            }
        }
        let line =
            |it: &Vec<u32>| format!("--latency uniform:500us..1500us --initiators {}", list(it));
        calls.iter().map(line).collect()
    }

    fn doing(said: Said<'_, Command, Notice>) -> Option<Doing> {
        Some(match said {
            Said::Command(Command::Elect) => Doing::Began,
            Said::Notice(&Notice::Leader(leader)) => Doing::Follows(leader),
        })
    }

    type Watch = Leadership;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        election_question::question(card, flaw.and_then(|name| card.flaw(name)), args)
    }

    fn staged(card: &'static Card, setup: &Setup, _: Option<&str>) -> Leadership {
        card.watch(setup, true)
    }
    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        vec![Ask::then_wait(Command::Elect)]
    }

    const COMMANDS: &'static [(&'static str, &'static str)] =
        &[("elect", "call for an election, as if there were no leader")];

    fn needs(card: &'static Card, _: &Setup) -> Needs {
        if card.terms.crashes { Needs::Nobody } else { Needs::AllBut(0) }
    }
    fn over_tcp<P>(
        scenario: &Scenario,
        made: &Made<P>,
        place: Place,
        trace: Option<&Path>,
    ) -> Result<Measured, Failure>
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let nodes = scenario.setup.group.size();
        let meter = Self::workload(scenario).meter(nodes, P::Message::KINDS);
        let figures = |tally: &Tally| scenario.figures(tally, (" us", 1_000.0));
        let calls: Vec<(NodeId, Command)> =
            scenario.initiators.iter().map(|&id| (NodeId(id), Command::Elect)).collect();
        let watched = (Self::monitor(scenario), meter);
        let until = match scenario.lasts {
            Some(lasts) if scenario.asked_to_last => Until::Over(lasts),
            Some(_) | None => Until::Told,
        };
        once::run(scenario, made, (&calls, until), watched, figures, (place, trace))
    }
}
