//! Waves: what their runs are runs of, what is measured, and what is asked of the checker.

use std::path::Path;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::setup::{Parameter, Setup, Unfit};
use vorrang_algorithms::topology::Topology;
use vorrang_algorithms::wave::card::{Card, DURATION, MESSAGES, Setting, TREE_DEPTH};
use vorrang_algorithms::wave::spec::Spanning;
use vorrang_algorithms::wave::{Command, Gathered, Notice, Wave};
use vorrang_check::{Ask, Plan};
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{Message, Needs, NodeId, Protocol};
use vorrang_sim::{Orders, Workload};
use vorrang_trace::{Meter, Traffic};

use super::remarks::{nodes_in_words, surroundings};
use super::{Doing, Driven, Extremes, Made, Question, Remarks, Role, Said, Scene};
use crate::between::Between;
use crate::commands::check::CheckArgs;
use crate::failure::Failure;
use crate::figures::{Figure, Measured, Reading};
use crate::network::Place;
use crate::network::once::{self, Until};
use crate::options::RunArgs;
use crate::selection::Axis;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    card: &'static Card,
    setup: Setup,
    /// The topology as it was asked for: without a seed, if that is the seed of the run.
    asked: Topology,
    monitor: Spanning,
    setting: Setting,
    between: Between,
}

impl Scenario {
    /// What the theory says of a quantity, where it says anything: nothing if anything goes wrong,
    /// and of times only if every message takes T.
    fn theory(&self, of: Quantity) -> Option<Span> {
        let latency = self.between.latency;
        let is_plain = latency.is_constant() && latency.mean_ns() > 0.0;
        let speaks = !self.between.is_altered() && (is_plain || !of.is_time);
        self.card.cost(of, &self.setting).filter(|_| speaks)
    }

    /// The same over a real network: nothing of times, since nobody knows how long a message takes.
    fn theory_over_tcp(&self, of: Quantity) -> Option<Span> {
        self.theory(of).filter(|_| !of.is_time)
    }

    /// What a run came to, with times in a unit of so many nanoseconds.
    fn figures(
        &self,
        tally: &Tally,
        (unit, unit_ns): (&'static str, f64),
        theory: impl Fn(Quantity) -> Option<Span>,
    ) -> Vec<Figure> {
        let span_ns =
            tally.began_ns.zip(tally.ended).map(|(from, (to, _))| to.saturating_sub(from) as f64);
        let gathered = |of: fn(Gathered) -> u64| {
            tally.ended.map_or(Reading::Unknown, |(_, it)| Reading::Count(of(it)))
        };
        let depth = u64::from(tally.depth.iter().copied().max().unwrap_or(0));
        vec![
            Figure::of("count", gathered(|it| it.count)).labelled("nodes counted"),
            Figure::of("sum", gathered(|it| it.sum)).labelled("sum of their numbers"),
            Figure::count(MESSAGES.key, MESSAGES.name, tally.traffic.messages())
                .column("MESSAGES")
                .theory(theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(tally.traffic.by_kind())),
            Figure::real(DURATION.key, span_ns.filter(|_| unit_ns > 0.0).map(|it| it / unit_ns))
                .labelled(DURATION.name)
                .unit(unit)
                .column("DURATION/T")
                .theory(theory(DURATION), None),
            Figure::count(TREE_DEPTH.key, TREE_DEPTH.name, depth)
                .column("DEPTH")
                .theory(theory(TREE_DEPTH), None),
            Figure::count("edges", "links", self.setting.edges).column("LINKS"),
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
        "wave".to_owned()
    }
    /// There are none: who starts and on what is part of the set-up.
    fn own_options(&self, _net: bool) -> String {
        String::new()
    }
    fn page(&self) -> String {
        let asked = Setup { topology: self.asked.clone(), ..self.setup.clone() };
        format!("{}: {} {}", self.title(), asked.text(self.card.takes), self.between.page())
    }
    fn own_head(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("topology", json!(self.asked.to_string())),
            ("initiator", json!(self.setup.initiator)),
        ]
    }
}

/// The initiator starts when the run begins.
#[derive(Clone, Debug)]
pub(crate) struct Once(NodeId);

impl Workload<Command, Notice> for Once {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally {
            traffic: Traffic::new(nodes, kinds),
            depth: vec![0; nodes as usize],
            taking_part: 0,
            began_ns: None,
            ended: None,
        }
    }
    fn on_start(&mut self, orders: &mut Orders<'_, Command>) {
        orders.command_in(0, self.0, Command::Start);
    }
}

/// Counts what a wave takes.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    traffic: Traffic,
    /// How far each is from the initiator, in the tree.
    depth: Vec<u32>,
    taking_part: u64,
    began_ns: Option<u64>,
    /// When the initiator was told, and what.
    ended: Option<(u64, Gathered)>,
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, _: NodeId, Command::Start: &Command) {
        self.began_ns.get_or_insert(at_ns);
        self.taking_part += 1;
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match *notice {
            Notice::Joined { parent } => {
                self.depth[at.index()] = self.depth[parent.index()].saturating_add(1);
                self.taking_part += 1;
            }
            Notice::Done(gathered) => self.ended = Some((at_ns, gathered)),
        }
    }
    fn on_send<M: Message>(&mut self, from: NodeId, to: NodeId, message: &M) {
        self.traffic.on_send(from, to, message);
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, (): ()) {
        self.traffic.on_receive(from, at);
    }
    fn progress(&self) -> u64 {
        self.taking_part
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

impl Driven for Wave {
    fn extremes(_: &'static Card, setup: &Setup) -> Result<Extremes<Self>, Unfit> {
        let (nodes, from) = (setup.group.size(), setup.initiator);
        let topology = setup.topology.in_short();
        let here = Setting::new(&setup.topology.graph(setup.group)?, from);
        Ok(Extremes {
            common: format!("--nodes {nodes} --topology {topology} --initiator {from}"),
            settings: [("AS SET UP", here), ("IF COMPLETE", Setting::complete(nodes))],
        })
    }
    fn contrast(_: &'static Card) -> Axis {
        ("topology", &["ring", "tree:2", "grid", "random:0.2", "complete"])
    }

    type Scenario = Scenario;
    type Monitor = Spanning;
    type Workload = Once;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let asked = args.setup.setup(&card.about(), args.common.nodes)?.topology;
        let (setup, between) = args.placed(&card.about())?;
        let graph = setup.topology.graph(setup.group).map_err(|unfit| Failure::Usage(unfit.0))?;
        let setting = Setting::new(&graph, setup.initiator);
        Ok(Scenario { card, setup, asked, monitor: Spanning::new(graph), setting, between })
    }
    fn monitor(scenario: &Scenario) -> Spanning {
        scenario.monitor.clone()
    }
    fn workload(scenario: &Scenario) -> Once {
        Once(scenario.setup.initiator)
    }
    fn figures(scenario: &Scenario, tally: &Tally) -> Vec<Figure> {
        let unit = (" T", scenario.between.latency.mean_ns());
        scenario.figures(tally, unit, |of| scenario.theory(of))
    }

    const ROLES: &'static [Role] = &[Role::Other, Role::Initiator];

    fn trials(_: &'static Card, _: u32) -> Vec<String> {
        ["uniform:500us..1500us", "exp:1ms"].map(|it| format!("--latency {it}")).to_vec()
    }

    fn doing(said: Said<'_, Command, Notice>) -> Option<Doing> {
        match said {
            Said::Command(Command::Start) => Some(Doing::Began),
            Said::Notice(Notice::Joined { .. } | Notice::Done(_)) => None,
        }
    }

    fn look(_: NodeId, said: Said<'_, Command, Notice>) -> Look {
        match said {
            Said::Command(Command::Start) => Look::mark(Mark::Begins("begins")),
            Said::Notice(Notice::Joined { parent }) => {
                let parent = Some(parent.index());
                Look { parent, ..Look::mark(Mark::Diamond("joins, below its parent")) }
            }
            Said::Notice(Notice::Done(_)) => Look::mark(Mark::Star("is done")),
        }
    }

    type Watch = Spanning;

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        let shown = flaw.and_then(|name| card.flaw(name)).map(|flaw| flaw.shown_by);
        let nodes = args.nodes.unwrap_or_else(|| shown.map_or(3, |shown| shown.nodes));
        let mut setup = args.setup.setup(&card.about(), nodes)?;
        if let Some(shown) = shown.filter(|_| !args.setup.says(Parameter::Topology)) {
            setup.topology = shown.topology.clone();
        }
        let order = args.order(card.assumes.order);
        let turns = setup.group.members().map(|id| Self::turn(card, &setup, id));
        let (about, faults) = (card.about(), args.faults((0, 0)));
        let links = args.links(&about, &setup, order);
        let mut remarks = Remarks::default();
        if nodes == 1 {
            remarks.warnings.push("a single node has no other to reach".to_owned());
        }
        if let (Some(flaw), Some(shown)) = (flaw, shown) {
            let takes = format!("--nodes {} --topology {}", shown.nodes, shown.topology);
            let falls_short = nodes < shown.nodes || setup.topology != *shown.topology;
            remarks.of_flaw(flaw, &takes, falls_short);
        }
        let around = surroundings(&about, &setup, &links, faults);
        Ok(Question {
            plan: Plan::PerNode(turns.collect()),
            monitor: Spanning::of(&setup).map_err(|unfit| Failure::Usage(unfit.0))?,
            links,
            faults,
            fair: args.demand.fair,
            properties: ["tree", "decision", "dependence", "aggregate", "termination"]
                .map(str::to_owned)
                .to_vec(),
            covers: format!("{}, {around}", nodes_in_words(nodes as usize)),
            remarks,
            line: args.line(&about, &setup, order),
            setup,
        })
    }

    fn staged(_: &'static Card, setup: &Setup, _: Option<&str>) -> Spanning {
        Spanning::of(setup).expect("the nodes were made on this graph")
    }
    fn turn(_: &'static Card, setup: &Setup, at: NodeId) -> Vec<Ask<Command>> {
        let starts = at == setup.initiator;
        starts.then(|| Ask::then_wait(Command::Start)).into_iter().collect()
    }
    fn turns_left(moves: &[String], wanted: u32) -> u32 {
        let has_started = moves.iter().any(|line| line.starts_with("start "));
        wanted.min(u32::from(!has_started))
    }

    const COMMANDS: &'static [(&'static str, &'static str)] =
        &[("start", "send a wave through the graph; only at the initiator, and once")];

    /// An echo that does not come back from one node does not come back.
    fn needs(_: &'static Card, _: &Setup) -> Needs {
        Needs::AllBut(0)
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
        let figures = |tally: &Tally| {
            scenario.figures(tally, (" us", 1_000.0), |of| scenario.theory_over_tcp(of))
        };
        let start = [(scenario.setup.initiator, Command::Start)];
        let watched = (Self::monitor(scenario), meter);
        once::run(scenario, made, (&start, Until::Quiet), watched, figures, (place, trace))
    }
}
