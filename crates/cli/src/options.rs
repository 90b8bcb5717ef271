//! The options of a run: what every run has, and what only runs of one problem have.

use std::fmt::Write as _;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use vorrang_algorithms::card::{About, Order};
use vorrang_protocol::NodeId;
use vorrang_sim::{Distribution, Fault, Faults, Network, Share, parse_duration_ns};

use crate::failure::Failure;
use crate::problem::election::ElectionArgs;
use crate::problem::mutex::MutexArgs;
use crate::values::Numbers;

/// One millisecond.
const DEFAULT_LATENCY: Distribution = Distribution::Constant(1_000_000);

/// What a run is a run of, before it is checked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten, next_help_heading = "What goes wrong")]
    pub(crate) faults: FaultArgs,
    #[command(flatten, next_help_heading = "Mutual exclusion")]
    pub(crate) mutex: MutexArgs,
    #[command(flatten, next_help_heading = "Election")]
    pub(crate) election: ElectionArgs,
}

/// The nodes and the network between them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CommonArgs {
    /// How many nodes, N
    #[arg(long, short, default_value_t = 13)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: u32,
    /// How long a message takes: 1ms, uniform:1ms..3ms or exp:2ms [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) latency: Option<Distribution>,
    /// Whether messages from one node to another keep their order [default: what is assumed]
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderKind>,
    /// How long an algorithm with time-outs believes a message to take at most [default: as it is]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) within: Option<u64>,
    /// Decides everything that is drawn; the same seed gives the same run
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run even if the network is not what the algorithm assumes, to see it break
    #[arg(long)]
    pub(crate) break_assumptions: bool,
}

/// What goes wrong.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FaultArgs {
    /// How many messages are lost, such as 1%
    #[arg(long, value_name = "SHARE")]
    pub(crate) loss: Option<Share>,
    /// How many messages arrive twice, such as 0.1%
    #[arg(long, value_name = "SHARE")]
    pub(crate) duplicate: Option<Share>,
    /// Nodes that crash, and when: 2@50ms; a time of 0 is before anything happens
    #[arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_moment)]
    pub(crate) crash: Vec<(NodeId, u64)>,
    /// Nodes that come up again, and when: 2@80ms
    #[arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_moment)]
    pub(crate) restart: Vec<(NodeId, u64)>,
    /// Messages that are lost, by the numbers that a trace gives them
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub(crate) lose: Vec<u64>,
}

fn parse_moment(text: &str) -> Result<(NodeId, u64), String> {
    let wrong = || format!("'{text}' is not a node and a time: write 2@50ms");
    let (node, time) = text.split_once('@').ok_or_else(wrong)?;
    let at_ns = parse_duration_ns(time).map_err(|error| error.to_string())?;
    Ok((NodeId(node.parse().map_err(|_| wrong())?), at_ns))
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
    assumed: OrderKind,
    pub(crate) within_ns: u64,
    timely: bool,
    pub(crate) seed: u64,
    pub(crate) faults: Option<Faults>,
}

impl RunArgs {
    /// Checks the network against what the algorithm assumes.
    pub(crate) fn between(&self, about: &About) -> Result<Between, Failure> {
        let assumed = OrderKind::from(about.order);
        let order = self.common.order.unwrap_or(assumed);
        let breaks = self.common.break_assumptions;
        if (assumed, order) == (OrderKind::Fifo, OrderKind::Any) && !breaks {
            return Err(Failure::usage(format!(
                "{} assumes that messages between two nodes keep their order: use --order fifo, \
                 or --break-assumptions to see it break",
                about.name
            )));
        }
        let latency = self.common.latency.unwrap_or(DEFAULT_LATENCY);
        let bound_ns = match latency {
            Distribution::Constant(ns) | Distribution::Uniform(_, ns) => Some(ns),
            Distribution::Exponential(_) => None,
        };
        let within_ns = match (self.common.within, bound_ns) {
            (Some(within_ns), bound) => {
                if about.timely && !breaks && bound.is_none_or(|bound_ns| within_ns < bound_ns) {
                    return Err(Failure::usage(format!(
                        "{} assumes that no message takes longer than --within: with --latency \
                         {latency} some do; --break-assumptions lets you see it break",
                        about.name
                    )));
                }
                within_ns
            }
            (None, Some(bound_ns)) => bound_ns,
            (None, None) if about.timely => {
                return Err(Failure::usage(format!(
                    "--latency {latency} has no bound: say with --within how long {} believes a \
                     message to take, and --break-assumptions",
                    about.name
                )));
            }
            (None, None) => 0,
        };
        let faults = self.faults.faults(self.common.nodes)?;
        let seed = self.common.seed;
        Ok(Between { latency, order, assumed, within_ns, timely: about.timely, seed, faults })
    }
}

impl FaultArgs {
    fn faults(&self, nodes: u32) -> Result<Option<Faults>, Failure> {
        let mut script: Vec<(u64, Fault)> = Vec::new();
        script.extend(self.crash.iter().map(|&(node, at_ns)| (at_ns, Fault::Crash(node))));
        script.extend(self.restart.iter().map(|&(node, at_ns)| (at_ns, Fault::Restart(node))));
        script.sort_by_key(|&(at_ns, _)| at_ns);
        for (_, Fault::Crash(node) | Fault::Restart(node)) in &script {
            if node.0 >= nodes {
                return Err(Failure::usage(format!(
                    "node {node} cannot crash: the last node is {}",
                    nodes - 1
                )));
            }
        }
        let (loss, duplication) =
            (self.loss.unwrap_or_default(), self.duplicate.unwrap_or_default());
        let faults = Faults { script, loss, duplication, lost: self.lose.clone() };
        Ok((faults != Faults::default()).then_some(faults))
    }
}

impl Between {
    pub(crate) fn network(&self) -> Network {
        Network { latency: self.latency, order: self.order.into() }
    }

    /// As it would be typed.
    pub(crate) fn options(&self) -> String {
        let mut text = format!("--latency {} --order {}", self.latency, name(&self.order));
        if self.assumed == OrderKind::Fifo && self.order == OrderKind::Any {
            text.push_str(" --break-assumptions");
        }
        if self.timely {
            let _ = write!(text, " --within {}", vorrang_sim::show_duration_ns(self.within_ns));
        }
        let Some(faults) = &self.faults else { return text };
        for &(at_ns, fault) in &faults.script {
            let at = vorrang_sim::show_duration_ns(at_ns);
            let _ = match fault {
                Fault::Crash(node) => write!(text, " --crash {node}@{at}"),
                Fault::Restart(node) => write!(text, " --restart {node}@{at}"),
            };
        }
        if faults.loss != Share::default() {
            let _ = write!(text, " --loss {}", faults.loss);
        }
        if faults.duplication != Share::default() {
            let _ = write!(text, " --duplicate {}", faults.duplication);
        }
        for number in &faults.lost {
            let _ = write!(text, " --lose {number}");
        }
        text
    }
}

/// What an option's value is called on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The options of a run, each with any number of values: what a sweep goes through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes(pub(crate) Vec<(String, Vec<String>)>);

/// Options whose commas are part of one value.
const NO_AXIS: [&str; 4] = ["crash", "restart", "lose", "initiators"];

impl Axes {
    /// Every combination, the last axis varying fastest, as the options of one run each.
    pub(crate) fn points(&self) -> Result<Vec<RunArgs>, Failure> {
        let mut points: Vec<Vec<String>> = vec![Vec::new()];
        for (option, values) in &self.0 {
            let with = |point: &Vec<String>, value: &String| {
                let mut point = point.clone();
                point.push(format!("--{}", option.replace('_', "-")));
                point.extend((!value.is_empty()).then(|| value.clone()));
                point
            };
            points = points
                .iter()
                .flat_map(|point| values.iter().map(move |value| with(point, value)))
                .collect();
        }
        points.into_iter().map(parse).collect()
    }

    /// Adds an axis, unless it is there.
    pub(crate) fn or(mut self, option: &str, values: &[&str]) -> Self {
        if !self.0.iter().any(|(known, _)| known == option) {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            self.0.push((option.to_owned(), values));
        }
        self
    }
}

/// Reads the options of one run.
fn parse(arguments: Vec<String>) -> Result<RunArgs, Failure> {
    let command = RunArgs::augment_args(Command::new("run").no_binary_name(true));
    let matches = command.try_get_matches_from(arguments);
    let wrong = |error: clap::Error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
    };
    RunArgs::from_arg_matches(&matches.map_err(wrong)?).map_err(wrong)
}

impl Args for Axes {
    fn augment_args(mut command: Command) -> Command {
        let run = RunArgs::augment_args(Command::new("run"));
        for arg in run.get_arguments() {
            let takes_value = arg.get_action().takes_values();
            let mut axis = arg.clone().default_value(None).required(false);
            if takes_value {
                axis = axis.value_parser(clap::builder::StringValueParser::new());
                axis = axis.value_delimiter(None).action(clap::ArgAction::Set);
            }
            command = command.arg(axis);
        }
        command
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Axes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let run = RunArgs::augment_args(Command::new("run"));
        let mut axes = Self::default();
        for arg in run.get_arguments() {
            let id = arg.get_id().as_str();
            if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
                continue;
            }
            let values = if !arg.get_action().takes_values() {
                vec![String::new()]
            } else {
                let text = matches.get_one::<String>(id).cloned().unwrap_or_default();
                if NO_AXIS.contains(&id) { vec![text] } else { values(&text) }
            };
            axes.0.push((id.to_owned(), values));
        }
        Ok(axes)
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `4`, `2..=256*2`, `1ms,exp:2ms`: ranges of numbers spelled out, anything else as it is.
fn values(text: &str) -> Vec<String> {
    let spell = |part: &str| match part.parse::<Numbers>() {
        Ok(Numbers(numbers)) => numbers.iter().map(ToString::to_string).collect(),
        Err(_) => vec![part.to_owned()],
    };
    text.split(',').flat_map(|part| spell(part.trim())).collect()
}
