//! The options of runs and checks: what all have, and what only those of one problem have.

pub mod axis;
pub mod cable;
pub mod check;
pub mod check_limits;
pub mod choice;
pub mod command_line;
pub mod election;
pub mod explicit_args;
pub mod fault_args;
pub mod group;
pub mod holder;
pub mod multicast;
pub mod mutex;
#[cfg(feature = "clap")]
mod setup_clap;
pub mod single_fault;
#[cfg(feature = "clap")]
mod typed_options;
pub mod views;
pub mod whom;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use vorrang_algorithms::card::{About, Order};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::{Parameter, Setup, Values};
use vorrang_algorithms::topology::Topology;
use vorrang_protocol::{Group, parse_duration_ns, show_duration_ns};
use vorrang_sim::Distribution;

use self::choice::Choice;
use self::election::ElectionArgs;
use self::fault_args::FaultArgs;
use self::group::GroupArgs;
use self::multicast::MulticastArgs;
use self::mutex::MutexArgs;
use self::views::ViewsArgs;
use crate::failure::{Failure, named_file};
#[cfg(feature = "clap")]
use crate::values::whole;

/// As many nodes as a simulation holds.
pub const MOST_NODES: u32 = 1_000_000;

/// How many nodes a run may have.
const NODES: RangeInclusive<u32> = 1..=MOST_NODES;

/// Refuses a value that an option cannot have.
fn within<T: PartialOrd + Display>(
    option: &str,
    value: impl IntoIterator<Item = T>,
    range: &RangeInclusive<T>,
) -> Result<(), Failure> {
    match value.into_iter().find(|it| !range.contains(it)) {
        None => Ok(()),
        Some(it) => {
            let (low, high) = (range.start(), range.end());
            Err(Failure::usage(format!(
                "--{option} {it}: give a whole number from {low} to {high}"
            )))
        }
    }
}

/// The options of a run, before they are checked.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct RunArgs {
    /// The nodes and the network between them.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub common: CommonArgs,
    /// The set-up.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Set-up"))]
    pub setup: SetupArgs,
    /// The fault options.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Faults"))]
    pub faults: FaultArgs,
    /// The workload of a lock.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Mutual exclusion"))]
    pub mutex: MutexArgs,
    /// Locks on views.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Locks on views"))]
    pub views: ViewsArgs,
    /// The callers of an election.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Election"))]
    pub election: ElectionArgs,
    /// The multicasts of members.
    #[cfg_attr(
        feature = "clap",
        command(flatten, next_help_heading = "Reliable multicast, group communication")
    )]
    pub multicast: MulticastArgs,
    /// The joins and leaves of a group.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Members that come and go"))]
    pub group: GroupArgs,
    /// How long a run lasts that would go on for ever.
    #[cfg_attr(
        feature = "clap",
        command(flatten, next_help_heading = "Runs that do not end by themselves")
    )]
    pub lasting: LastingArgs,
}

/// Latencies under which hardly any two things happen at once.
pub(crate) const CALM: Distribution = Distribution::Uniform(500_000, 1_500_000);

impl RunArgs {
    /// Refuses values that no run can have.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        within("nodes", [self.common.nodes], &NODES)?;
        if self.lasting.lasting == Some(Duration::ZERO) {
            return Err(Failure::usage("--for 0: a run takes some time"));
        }
        self.mutex.check()?;
        self.views.check()?;
        self.multicast.check()
    }

    /// Nothing is said but how long messages take.
    pub(crate) fn taking(latency: Distribution) -> Self {
        let common = CommonArgs { latency: Some(latency), ..CommonArgs::default() };
        Self { common, ..Self::default() }
    }
}

/// How long a run lasts that would go on for ever.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct LastingArgs {
    /// How long to run failure detection, and elections whose leader is watched, which never end by
    /// themselves; longer, with a warning, if the reaction to the last fault may take longer
    /// [default: some hundred heartbeats]
    #[cfg_attr(
        feature = "clap",
        arg(id = "for", long = "for", value_name = "TIME", value_parser = parse_lasting)
    )]
    pub lasting: Option<Duration>,
}

impl LastingArgs {
    /// How long, if that was said.
    pub const fn time(&self) -> Option<Duration> {
        self.lasting
    }

    /// The warning for a run that lasts longer than was said, since only then this is so.
    pub(crate) fn too_short(&self, lasts: Duration, until: &str) -> Option<String> {
        let shown = |time: Duration| show_duration_ns(time.as_nanos() as u64);
        let asked = self.lasting.filter(|asked| *asked < lasts)?;
        Some(format!(
            "--for {} is too short: it may take {} until {until}, so the run lasted that long",
            shown(asked),
            shown(lasts)
        ))
    }
}

/// Reads how long a run lasts.
pub fn parse_lasting(text: &str) -> Result<Duration, String> {
    match parse_duration_ns(text)? {
        0 => Err("a run takes some time".to_owned()),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

/// The nodes and the network between them.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[expect(clippy::struct_excessive_bools, reason = "an option is given or not")]
pub struct CommonArgs {
    /// How many nodes, N
    #[cfg_attr(
        feature = "clap",
        arg(long, short, default_value_t = Self::default().nodes, value_parser = whole(NODES))
    )]
    pub nodes: u32,
    /// How long a message takes: 1ms, uniform:1ms..3ms or exp:2ms [default: 1ms]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    pub latency: Option<Distribution>,
    /// How long a message takes on each link: a file with a row a sender, and in it a time for
    /// every receiver, as in '0 1ms 2.5ms'; the diagonal is not read, # begins a comment. Or the
    /// rows themselves, as in rows:0-1ms/3ms-0. T is then the mean of all but the diagonal
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub latency_matrix: Option<String>,
    /// Whether messages from one node to another keep their order [default: what the
    /// algorithm assumes]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub order: Option<OrderKind>,
    /// Seed of all random choices; the same seed gives the same run
    #[cfg_attr(
        feature = "clap",
        arg(long, default_value_t = Self::default().seed, value_parser = whole(0..=u64::MAX))
    )]
    pub seed: u64,
    /// Put a layer of reliable channels under the algorithm (sequence numbers, acknowledgements,
    /// time-outs), so that it runs where messages are lost, duplicated or reordered
    #[cfg_attr(feature = "clap", arg(long))]
    pub reliable: bool,
    /// Run the algorithm with a known mistake: one of `vorrang check ALGORITHM --flaw list`
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub flaw: Option<String>,
    /// Run even if the network is not what the algorithm assumes, to see it break
    #[cfg_attr(feature = "clap", arg(long))]
    pub break_assumptions: bool,
    /// Check the invariants of the algorithm's proof after every event (slow); with --net, in a
    /// replay of the recorded run
    #[cfg_attr(feature = "clap", arg(long))]
    pub invariants: bool,
    /// Whether the run is over a real network, where message delays are not known.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub is_real: bool,
}

impl Default for CommonArgs {
    fn default() -> Self {
        Self {
            nodes: 13,
            latency: None,
            latency_matrix: None,
            order: None,
            seed: 1,
            reliable: false,
            flaw: None,
            break_assumptions: false,
            invariants: false,
            is_real: false,
        }
    }
}

/// The options of the set-up: one for every [`Parameter`].
#[derive(Clone, Debug, Default)]
pub struct SetupArgs(Vec<(Parameter, String)>);

impl SetupArgs {
    /// The set-up of an algorithm. An option that it does not take is refused by
    /// `ExplicitArgs::check_fit`.
    pub fn setup(&self, about: &About, nodes: u32) -> Result<Setup, Failure> {
        let mut setup = about.assumes.setup(Group::of(nodes));
        for (parameter, text) in &self.0 {
            match parameter {
                _ if !about.takes.contains(parameter) => {}
                Parameter::Topology => setup.topology = topology(text)?,
                Parameter::Quorum => setup.quorum = asked_quorums(text)?,
                Parameter::Values => setup.values = asked_values(text, setup.group)?,
                _ => setup.set(*parameter, text).map_err(|unfit| Failure::Usage(unfit.0))?,
            }
        }
        if setup.contention.times_ns().is_some() && !self.says(Parameter::Within) {
            setup.within = CABLE;
        }
        check_within(&setup)?;
        if about.takes.contains(&Parameter::Quorum) {
            // Costs are asked before nodes are made, and only of a system that there is.
            setup.quorum.system(setup.group).map_err(|unfit| Failure::Usage(unfit.0))?;
        }
        Ok(setup)
    }

    /// Refuses what no algorithm could take.
    pub fn check(&self) -> Result<(), Failure> {
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

    /// Says what a parameter is to be.
    pub fn say(&mut self, parameter: Parameter, text: &str) {
        self.0.retain(|(said, _)| *said != parameter);
        self.0.push((parameter, text.to_owned()));
    }

    /// Whether anything is said of a parameter.
    pub fn says(&self, parameter: Parameter) -> bool {
        self.0.iter().any(|(said, _)| *said == parameter)
    }
}

/// How long a signal takes through the longest cable of IEEE 1394-1995: 4.5 m, some 5 ns a metre.
pub const CABLE: Duration = Duration::from_nanos(23);

/// Time-outs are a few times as long as a message may take, and time is not endless.
pub fn check_within(setup: &Setup) -> Result<(), Failure> {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    if setup.within <= A_YEAR {
        return Ok(());
    }
    let within = show_duration_ns(setup.within.as_nanos() as u64);
    Err(Failure::usage(format!("--within {within}: a message may take a year at most")))
}

/// A topology as it is typed: its name, or a file of links.
pub fn topology(text: &str) -> Result<Topology, Failure> {
    let why = match text.parse() {
        Ok(topology) => return Ok(topology),
        Err(why) => why,
    };
    match named_file(text)? {
        Some(lines) => Topology::of_lines(&lines)
            .map_err(|why| Failure::World(format!("--topology {text}: {why}"))),
        None if text.contains(':') => Err(Failure::usage(format!("--topology: {why}"))),
        None => Err(Failure::neither(text, format!("--topology: {why}; there is no such file"))),
    }
}

/// Values as they are typed: a list of numbers, or a file of them.
fn asked_values(text: &str, group: Group) -> Result<Values, Failure> {
    let why = match Values::read(text, group) {
        Ok(values) => return Ok(values),
        Err(why) => why,
    };
    match named_file(text)? {
        Some(lines) => Values::of_lines(&lines, group)
            .map_err(|why| Failure::World(format!("--values {text}: {why}"))),
        None if text.contains(',') => Err(Failure::usage(format!("--values: {why}"))),
        None => Err(Failure::neither(text, format!("--values: {why}; there is no such file"))),
    }
}

fn asked_quorums(text: &str) -> Result<Quorums, Failure> {
    match quorums(text, "") {
        Err(Failure::Usage(why)) => Err(Failure::usage(format!("--quorum: {why}"))),
        Err(Failure::World(why)) => Err(Failure::World(format!("--quorum: {why}"))),
        read => read,
    }
}

/// A quorum system as it is typed: its name, or a file of sets. What else could have been typed is
/// named if it is neither.
pub fn quorums(text: &str, or: &str) -> Result<Quorums, Failure> {
    quorums_by(text, or, Quorums::of_lines)
}

/// The same, whether any two sets of a file meet or not.
pub fn any_sets(text: &str) -> Result<Quorums, Failure> {
    quorums_by(text, "", Quorums::of_any_lines)
}

fn quorums_by(
    text: &str,
    or: &str,
    read: fn(&str) -> Result<Quorums, String>,
) -> Result<Quorums, Failure> {
    let why: String = match text.parse() {
        Ok(quorums) => return Ok(quorums),
        Err(why) => why,
    };
    match named_file(text)? {
        Some(lines) => read(&lines).map_err(|why| Failure::World(format!("{text}: {why}"))),
        None if text.contains(':') => Err(Failure::Usage(why)),
        None => Err(Failure::neither(text, format!("{why}{or}; there is no such file"))),
    }
}

/// Whether messages from one node to another keep their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum OrderKind {
    /// They do
    Fifo,
    /// They may overtake each other
    Any,
}

impl Choice for OrderKind {
    const ALL: &'static [(Self, &'static str)] = &[(Self::Fifo, "fifo"), (Self::Any, "any")];
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

/// Numbers as they are typed in a list.
pub fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

/// Reads a list of nodes, none of them twice.
pub fn nodes_of(option: &str, text: &str, nodes: u32) -> Result<Vec<u32>, Failure> {
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
