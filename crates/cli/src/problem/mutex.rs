//! Mutual exclusion: what its runs are runs of, what is measured, and what is asked of the checker.

use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Mistake, Setup};
use vorrang_algorithms::mutex::card::{self, Card, Flaw, Setting, Theory};
use vorrang_algorithms::mutex::spec::{Admission, BoundedBypass, Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::registry::{Node, Recipe};
use vorrang_check::{Links, Plan};
use vorrang_protocol::{Group, NodeId, Protocol};
use vorrang_sim::{Distribution, Faults, Load, Network, Turns};
use vorrang_trace::Summary;

use super::{Future, Problem, Question, Scene};
use crate::commands::check::{CheckArgs, one_a_node};
use crate::failure::Failure;
use crate::figures::{Figure, Measured, Reading, span};
use crate::network::worker::Work;
use crate::network::{self, Place};
use crate::options::{Between, OrderKind, RunArgs, name};

/// The class.
pub(crate) enum Mutex {}

/// How many messages an entry may take. Nodes that talk to all others also remember something of
/// each, so that memory grows alike.
const MOST_MESSAGES: f64 = 20_000.0;

/// What the applications of a lock do.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MutexArgs {
    /// How many entries in all; then no new request is made and the run drains
    #[arg(long, short, default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) entries: u64,
    /// How busy the nodes are
    #[arg(long, short, value_enum, value_delimiter = ',')]
    pub(crate) load: Vec<LoadKind>,
    /// Under heavy load: how long a node waits after leaving before it asks again
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub(crate) think: Distribution,
    /// How long a node stays inside, E
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub(crate) hold: Distribution,
    /// Only the first so many nodes ever ask [default: all but those that only serve]
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) hot: Option<u32>,
    /// How many may be inside together, for k-exclusion
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) k: u32,
}

/// How busy the nodes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LoadKind {
    /// Every node asks again when it has left: saturation, or less with --think
    Heavy,
    /// One request at a time, from a node drawn at random
    Light,
    /// All nodes ask at once; when all have been served, again
    Burst,
}

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    pub(crate) entries: u64,
    pub(crate) load: LoadKind,
    pub(crate) think: Distribution,
    pub(crate) hold: Distribution,
    pub(crate) hot: Option<u32>,
    pub(crate) between: Between,
}

impl Scenario {
    /// How many nodes, the first ones, ever ask.
    pub(crate) fn contenders(&self) -> u32 {
        self.hot.unwrap_or_else(|| self.card.contenders(self.nodes()))
    }

    /// N.
    pub(crate) const fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// What the theory needs to know; none where it has nothing to say of times, because latencies
    /// or stays vary or the load is neither of its two ends.
    pub(crate) fn setting(&self) -> Option<Setting> {
        let load = match self.load {
            LoadKind::Light => card::Load::Light,
            LoadKind::Heavy if self.think == Distribution::Constant(0) => card::Load::Heavy,
            LoadKind::Heavy | LoadKind::Burst => return None,
        };
        let latency = self.between.latency;
        let is_plain = latency.is_constant()
            && self.hold.is_constant()
            && latency.mean_ns() > 0.0
            && self.between.faults.is_none();
        is_plain.then(|| Setting {
            nodes: self.nodes(),
            contenders: self.contenders(),
            k: self.setup.k,
            load,
            hold: self.hold.mean_ns() / latency.mean_ns(),
        })
    }

    /// The options that do not speak of the network.
    pub(crate) fn options_of_any_network(&self) -> String {
        let mut text = format!("{} --seed {}", self.seedless(), self.between.seed);
        if self.think != Distribution::Constant(0) {
            let _ = write!(text, " --think {}", self.think);
        }
        if let Some(k) = asked_k(self.card, self.setup) {
            let _ = write!(text, " --k {k}");
        }
        if let Some(hot) = self.hot {
            let _ = write!(text, " --hot {hot}");
        }
        text
    }

    fn seedless(&self) -> String {
        format!(
            "--nodes {} --entries {} --load {} --hold {}",
            self.nodes(),
            self.entries,
            name(&self.load),
            self.hold,
        )
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
        self.entries
    }
    fn options(&self) -> String {
        format!("{} {}", self.options_of_any_network(), self.between.options())
    }
    fn page(&self) -> String {
        format!("{} load: {} --latency {}", name(&self.load), self.seedless(), self.between.latency)
    }
    fn head(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("nodes", json!(self.nodes())),
            ("seed", json!(self.between.seed)),
            ("load", json!(name(&self.load))),
            ("think", json!(self.think.to_string())),
            ("hold", json!(self.hold.to_string())),
            ("latency", json!(self.between.latency.to_string())),
            ("order", json!(name(&self.between.order))),
            ("contenders", json!(self.contenders())),
            ("k", json!(asked_k(self.card, self.setup))),
            ("time_unit", json!("T")),
        ]
    }
}

/// How many may be inside together, if the algorithm asks.
pub(crate) fn asked_k(card: &Card, setup: Setup) -> Option<u32> {
    match (card.terms.admission)(&setup) {
        Admission::UpTo(k) => Some(k),
        Admission::One | Admission::Compatible => None,
    }
}

/// The figures of a run, with times in a unit of so many nanoseconds.
pub(crate) fn figures(
    summary: &Summary,
    unit: (&'static str, f64),
    per: (&'static str, f64),
    at: Option<(&Theory, &Setting)>,
) -> Vec<Figure> {
    let (unit, unit_ns) = unit;
    let time = |ns: Option<f64>| ns.filter(|_| unit_ns > 0.0).map(|ns| ns / unit_ns);
    let quantile = |ns: Option<u64>| time(ns.map(|ns| ns as f64));
    let busiest = (summary.entries > 0).then(|| summary.load_max as f64 / summary.entries as f64);
    let overtakes = summary.overtakes.map_or(Reading::Unknown, Reading::Count);
    vec![
        Figure::count("entries", "entries", summary.entries),
        Figure::count("messages", "messages", summary.messages),
        Figure::of("messages_by_kind", Reading::Counts(summary.by_kind.clone())),
        Figure::real("messages_per_entry", summary.messages_per_entry())
            .labelled("messages per entry")
            .column("MESSAGES")
            .theory(at.map(|(theory, at)| (theory.messages)(at))),
        Figure::real("sync_delay_mean", time(summary.sync_delay_mean_ns))
            .labelled("synchronisation delay")
            .unit(unit)
            .column("DELAY/T")
            .theory(at.map(|(theory, at)| (theory.sync_delay)(at))),
        Figure::real("response_mean", time(summary.response_mean_ns))
            .labelled("response time")
            .unit(unit)
            .column("RESPONSE/T")
            .theory(at.map(|(theory, at)| (theory.response)(at))),
        Figure::real("response_p50", quantile(summary.response_p50_ns)),
        Figure::real("response_p99", quantile(summary.response_p99_ns)),
        Figure::real("throughput", summary.throughput_per_ns().map(|rate| rate * per.1))
            .labelled("throughput")
            .unit(per.0)
            .column("PER T"),
        Figure::real("bytes_per_entry", summary.bytes_per_entry())
            .labelled("bytes per entry")
            .column("BYTES"),
        Figure::count("load_max", "busiest node handled", summary.load_max),
        Figure::real("load_max_per_entry", busiest).column("LOAD"),
        Figure::real("load_fairness", Some(summary.load_fairness)),
        Figure::real("fairness", Some(summary.fairness)).labelled("fairness (Jain)").column("FAIR"),
        Figure::of("overtakes", overtakes).labelled("overtakes").column("OVERT."),
    ]
}

impl Problem for Mutex {
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
        let at = |load| Setting::new(card, nodes, load);
        let theory = &card.terms.theory;
        let row = |what: &str, unit: &str, cost: fn(&Setting) -> vorrang_algorithms::card::Span| {
            let of = |load| span(cost(&at(load))) + unit;
            vec![what.to_owned(), of(card::Load::Light), of(card::Load::Heavy)]
        };
        let header = format!("COSTS WITH N = {nodes}, E = 0");
        vec![
            vec![header, "ONE AT A TIME".to_owned(), "SATURATION".to_owned()],
            row("messages per entry", "", theory.messages),
            row("synchronisation delay", " T", theory.sync_delay),
            row("response time", " T", theory.response),
            row("busiest node handles", "", theory.busiest),
        ]
    }
    const CONTRAST: (&'static str, &'static [&'static str]) = ("load", &["heavy", "light"]);

    type Scenario = Scenario;
    type Monitor = Exclusion;
    type Workload = Turns<Command>;

    fn scenario(card: &'static Card, args: &RunArgs) -> Result<Scenario, Failure> {
        let own = &args.mutex;
        let load = match own.load[..] {
            [] => LoadKind::Heavy,
            [load] => load,
            _ => {
                return Err(Failure::usage(
                    "--load takes one value here; 'vorrang compare' and 'vorrang sweep' take several",
                ));
            }
        };
        if load != LoadKind::Heavy && own.think != Distribution::Constant(0) {
            return Err(Failure::usage(format!(
                "--think {} only means something under --load heavy: under {} load a node asks \
                 when all is at rest",
                own.think,
                name(&load),
            )));
        }
        let nodes = args.common.nodes;
        if let Some(hot) = own.hot.filter(|&hot| hot > nodes) {
            return Err(Failure::usage(format!(
                "--hot {hot} is more than there are: --nodes {nodes}"
            )));
        }
        let setting = Setting::new(card, nodes, card::Load::Heavy);
        let messages = (card.terms.theory.messages)(&setting).high;
        if messages > MOST_MESSAGES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for {}: an entry would take up to {messages} \
                 messages, and {MOST_MESSAGES} are as many as fit a simulation",
                card.name
            )));
        }
        let between = args.between(&card.about())?;
        let within = std::time::Duration::from_nanos(between.within_ns);
        Ok(Scenario {
            card,
            setup: Setup { group: Group::of(nodes), k: own.k, within },
            entries: own.entries,
            load,
            think: own.think,
            hold: own.hold,
            hot: own.hot,
            between,
        })
    }

    fn monitor(scenario: &Scenario) -> Exclusion {
        Exclusion::new((scenario.card.terms.admission)(&scenario.setup))
    }

    fn workload(scenario: &Scenario) -> Turns<Command> {
        let load = match scenario.load {
            LoadKind::Heavy => Load::Closed { think: scenario.think },
            LoadKind::Light => Load::OneAtATime,
            LoadKind::Burst => Load::Burst,
        };
        let claims = scenario.card.terms.claims.iter().copied();
        Turns::new(load, Command::Acquire(Claim::Exclusive), Command::Release)
            .acquire_any_of(claims.map(Command::Acquire).collect())
            .entries(scenario.entries)
            .hold(scenario.hold)
            .hot(scenario.contenders())
    }

    fn figures(scenario: &Scenario, summary: &Summary) -> Vec<Figure> {
        let setting = scenario.setting();
        let at = setting.as_ref().map(|setting| (&scenario.card.terms.theory, setting));
        let unit_ns = scenario.between.latency.mean_ns();
        figures(summary, (" T", unit_ns), (" per T", unit_ns), at)
    }

    fn complaint(scenario: &Scenario, summary: &Summary) -> Option<String> {
        let promised = scenario.card.terms.promises.ordering;
        let overtaken = promised && summary.overtakes.is_some_and(|count| count > 0);
        overtaken.then(|| "ordering: a request was overtaken by a later one".to_owned())
    }

    type Watch = (Exclusion, (Option<HappenedBefore>, Option<BoundedBypass>));

    fn question(
        card: &'static Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure> {
        question(card, flaw.and_then(|name| card.flaw(name)), args)
    }

    fn farewell() -> Option<Command> {
        Some(Command::Release)
    }
    fn obeyed(command: &Command) -> Option<&'static str> {
        match command {
            Command::Acquire(_) => None,
            Command::Release => Some("released"),
        }
    }
    fn over_tcp<P>(
        _: &'static Card,
        scenario: &Scenario,
        node: Node<P>,
        place: Place,
        trace: Option<&Path>,
    ) -> Result<Measured, Failure>
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        network::run(scenario, node, place, trace)
    }
    fn work<P>(card: &'static Card, recipe: Recipe<P>, work: Work) -> Future<'static>
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        network::worker::work(work, card, recipe)
    }
}

/// What can be asked for besides exclusion and progress, which are always checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Property {
    /// A request that happened before another enters first
    Ordering,
    /// Nobody who is known to wait is passed more often than promised (once, if nothing is)
    NoStarvation,
    /// All that the algorithm promises
    Promised,
}

/// What is asked of a lock.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MutexCheckArgs {
    /// How many entries each node makes: one number, or one a node as in 2,2,1 [default: 1]
    #[arg(long, short, value_delimiter = ',', value_name = "ENTRIES")]
    entries: Vec<u32>,
    /// What each node claims, one a node: exclusive, shared or group:2 [default: in turn]
    #[arg(long, value_delimiter = ',', value_name = "CLAIMS", value_parser = parse_claim)]
    claims: Vec<Claim>,
    /// Nodes that never leave after their last entry, as in 0,2
    #[arg(long, value_delimiter = ',', value_name = "NODES")]
    stay: Vec<u32>,
    /// What must hold besides exclusion and progress
    #[arg(long, value_enum, value_delimiter = ',')]
    property: Vec<Property>,
    /// How many may be inside together, for k-exclusion
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
}

/// Fills in what was not said, from the flaw or from the algorithm.
fn question(
    card: &'static Card,
    flaw: Option<&'static Flaw>,
    args: &CheckArgs,
) -> Result<Question<Mutex>, Failure> {
    let own = &args.mutex;
    let nodes = match (args.nodes, flaw, &own.entries[..]) {
        (Some(nodes), _, _) => nodes,
        (None, Some(flaw), []) => flaw.entries.len() as u32,
        (None, _, [] | [_]) => 3,
        (None, _, entries) => entries.len() as u32,
    };
    let entries = match (&own.entries[..], flaw) {
        ([], Some(flaw)) if flaw.entries.len() == nodes as usize => flaw.entries.to_vec(),
        ([], _) => vec![1; nodes as usize],
        ([same], _) => vec![*same; nodes as usize],
        (entries, _) if entries.len() == nodes as usize => entries.to_vec(),
        (entries, _) => return Err(one_a_node("--entries", entries.len(), nodes)),
    };
    let claims = match (&own.claims[..], flaw) {
        ([], Some(flaw)) if flaw.claims.len() == nodes as usize => flaw.claims.to_vec(),
        ([], _) => card.terms.claims.iter().copied().cycle().take(nodes as usize).collect(),
        (claims, _) if claims.len() == nodes as usize => claims.to_vec(),
        (claims, _) => return Err(one_a_node("--claims", claims.len(), nodes)),
    };
    if let Some(claim) = claims.iter().find(|claim| !is_granted(card, **claim)) {
        return Err(Failure::usage(format!("{} grants no {claim} claims", card.name)));
    }
    let stay = match (&own.stay[..], flaw) {
        ([], Some(flaw)) => flaw.stay.to_vec(),
        (stay, _) => stay.to_vec(),
    };
    check_stay(&stay, &entries)?;
    let assumed = flaw.map_or(card.order, |flaw| flaw.order);
    let order = args.order.unwrap_or(OrderKind::from(assumed));
    let (ordering, bypass) = properties(card, flaw, &own.property);
    let setup = Setup { k: own.k, ..Setup::new(Group::of(nodes)) };
    let exclusion = Exclusion::new((card.terms.admission)(&setup));
    let mut names = vec!["exclusion", "progress"];
    names.extend(ordering.then_some("ordering"));
    names.extend(bypass.map(|_| "no starvation"));

    let mut line = args.line(&card.about(), nodes, order);
    let _ = write!(line, " --entries {}", list(&entries));
    if let Some(k) = asked_k(card, setup) {
        let _ = write!(line, " --k {k}");
    }
    if card.terms.claims.len() > 1 {
        let claims: Vec<String> =
            claims.iter().map(|claim| claim.to_string().replace(' ', ":")).collect();
        let _ = write!(line, " --claims {}", claims.join(","));
    }
    if !stay.is_empty() {
        let _ = write!(line, " --stay {}", list(&stay));
    }
    let asked = [(ordering, "ordering"), (bypass.is_some(), "no-starvation")];
    let asked: Vec<&str> = asked.iter().filter(|(asked, _)| *asked).map(|it| it.1).collect();
    if !asked.is_empty() {
        let _ = write!(line, " --property {}", asked.join(","));
    }
    let asks = claims.iter().copied().map(Command::Acquire);
    let stay: Vec<NodeId> = stay.iter().copied().map(NodeId).collect();
    let monitor =
        (exclusion, (ordering.then(HappenedBefore::default), bypass.map(BoundedBypass::new)));
    Ok(Question {
        setup,
        plan: Plan::turns_with(entries.iter().copied().zip(asks), &Command::Release, &stay),
        monitor,
        links: Links::from(vorrang_protocol::Order::from(order)),
        faults: args.faults(),
        properties: names,
        line,
    })
}

pub(super) fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

/// What must hold besides exclusion and progress: ordering, and how often one may be passed.
fn properties(card: &Card, flaw: Option<&Flaw>, asked: &[Property]) -> (bool, Option<u32>) {
    let promised = asked.contains(&Property::Promised);
    let breaks = |property| flaw.is_some_and(|flaw| flaw.breaks == property);
    let promises = card.terms.promises;
    let ordering = asked.contains(&Property::Ordering)
        || promised && promises.ordering
        || asked.is_empty() && breaks("ordering");
    let bypass = match promises.bypass {
        Some(bound) if promised => Some(bound),
        promise if asked.contains(&Property::NoStarvation) => Some(promise.unwrap_or(1)),
        promise if asked.is_empty() && breaks("no starvation") => promise,
        Some(_) | None => None,
    };
    (ordering, bypass)
}

/// A node that stays must exist, must enter, and can stay only once.
fn check_stay(stay: &[u32], entries: &[u32]) -> Result<(), Failure> {
    for (place, &id) in stay.iter().enumerate() {
        let last = entries.len() - 1;
        let why = match entries.get(id as usize) {
            None => format!("does not exist: the last node is {last}"),
            Some(0) => "makes no entry that it could stay in".to_owned(),
            Some(_) if stay[..place].contains(&id) => "is named twice".to_owned(),
            Some(_) => continue,
        };
        return Err(Failure::usage(format!("--stay: node {id} {why}")));
    }
    Ok(())
}

fn is_granted(card: &Card, claim: Claim) -> bool {
    card.terms.claims.iter().any(|granted| match (granted, claim) {
        (Claim::Group(_), Claim::Group(_)) => true,
        (granted, claim) => *granted == claim,
    })
}

fn parse_claim(text: &str) -> Result<Claim, String> {
    match format!("acquire {}", text.replace(':', " ")).parse() {
        Ok(Command::Acquire(claim)) => Ok(claim),
        Ok(Command::Release) | Err(_) => {
            Err(format!("'{text}' is not a claim: write exclusive, shared or group:2"))
        }
    }
}
