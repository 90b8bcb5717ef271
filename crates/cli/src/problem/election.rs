//! Elections: what their runs are runs of, what is measured, and what is asked of the checker.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Mistake, Setup, Span};
use vorrang_algorithms::election::card::{Card, Flaw, Setting};
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, Notice};
use vorrang_check::{Ask, Links, Plan};
use vorrang_protocol::{Group, Message, NodeId};
use vorrang_sim::{Fault, Faults, Network, Orders, Workload};
use vorrang_trace::{Meter, Traffic};

use super::mutex::list;
use super::{Problem, Question, Scene};
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Reading, span};
use crate::options::{Between, OrderKind, RunArgs};

/// The class.
pub(crate) enum Election {}

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
    /// What the theory needs to know: one initiator, and none but the highest dead, from the start.
    fn setting(&self) -> Option<Setting> {
        let nodes = self.setup.group.size();
        let &[initiator] = &self.initiators[..] else { return None };
        let script = self.between.faults.as_ref().map_or(&[][..], |faults| &faults.script);
        let mut dead: Vec<u32> = Vec::new();
        for &(at_ns, fault) in script {
            match fault {
                Fault::Crash(node) if at_ns == 0 => dead.push(node.0),
                Fault::Crash(_) | Fault::Restart(_) => return None,
            }
        }
        dead.sort_unstable();
        let is_top = dead.iter().rev().zip((0..nodes).rev()).all(|(&dead, top)| dead == top);
        let is_plain = self.between.latency.is_constant() && is_top;
        is_plain.then_some(Setting { nodes, initiator, dead: dead.len() as u32 })
    }
}

impl Scene for Scenario {
    fn setup(&self) -> Setup {
        self.setup
    }
    fn network(&self) -> Network {
        self.between.network()
    }
    fn faults(&self) -> Option<Faults> {
        self.between.faults.clone()
    }
    fn seed(&self) -> u64 {
        self.between.seed
    }
    fn total(&self) -> u64 {
        u64::from(self.setup.group.size())
    }
    fn options(&self) -> String {
        format!(
            "--nodes {} --initiators {} --seed {} {}",
            self.setup.group.size(),
            list(&self.initiators),
            self.between.seed,
            self.between.options()
        )
    }
    fn page(&self) -> String {
        let (nodes, initiators) = (self.setup.group.size(), list(&self.initiators));
        let latency = self.between.latency;
        format!("election: --nodes {nodes} --initiators {initiators} --latency {latency}")
    }
    fn head(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("nodes", json!(self.setup.group.size())),
            ("seed", json!(self.between.seed)),
            ("initiators", json!(list(&self.initiators))),
            ("latency", json!(self.between.latency.to_string())),
            ("time_unit", json!("T")),
        ]
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

impl Problem for Election {
    type Command = Command;
    type Notice = Notice;
    type Card = Card;

    fn about(card: &'static Card) -> About {
        card.about()
    }
    fn mistakes(card: &'static Card) -> Vec<Mistake> {
        card.flaws.iter().map(Flaw::mistake).collect()
    }
    fn costs(card: &'static Card, nodes: u32) -> Vec<Vec<String>> {
        let dead = u32::from(nodes > 1);
        let best = Setting { nodes, initiator: nodes - 1 - dead, dead };
        let worst = Setting { initiator: 0, ..best };
        let row = |what: &str, unit: &str, cost: fn(&Setting) -> Span| {
            vec![what.to_owned(), span(cost(&best)) + unit, span(cost(&worst)) + unit]
        };
        let header = format!("COSTS WITH N = {nodes}, THE HIGHEST DOWN");
        vec![
            vec![header, "HIGHEST UP CALLS".to_owned(), "LOWEST CALLS".to_owned()],
            row("messages", "", card.terms.theory.messages),
            row("duration", " T", card.terms.theory.duration),
        ]
    }
    const CONTRAST: (&'static str, &'static [&'static str]) =
        ("initiators", &["highest", "lowest"]);

    type Scenario = Scenario;
    type Monitor = Leadership;
    type Workload = Calls;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let nodes = args.common.nodes;
        let between = args.between(&card.about())?;
        let crashed = |node: u32| {
            let script = between.faults.as_ref().map_or(&[][..], |faults| &faults.script);
            script.contains(&(0, Fault::Crash(NodeId(node))))
        };
        let mut up = (0..nodes).filter(|&node| !crashed(node));
        let initiators = match args.election.initiators.as_str() {
            "lowest" => up.next().into_iter().collect(),
            "highest" => up.last().into_iter().collect(),
            text => numbers(text, nodes)?,
        };
        let within = Duration::from_nanos(between.within_ns);
        let setup = Setup { within, ..Setup::new(Group::of(nodes)) };
        Ok(Scenario { card, setup, initiators, between })
    }
    fn monitor(scenario: &Scenario) -> Leadership {
        Leadership::new(scenario.setup.group)
    }
    fn workload(scenario: &Scenario) -> Calls {
        Calls(scenario.initiators.iter().copied().map(NodeId).collect())
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        let setting = scenario.setting();
        let theory = &scenario.card.terms.theory;
        let at = |cost: fn(&Setting) -> Span| setting.as_ref().map(cost);
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
                .theory(at(theory.messages)),
            Figure::of("messages_by_kind", Reading::Counts(tally.traffic.by_kind())),
            Figure::real("duration", (unit_ns > 0.0).then(|| span_ns as f64 / unit_ns))
                .labelled("duration")
                .unit(" T")
                .column("DURATION/T")
                .theory(at(theory.duration)),
            Figure::count("rounds", "messages in a row", tally.rounds.into()).column("ROUNDS"),
            Figure::count("bytes", "bytes", tally.traffic.bytes()).column("BYTES"),
        ]
    }

    type Watch = Leadership;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        let flaw = flaw.and_then(|name| card.flaw(name));
        let nodes = args.nodes.unwrap_or_else(|| flaw.map_or(3, |flaw| flaw.nodes));
        let initiators = match (args.election.initiators.as_deref(), flaw) {
            (Some(text), _) => numbers(text, nodes)?,
            (None, Some(flaw)) => flaw.initiators.to_vec(),
            (None, None) => vec![0],
        };
        let mut faults = args.faults();
        if args.crashes().is_none() {
            faults.crashes = flaw.map_or(1, |flaw| flaw.crashes);
        }
        let order = args.order.unwrap_or(OrderKind::from(card.order));
        let setup = Setup::new(Group::of(nodes));
        let within = (!args.asynchronous).then_some(setup.within);
        let mut line = args.line(&card.about(), nodes, order);
        let _ = write!(line, " --initiators {}", list(&initiators));
        if args.crashes().is_none() {
            let _ = write!(line, " --crashes {}", faults.crashes);
        }
        let asks = |id: NodeId| initiators.contains(&id.0).then(|| Ask::then_wait(Command::Elect));
        let lists = setup.group.members().map(|id| asks(id).into_iter().collect());
        Ok(Question {
            setup,
            plan: Plan::PerNode(lists.collect()),
            monitor: Leadership::new(setup.group),
            links: Links { order: order.into(), within },
            faults,
            properties: vec!["legitimacy", "termination", "agreement"],
            line,
        })
    }
}

/// Who calls for an election in the checker.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ElectionCheckArgs {
    /// Nodes that call for an election, as in 0,2 [default: 0]
    #[arg(long, value_name = "NODES")]
    initiators: Option<String>,
}

fn numbers(text: &str, nodes: u32) -> Result<Vec<u32>, Failure> {
    let number = |part: &str| match part.trim().parse::<u32>() {
        Ok(node) if node < nodes => Ok(node),
        Ok(_) | Err(_) => Err(Failure::usage(format!(
            "--initiators: '{part}' is not a node: the last node is {}",
            nodes - 1
        ))),
    };
    text.split(',').map(number).collect()
}
