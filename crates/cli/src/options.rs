//! The options of runs and checks: what all have, and what only those of one problem have.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use vorrang_algorithms::card::{About, Order};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_algorithms::topology::Topology;
use vorrang_protocol::{Group, parse_duration_ns, show_duration_ns};
use vorrang_sim::Distribution;

use crate::failure::Failure;
use crate::problem::election::ElectionArgs;
use crate::problem::group::GroupArgs;
use crate::problem::multicast::MulticastArgs;
use crate::problem::mutex::MutexArgs;
use crate::problem::on_views::ViewsArgs;
use crate::trouble::FaultArgs;
use crate::values::whole;

/// As many nodes as a simulation holds.
pub(crate) const MOST_NODES: u32 = 1_000_000;

/// What a run is a run of, before it is checked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten, next_help_heading = "Set-up")]
    pub(crate) setup: SetupArgs,
    #[command(flatten, next_help_heading = "Faults")]
    pub(crate) faults: FaultArgs,
    #[command(flatten, next_help_heading = "Mutual exclusion")]
    pub(crate) mutex: MutexArgs,
    #[command(flatten, next_help_heading = "Locks on views")]
    pub(crate) views: ViewsArgs,
    #[command(flatten, next_help_heading = "Election")]
    pub(crate) election: ElectionArgs,
    #[command(flatten, next_help_heading = "Reliable multicast, group communication")]
    pub(crate) multicast: MulticastArgs,
    #[command(flatten, next_help_heading = "Group communication")]
    pub(crate) group: GroupArgs,
    #[command(flatten, next_help_heading = "Runs that do not end by themselves")]
    pub(crate) lasting: LastingArgs,
}

/// How long a run lasts that would go on for ever.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LastingArgs {
    /// How long to run failure detection, and elections whose leader is watched, which never end by
    /// themselves; longer if the reaction to the last fault takes longer [default: some hundred
    /// heartbeats]
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
    /// Whether messages from one node to another keep their order [default: what the algorithm
    /// assumes]
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderKind>,
    /// Seed of all random choices; the same seed gives the same run
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// Put a layer of reliable channels under the algorithm (sequence numbers, acknowledgements,
    /// time-outs), so that it runs where messages are lost, duplicated or reordered
    #[arg(long)]
    pub(crate) reliable: bool,
    /// Run the algorithm with a known mistake: one of `vorrang check ALGORITHM --flaw list`
    #[arg(long, value_name = "NAME")]
    pub(crate) flaw: Option<String>,
    /// Run even if the network is not what the algorithm assumes, to see it break
    #[arg(long)]
    pub(crate) break_assumptions: bool,
    /// Check the invariants of the algorithm's proof after every event (slow); with --net, in a
    /// replay of the recorded run
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
pub(crate) fn check_within(setup: &Setup) -> Result<(), Failure> {
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
