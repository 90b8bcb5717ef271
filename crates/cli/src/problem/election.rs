//! Elections: what their runs are runs of, what is measured, and what is asked of the checker.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::election::card::{Card, DURATION, MESSAGES, Setting};
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, Election, Notice};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_check::{Ask, Plan};
use vorrang_protocol::{Message, NodeId};
use vorrang_sim::{Distribution, Fault, Faults, Orders, Workload};
use vorrang_trace::{Meter, Traffic};

use super::remarks::{nodes_in_words, surroundings};
use super::{Doing, Driven, Extremes, Question, Remarks, Role, Said, Scene};
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Reading};
use crate::options::{Between, RunArgs, list, nodes_of};

/// The messages of an election between that many are as many as anybody waits for.
const MOST_NODES: u32 = 2_000;

/// Who calls for an election.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ElectionArgs {
    /// Nodes that call for an election, as in 0,2; also: lowest, highest (of those up)
    #[arg(long, value_name = "NODES", default_value = "lowest")]
    pub(crate) initiators: String,
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    card: &'static Card,
    setup: Setup,
    initiators: Vec<u32>,
    between: Between,
}

impl Scenario {
    /// What the theory needs to know: one initiator, and none but the highest dead, from the start,
    /// on links that are as the algorithm assumes.
    fn setting(&self) -> Option<Setting> {
        let nodes = self.setup.group.size();
        let &[initiator] = &self.initiators[..] else { return None };
        let mut dead: Vec<u32> = Vec::new();
        if let Some(faults) = &self.between.faults {
            let only_script = Faults::default().late_ns(faults.late_ns);
            if (faults.clone().script(Vec::new())) != only_script {
                return None;
            }
            for fault in &faults.script {
                let (0, Fault::Crash(node)) = fault else { return None };
                dead.push(node.0);
            }
        }
        dead.sort_unstable();
        dead.dedup();
        let is_top = dead.iter().rev().zip((0..nodes).rev()).all(|(&dead, top)| dead == top);
        let dead = dead.len() as u32;
        let is_timely = self.between.is_within(&self.setup);
        let is_up = initiator < nodes - dead;
        (is_top && is_up && is_timely && !self.between.is_reliable).then_some(Setting {
            nodes,
            initiator,
            dead,
        })
    }

    /// What the theory says of a quantity, where it says anything: of times, if every message takes
    /// T, and as the algorithm believes.
    fn theory(&self, of: Quantity) -> Option<Span> {
        let latency = self.between.latency;
        let believes = self.setup.within.as_nanos();
        let is_plain = match latency {
            Distribution::Constant(ns) => u128::from(ns) == believes,
            Distribution::Uniform(..) | Distribution::Exponential(_) => false,
        };
        // If the highest is up, who asks it before it is heard depends on latencies.
        let counts = |at: &Setting| !of.is_time && at.dead > 0;
        let setting = self.setting().filter(|at| is_plain || counts(at))?;
        self.card.cost(of, &setting)
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
    fn own_options(&self, _net: bool) -> String {
        format!("--initiators {}", list(&self.initiators))
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
        vec![("initiators", json!(self.initiators))]
    }
}

/// Some nodes call for an election when the run begins.
#[derive(Clone, Debug)]
pub(crate) struct Calls(Vec<NodeId>);

impl Workload<Command, Notice> for Calls {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally {
            traffic: Traffic::new(nodes, kinds),
            leader: vec![None; nodes as usize],
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
    leader: Vec<Option<NodeId>>,
    began_ns: Option<u64>,
    ended_ns: u64,
    /// For each node, how many messages in a row led to what it knows.
    depth: Vec<u32>,
    rounds: u32,
}

impl Meter<Command, Notice> for Tally {
    /// How many messages in a row there were up to this one.
    type Tag = u32;
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, _: NodeId, Command::Elect: &Command) {
        self.began_ns.get_or_insert(at_ns);
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, Notice::Leader(leader): &Notice) {
        self.leader[at.index()] = Some(*leader);
        self.ended_ns = at_ns;
    }
    fn on_send<M: Message>(&mut self, from: NodeId, to: NodeId, message: &M) -> u32 {
        self.traffic.on_send(from, to, message);
        self.depth[from.index()] + 1
    }
    fn on_receive(&mut self, from: NodeId, at: NodeId, depth: u32) {
        self.traffic.on_receive(from, at);
        self.depth[at.index()] = self.depth[at.index()].max(depth);
        self.rounds = self.rounds.max(depth);
    }
    fn on_crash(&mut self, _: u64, at: NodeId) {
        self.leader[at.index()] = None;
    }
    fn progress(&self) -> u64 {
        self.leader.iter().filter(|leader| leader.is_some()).count() as u64
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

impl Driven for Election {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let nodes = setup.group.size();
        let dead = u32::from(nodes > 1);
        let best = Setting { nodes, initiator: nodes - 1 - dead, dead };
        Ok(Extremes {
            common: format!("--nodes {nodes}, THE HIGHEST DOWN"),
            settings: [
                ("HIGHEST UP CALLS", best),
                ("LOWEST CALLS", Setting { initiator: 0, ..best }),
            ],
        })
    }
    const CONTRAST: (&'static str, &'static [&'static str]) =
        ("initiators", &["highest", "lowest"]);

    type Scenario = Scenario;
    type Monitor = Leadership;
    type Workload = Calls;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let nodes = args.common.nodes;
        if nodes > MOST_NODES {
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
        let initiators = match args.election.initiators.as_str() {
            "lowest" => up.next().into_iter().collect(),
            "highest" => up.next_back().into_iter().collect(),
            text => nodes_of("--initiators", text, nodes)?,
        };
        if initiators.is_empty() {
            return Err(Failure::usage("--crash: with all nodes down nobody can call an election"));
        }
        if let Some(node) = initiators.iter().find(|&&node| crashed(node)) {
            return Err(Failure::usage(format!(
                "--initiators: node {node} cannot call, it is down from the start"
            )));
        }
        Ok(Scenario { card, setup, initiators, between })
    }
    fn monitor(scenario: &Scenario) -> Leadership {
        Leadership::new(scenario.setup.group)
    }
    fn workload(scenario: &Scenario) -> Calls {
        Calls(scenario.initiators.iter().copied().map(NodeId).collect())
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        let leaders: Vec<NodeId> = tally.leader.iter().copied().flatten().collect();
        let leader = match leaders.first() {
            Some(&leader) if leaders.iter().all(|&other| other == leader) => {
                Reading::Count(leader.0.into())
            }
            Some(_) => Reading::Text("divided".to_owned()),
            None => Reading::Unknown,
        };
        let unit_ns = scenario.between.latency.mean_ns();
        let span_ns = tally.ended_ns.saturating_sub(tally.began_ns.unwrap_or(0));
        let messages = tally.traffic.messages();
        vec![
            Figure::of("leader", leader).labelled("leader"),
            Figure::count("messages", "messages", messages)
                .column("MESSAGES")
                .theory(scenario.theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(tally.traffic.by_kind())),
            Figure::real("duration", (unit_ns > 0.0).then(|| span_ns as f64 / unit_ns))
                .labelled("duration")
                .unit(" T")
                .column("DURATION/T")
                .theory(scenario.theory(DURATION), None),
            Figure::count("rounds", "messages in a row", tally.rounds.into()).column("ROUNDS"),
            Figure::count("bytes", "bytes", tally.traffic.bytes()).column("BYTES"),
        ]
    }

    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator, Role::Leader];

    /// One calls, low or high, who must ask many or none; two call; all call.
    fn trials(_: &'static Card, nodes: u32) -> Vec<String> {
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
        let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
        let nodes = args.nodes.unwrap_or_else(|| shown.map_or(3, |shown| shown.nodes));
        let initiators = match (args.election.initiators.as_deref(), shown) {
            (Some(text), _) => nodes_of("--initiators", text, nodes)?,
            (None, shown) => {
                // In a smaller group than the one that shows the flaw, some may not be there.
                let calls = shown.map_or(&[0][..], |shown| shown.initiators);
                let there: Vec<u32> = calls.iter().copied().filter(|&it| it < nodes).collect();
                if there.is_empty() { vec![0] } else { there }
            }
        };
        let crashes = shown.map_or(1, |shown| shown.crashes);
        let faults = args.faults((crashes, 0));
        let order = args.order(card.assumes.order);
        let setup = args.setup.setup(&card.about(), nodes)?;
        let about = card.about();
        let links = args.links(&about, &setup, order);
        let mut line = args.line(&about, &setup, order);
        let _ = write!(line, " --initiators {}", list(&initiators));
        if args.crashes().is_none() {
            let _ = write!(line, " --crashes {crashes}");
        }
        let asks = |id: NodeId| initiators.contains(&id.0).then(|| Ask::then_wait(Command::Elect));
        let lists = setup.group.members().map(|id| asks(id).into_iter().collect());
        let (plan, monitor) = (Plan::PerNode(lists.collect()), Leadership::new(setup.group));
        let mut remarks = Remarks::default();
        remarks.of_time(&about, &setup, &links);
        if nodes == 1 {
            remarks.warnings.push("a single node has nobody to agree with".to_owned());
        }
        if let (Some(flaw), Some(shown)) = (flaw, shown) {
            let is_missing = |id: &u32| !initiators.contains(id);
            let falls_short = nodes < shown.nodes
                || faults.crashes < shown.crashes
                || shown.initiators.iter().any(is_missing);
            let takes = format!(
                "--nodes {} --initiators {} --crashes {}",
                shown.nodes,
                list(shown.initiators),
                shown.crashes
            );
            remarks.of_flaw(flaw, &takes, falls_short);
        }
        let covers = covers(nodes, &initiators)
            + &format!(", {}", surroundings(&about, &setup, &links, faults));
        Ok(Question {
            setup,
            plan,
            monitor,
            links,
            faults,
            properties: ["legitimacy", "termination", "agreement"].map(str::to_owned).to_vec(),
            covers,
            remarks,
            line,
        })
    }

    fn staged(_: &'static Card, setup: &Setup, _: Option<&str>) -> Leadership {
        Leadership::new(setup.group)
    }
    fn turn(_: &'static Card, _: &Setup, _: NodeId) -> Vec<Ask<Command>> {
        vec![Ask::then_wait(Command::Elect)]
    }

    const COMMANDS: &'static [(&'static str, &'static str)] =
        &[("elect", "call for an election, believing that nobody leads")];
}

/// The nodes and who calls, as in `3 nodes, node 0 calls`.
fn covers(nodes: u32, initiators: &[u32]) -> String {
    let who = match initiators {
        [one] => format!("node {one} calls"),
        many => format!("nodes {} call", list(many)),
    };
    format!("{}, {who}", nodes_in_words(nodes as usize))
}

/// Who calls for an election in the checker.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ElectionCheckArgs {
    /// Nodes that call for an election, as in 0,2 [default: 0]
    #[arg(long, value_name = "NODES")]
    initiators: Option<String>,
}
