//! The options of runs and checks: what all have, and what only those of one problem have.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Order};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_algorithms::topology::Topology;
use vorrang_protocol::{Group, parse_duration_ns, show_duration_ns};
use vorrang_sim::{Distribution, Faults, Network};

use crate::failure::Failure;
use crate::lookup;
use crate::problem::election::ElectionArgs;
use crate::problem::group::GroupArgs;
use crate::problem::multicast::MulticastArgs;
use crate::problem::mutex::MutexArgs;
use crate::real::TIMELY_ENOUGH;
use crate::trouble::FaultArgs;
use crate::values::whole;

/// As many nodes as a simulation holds.
pub(crate) const MOST_NODES: u32 = 1_000_000;

/// One millisecond.
const DEFAULT_LATENCY: Distribution = Distribution::Constant(1_000_000);

/// What a run is a run of, before it is checked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten, next_help_heading = "Set-up")]
    pub(crate) setup: SetupArgs,
    #[command(flatten, next_help_heading = "What goes wrong")]
    pub(crate) faults: FaultArgs,
    #[command(flatten, next_help_heading = "Mutual exclusion")]
    pub(crate) mutex: MutexArgs,
    #[command(flatten, next_help_heading = "Election")]
    pub(crate) election: ElectionArgs,
    #[command(flatten, next_help_heading = "Reliable multicast, group communication")]
    pub(crate) multicast: MulticastArgs,
    #[command(flatten, next_help_heading = "Group communication")]
    pub(crate) group: GroupArgs,
    #[command(flatten, next_help_heading = "What never comes to rest")]
    pub(crate) lasting: LastingArgs,
}

/// How long a run lasts that would go on for ever.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LastingArgs {
    /// How long to watch what goes on for ever: failure detection, and elections whose leader is
    /// watched; longer if it takes longer to see what comes of the last fault [default: some
    /// hundred heartbeats]
    #[arg(id = "for", long = "for", value_name = "TIME", value_parser = parse_lasting)]
    lasting: Option<Duration>,
}

impl LastingArgs {
    pub(crate) const fn time(&self) -> Option<Duration> {
        self.lasting
    }
}

fn parse_lasting(text: &str) -> Result<Duration, String> {
    match parse_duration_ns(text)? {
        0 => Err("a run takes some time".to_owned()),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

/// The nodes and the network between them.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "an option is given or not")]
pub(crate) struct CommonArgs {
    /// How many nodes, N
    #[arg(long, short, default_value_t = 13, value_parser = whole(1..=MOST_NODES))]
    pub(crate) nodes: u32,
    /// How long a message takes: 1ms, uniform:1ms..3ms or exp:2ms [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) latency: Option<Distribution>,
    /// Whether messages from one node to another keep their order [default: what is assumed]
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderKind>,
    /// Decides everything that is drawn; the same seed gives the same run
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// Put a layer of reliable channels under the algorithm (numbers, acknowledgements, time-outs),
    /// so that it runs where messages are lost, doubled or overtaken
    #[arg(long)]
    pub(crate) reliable: bool,
    /// Run the algorithm with a known mistake, to see what comes of it: one of `vorrang check
    /// ALGORITHM --flaw list`
    #[arg(long, value_name = "NAME")]
    pub(crate) flaw: Option<String>,
    /// Run even if the network is not what the algorithm assumes, to see it break
    #[arg(long)]
    pub(crate) break_assumptions: bool,
    /// Look after every event whether what the algorithm's proof rests on holds (slow); with --net,
    /// when the recorded run is done once more by the machines
    #[arg(long)]
    pub(crate) invariants: bool,
    /// Whether the run is over a real network, where nobody decides how long a message takes.
    #[arg(skip)]
    pub(crate) is_real: bool,
}

/// What some algorithms must be told besides the group: an option for every [`Parameter`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SetupArgs(Vec<(Parameter, String)>);

impl SetupArgs {
    /// The set-up of an algorithm. An option that it does not take is refused by
    /// [`Given::check_fit`].
    pub(crate) fn setup(&self, about: &About, nodes: u32) -> Result<Setup, Failure> {
        let mut setup = about.assumes.setup(Group::of(nodes));
        for (parameter, text) in &self.0 {
            match parameter {
                _ if !about.takes.contains(parameter) => {}
                Parameter::Topology => setup.topology = topology(text)?,
                Parameter::Quorum => setup.quorum = asked_quorums(text)?,
                _ => setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?,
            }
        }
        check_within(&setup)?;
        if about.takes.contains(&Parameter::Quorum) {
            // Costs are asked before nodes are made, and only of a system that there is.
            setup.quorum.system(setup.group).map_err(|unfit| Failure::Usage(unfit.0))?;
        }
        Ok(setup)
    }

    /// Refuses what no algorithm could take.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        for (parameter, text) in &self.0 {
            if *parameter == Parameter::Topology {
                topology(text)?;
            }
            if *parameter == Parameter::Quorum {
                asked_quorums(text)?;
            }
        }
        Ok(())
    }

    pub(crate) fn says(&self, parameter: Parameter) -> bool {
        self.0.iter().any(|(said, _)| *said == parameter)
    }
}

/// Time-outs are a few times as long as a message may take, and time is not endless.
fn check_within(setup: &Setup) -> Result<(), Failure> {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    if setup.within <= A_YEAR {
        return Ok(());
    }
    let within = show_duration_ns(setup.within.as_nanos() as u64);
    Err(Failure::usage(format!("--within {within}: a message may take a year at most")))
}

/// A topology as it is typed: its name, or a file of links.
pub(crate) fn topology(text: &str) -> Result<Topology, Failure> {
    let read = text.parse();
    let path = Path::new(text);
    match read {
        Ok(topology) => Ok(topology),
        Err(_) if path.exists() => {
            let lines = fs::read_to_string(path).map_err(|error| Failure::at(path, error))?;
            Topology::of_lines(&lines)
                .map_err(|why| Failure::usage(format!("--topology {text}: {why}")))
        }
        Err(why) if text.contains(':') => Err(Failure::usage(format!("--topology: {why}"))),
        Err(why) => Err(Failure::usage(format!("--topology: {why}; there is no such file"))),
    }
}

fn asked_quorums(text: &str) -> Result<Quorums, Failure> {
    match quorums(text, "") {
        Err(Failure::Usage(why)) => Err(Failure::usage(format!("--quorum: {why}"))),
        read => read,
    }
}

/// A quorum system as it is typed: its name, or a file of sets. What else could have been typed is
/// named if it is neither.
pub(crate) fn quorums(text: &str, or: &str) -> Result<Quorums, Failure> {
    let path = Path::new(text);
    match text.parse() {
        Ok(quorums) => Ok(quorums),
        Err(_) if path.exists() => {
            let lines = fs::read_to_string(path).map_err(|error| Failure::at(path, error))?;
            Quorums::of_lines(&lines).map_err(|why| Failure::usage(format!("{text}: {why}")))
        }
        Err(why) if text.contains(':') => Err(Failure::Usage(why)),
        Err(why) => Err(Failure::usage(format!("{why}{or}; there is no such file"))),
    }
}

impl Args for SetupArgs {
    fn augment_args(command: Command) -> Command {
        command.args(
            Parameter::ALL.map(|it| {
                Arg::new(it.name()).long(it.name()).value_name(it.value()).help(it.what())
            }),
        )
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SetupArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let said = |it: Parameter| Some((it, matches.get_one::<String>(it.name())?.clone()));
        Ok(Self(Parameter::ALL.into_iter().filter_map(said).collect()))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether messages from one node to another keep their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OrderKind {
    /// They do
    Fifo,
    /// They may overtake each other
    Any,
}

impl From<Order> for OrderKind {
    fn from(order: Order) -> Self {
        match order {
            Order::Fifo => Self::Fifo,
            Order::Any => Self::Any,
        }
    }
}

impl From<OrderKind> for Order {
    fn from(order: OrderKind) -> Self {
        match order {
            OrderKind::Fifo => Self::Fifo,
            OrderKind::Any => Self::Any,
        }
    }
}

/// What lies between the nodes, checked against what the algorithm assumes.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    pub(crate) latency: Distribution,
    pub(crate) order: OrderKind,
    asked_order: Option<OrderKind>,
    breaks: bool,
    /// Whether invariants are looked at.
    pub(crate) is_guarded: bool,
    /// Whether the nodes have reliable channels.
    pub(crate) is_reliable: bool,
    /// The mistake that they make.
    pub(crate) flaw: Option<&'static str>,
    pub(crate) seed: u64,
    /// What goes wrong, as it was typed.
    trouble: FaultArgs,
    /// The same as a plan, if anything does.
    pub(crate) faults: Option<Faults>,
}

impl RunArgs {
    /// The set-up of the algorithm and the network between its nodes, checked against what the
    /// algorithm assumes.
    pub(crate) fn placed(&self, about: &About) -> Result<(Setup, Between), Failure> {
        let nodes = self.common.nodes;
        let mut setup = self.setup.setup(about, nodes)?;
        if about.takes.contains(&Parameter::Structure) {
            // As of quorums; but mistakes, which are not run, are made with structures that are
            // not safe.
            let sets = setup.structure.sets(setup.group, &setup.quorum);
            sets.map_err(|unfit| Failure::Usage(unfit.0))?;
        }
        let latency = self.common.latency.unwrap_or(DEFAULT_LATENCY);
        let breaks = self.common.break_assumptions;
        if about.assumes.timely {
            self.bound_waits(about, &mut setup)?;
        }
        check_within(&setup)?;
        let is_reliable = self.common.reliable;
        // Reliable channels assume nothing of the order.
        let assumed =
            if is_reliable { OrderKind::Any } else { OrderKind::from(about.assumes.order) };
        let order = self.common.order.unwrap_or(assumed);
        if (assumed, order) == (OrderKind::Fifo, OrderKind::Any) && !breaks {
            let varied = if latency.is_constant() {
                "--break-assumptions --latency uniform:1us..2ms"
            } else {
                "--break-assumptions"
            };
            return Err(Failure::usage(format!(
                "{} assumes that messages between two nodes keep their order: use --order fifo, \
                 or {varied} to see it break",
                about.name
            )));
        }
        let (seed, trouble) = (self.common.seed, self.faults.clone());
        let faults = trouble.faults(nodes, latency.mean_ns() as u64, seed)?;
        setup.topology = setup.topology.seeded(seed);
        setup.ring = setup.ring.seeded(seed);
        about.assumes.layout.graph(&setup).map_err(|unfit| Failure::Usage(unfit.0))?;
        let flaw = self.flaw(about)?;
        let asked_order = self.common.order;
        let is_guarded = self.common.invariants;
        let between = Between {
            latency,
            order,
            asked_order,
            breaks,
            is_guarded,
            is_reliable,
            flaw,
            seed,
            trouble,
            faults,
        };
        Ok((setup, between))
    }

    /// The mistake that was asked for, if there is such a one.
    fn flaw(&self, about: &About) -> Result<Option<&'static str>, Failure> {
        let Some(asked) = &self.common.flaw else { return Ok(None) };
        let known = about.mistakes.iter().map(|mistake| mistake.name);
        match known.clone().find(|name| name == asked) {
            Some(name) => Ok(Some(name)),
            None => Err(lookup::unknown(&format!("flaw of {}", about.name), asked, known)),
        }
    }

    /// Has an algorithm that relies on time believe what is true of the network, unless it is told
    /// otherwise.
    fn bound_waits(&self, about: &About, setup: &mut Setup) -> Result<(), Failure> {
        let latency = self.common.latency.unwrap_or(DEFAULT_LATENCY);
        let bound_ns = longest_ns(latency);
        match (self.setup.says(Parameter::Within), bound_ns) {
            (true, _) if self.common.is_real => {}
            (false, _) if self.common.is_real => setup.within = TIMELY_ENOUGH,
            (false, Some(bound_ns)) => setup.within = Duration::from_nanos(bound_ns),
            (true, Some(bound_ns)) if setup.within.as_nanos() >= u128::from(bound_ns) => {}
            (true, _) if self.common.break_assumptions => {}
            (true, _) => {
                return Err(Failure::usage(format!(
                    "{} assumes that no message takes longer than --within: with --latency \
                     {latency} some do; --break-assumptions lets you see it break",
                    about.name
                )));
            }
            (false, None) => {
                return Err(Failure::usage(format!(
                    "--latency {latency} has no bound: say with --within how long {} believes a \
                     message to take, and --break-assumptions",
                    about.name
                )));
            }
        }
        Ok(())
    }
}

/// How long a message takes at most, if there is a bound.
fn longest_ns(latency: Distribution) -> Option<u64> {
    match latency {
        Distribution::Constant(ns) | Distribution::Uniform(_, ns) => Some(ns.max(1)),
        Distribution::Exponential(_) => None,
    }
}

impl Between {
    pub(crate) fn network(&self) -> Network {
        Network { latency: self.latency, order: self.order.into() }
    }

    /// The same, and what goes wrong, as figures begin with it.
    pub(crate) fn head(&self) -> Vec<(&'static str, Value)> {
        let mut head = vec![
            ("latency", json!(self.latency.to_string())),
            ("order", json!(name(&self.order))),
            ("break_assumptions", json!(self.breaks)),
            ("reliable", json!(self.is_reliable)),
            ("flaw", json!(self.flaw)),
        ];
        head.extend(self.trouble.head(self.faults.as_ref()));
        head
    }

    /// Whether anything happens between the nodes that theories of algorithms do not speak of.
    pub(crate) const fn is_altered(&self) -> bool {
        self.faults.is_some() || self.is_reliable
    }

    /// How long nearly every message takes at most.
    pub(crate) fn nearly_longest_ns(&self) -> u64 {
        // Of the exponential distribution, 2 in a hundred take more than four times the mean.
        let mean_ns = self.latency.mean_ns() as u64;
        longest_ns(self.latency).unwrap_or(mean_ns.saturating_mul(4)).max(1)
    }

    /// Whether no message takes longer than a set-up says.
    pub(crate) fn is_within(&self, setup: &Setup) -> bool {
        longest_ns(self.latency).is_some_and(|ns| u128::from(ns) <= setup.within.as_nanos())
    }

    /// What would have to be typed, the seed included.
    pub(crate) fn options(&self) -> String {
        let order = name(&self.order);
        let text = format!("--seed {} --latency {} --order {order}", self.seed, self.latency);
        text + &self.besides()
    }

    /// The same for all algorithms on a page of a comparison: without the seed, and without an
    /// order that nobody asked for.
    pub(crate) fn page(&self) -> String {
        let order = self.asked_order.map_or(String::new(), |it| format!(" --order {}", name(&it)));
        format!("--latency {}{order}{}", self.latency, self.besides())
    }

    /// What goes wrong, as it would have to be typed.
    pub(crate) fn faults_typed(&self) -> String {
        self.trouble.options()
    }

    /// What is looked at and what goes wrong, as it would have to be typed.
    fn besides(&self) -> String {
        let mut text = String::new();
        if self.breaks {
            text.push_str(" --break-assumptions");
        }
        if self.is_guarded {
            text.push_str(" --invariants");
        }
        if self.is_reliable {
            text.push_str(" --reliable");
        }
        if let Some(flaw) = self.flaw {
            text.push_str(" --flaw ");
            text.push_str(flaw);
        }
        text + &self.trouble.options()
    }
}

/// What an option's value is called on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Numbers as they are typed in a list.
pub(crate) fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

/// Reads a list of nodes, none of them twice.
pub(crate) fn nodes_of(option: &str, text: &str, nodes: u32) -> Result<Vec<u32>, Failure> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.parse::<u32>() {
            Ok(node) if node < nodes && all.contains(&node) => {
                return Err(Failure::usage(format!("{option}: node {node} is named twice")));
            }
            Ok(node) if node < nodes => all.push(node),
            Ok(_) | Err(_) => {
                return Err(Failure::usage(format!(
                    "{option}: '{part}' is not a node: the last node is {}",
                    nodes - 1
                )));
            }
        }
    }
    Ok(all)
}
