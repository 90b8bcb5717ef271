//! What a run is a run of: the options that `run` and its kin share, checked against each other.

use clap::ValueEnum;
use vorrang_algorithms::card::{self, Card, Setting, Setup, Span};
use vorrang_algorithms::mutex::spec::{Admission, Exclusion};
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_protocol::Group;
use vorrang_sim::{Distribution, Load, Network, Order, Workload};
use vorrang_trace::Header;

use crate::failure::Failure;
use crate::output::figure;

/// How many messages an entry may take. Nodes that talk to all others also remember something of
/// each, so that memory grows alike.
const MOST_MESSAGES: f64 = 20_000.0;

/// One millisecond.
const DEFAULT_LATENCY: Distribution = Distribution::Constant(1_000_000);

/// The nodes, what their applications do, and the network between them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ScenarioArgs {
    /// How many nodes, N
    #[arg(long, short, default_value_t = 13)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: u32,
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
    /// How long a message takes: 1ms, uniform:1ms..3ms or exp:2ms [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) latency: Option<Distribution>,
    /// Only the first so many nodes ever ask [default: all but those that only serve]
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) hot: Option<u32>,
    /// How many may be inside together, for k-exclusion
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) k: u32,
    #[command(flatten)]
    pub(crate) fixed: FixedArgs,
}

/// What stays the same in all runs of a sweep.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FixedArgs {
    /// Whether messages from one node to another keep their order [default: what is assumed]
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderKind>,
    /// Decides everything that is drawn; the same seed gives the same run
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run even if the network is not what the algorithm assumes, to see it break
    #[arg(long)]
    pub(crate) break_assumptions: bool,
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

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    pub(crate) entries: u64,
    pub(crate) load: LoadKind,
    pub(crate) think: Distribution,
    pub(crate) hold: Distribution,
    pub(crate) latency: Distribution,
    pub(crate) order: OrderKind,
    pub(crate) hot: Option<u32>,
    pub(crate) seed: u64,
}

impl ScenarioArgs {
    /// The one load asked for; heavy if none was.
    pub(crate) fn single_load(&self) -> Result<LoadKind, Failure> {
        match self.load[..] {
            [] => Ok(LoadKind::Heavy),
            [load] => Ok(load),
            _ => Err(Failure::usage(
                "--load takes one value here; 'vorrang compare' and 'vorrang sweep' take several",
            )),
        }
    }

    /// Checks the options against each other and against what the algorithm assumes.
    pub(crate) fn scenario(
        &self,
        card: &'static Card,
        load: LoadKind,
        seed: u64,
    ) -> Result<Scenario, Failure> {
        if load != LoadKind::Heavy && self.think != Distribution::Constant(0) {
            return Err(Failure::usage(format!(
                "--think {} only means something under --load heavy: under {} load a node asks \
                 when all is at rest",
                self.think,
                name(&load),
            )));
        }
        if let Some(hot) = self.hot.filter(|&hot| hot > self.nodes) {
            return Err(Failure::usage(format!(
                "--hot {hot} is more than there are: --nodes {}",
                self.nodes
            )));
        }
        let setting = Setting::new(card, self.nodes, card::Load::Heavy);
        let messages = (card.theory.messages)(&setting).high;
        if messages > MOST_MESSAGES {
            return Err(Failure::usage(format!(
                "--nodes {} is too many for {}: an entry would take up to {messages} messages, and \
                 {MOST_MESSAGES} are as many as fit a simulation",
                self.nodes, card.name
            )));
        }
        let assumed = OrderKind::from(card.order);
        let order = self.fixed.order.unwrap_or(assumed);
        if (assumed, order) == (OrderKind::Fifo, OrderKind::Any) && !self.fixed.break_assumptions {
            return Err(Failure::usage(format!(
                "{} assumes that messages between two nodes keep their order: use --order fifo, \
                 or --break-assumptions to see it break",
                card.name
            )));
        }
        Ok(Scenario {
            card,
            setup: Setup { group: Group::of(self.nodes), k: self.k },
            entries: self.entries,
            load,
            think: self.think,
            hold: self.hold,
            latency: self.latency.unwrap_or(DEFAULT_LATENCY),
            order,
            hot: self.hot,
            seed,
        })
    }
}

impl Scenario {
    /// What the simulator's applications do.
    pub(crate) fn workload(&self) -> Workload<Command> {
        let load = match self.load {
            LoadKind::Heavy => Load::Closed { think: self.think },
            LoadKind::Light => Load::OneAtATime,
            LoadKind::Burst => Load::Burst,
        };
        Workload::new(load, Command::Acquire(Claim::Exclusive), Command::Release)
            .acquire_any_of(self.card.claims.iter().copied().map(Command::Acquire).collect())
            .entries(self.entries)
            .hold(self.hold)
            .hot(self.contenders())
    }

    /// How many nodes, the first ones, ever ask.
    pub(crate) fn contenders(&self) -> u32 {
        self.hot.unwrap_or_else(|| self.card.contenders(self.nodes()))
    }

    /// N.
    pub(crate) const fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// How many may be inside together, if the algorithm asks.
    pub(crate) fn k(&self) -> Option<u32> {
        asked_k(self.card, self.setup)
    }

    /// Who may be inside together.
    pub(crate) fn monitor(&self) -> Exclusion {
        Exclusion::new((self.card.admission)(&self.setup))
    }

    /// The simulator's network.
    pub(crate) fn network(&self) -> Network {
        Network { latency: self.latency, order: self.order.into() }
    }

    /// What the theory needs to know; none where it has nothing to say of times, because latencies
    /// or stays vary or the load is neither of its two ends.
    pub(crate) fn setting(&self) -> Option<Setting> {
        let load = match self.load {
            LoadKind::Light => card::Load::Light,
            LoadKind::Heavy if self.think == Distribution::Constant(0) => card::Load::Heavy,
            LoadKind::Heavy | LoadKind::Burst => return None,
        };
        let is_plain =
            self.latency.is_constant() && self.hold.is_constant() && self.latency.mean_ns() > 0.0;
        is_plain.then(|| Setting {
            nodes: self.nodes(),
            contenders: self.contenders(),
            k: self.setup.k,
            load,
            hold: self.hold.mean_ns() / self.latency.mean_ns(),
        })
    }

    /// How a recorded run of this scenario begins.
    pub(crate) fn header(&self) -> Header {
        Header::new(self.card.name, self.nodes()).with("options", &self.options())
    }

    /// The options in one line, as they would be typed for the simulator.
    pub(crate) fn options(&self) -> String {
        let mut text = format!(
            "{} --latency {} --order {}",
            self.options_of_any_network(),
            self.latency,
            name(&self.order)
        );
        if OrderKind::from(self.card.order) == OrderKind::Fifo && self.order == OrderKind::Any {
            text.push_str(" --break-assumptions");
        }
        text
    }

    /// The options that do not speak of the network.
    pub(crate) fn options_of_any_network(&self) -> String {
        let mut text = format!(
            "--nodes {} --entries {} --load {} --hold {} --seed {}",
            self.nodes(),
            self.entries,
            name(&self.load),
            self.hold,
            self.seed
        );
        if self.think != Distribution::Constant(0) {
            text.push_str(&format!(" --think {}", self.think));
        }
        if let Some(k) = self.k() {
            text.push_str(&format!(" --k {k}"));
        }
        if let Some(hot) = self.hot {
            text.push_str(&format!(" --hot {hot}"));
        }
        text
    }
}

/// How many may be inside together, if the algorithm asks.
pub(crate) fn asked_k(card: &Card, setup: Setup) -> Option<u32> {
    match (card.admission)(&setup) {
        Admission::UpTo(k) => Some(k),
        Admission::One | Admission::Compatible => None,
    }
}

/// What an option's value is called on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A cost as text: `24`, or `0…24` where it is a range, or `0…12…24` with what is typical.
pub(crate) fn span(span: Span) -> String {
    let (low, high) = (figure(span.low), figure(span.high));
    match span.typical.map(figure) {
        _ if low == high => low,
        Some(typical) if typical != low && typical != high => format!("{low}…{typical}…{high}"),
        Some(_) | None => format!("{low}…{high}"),
    }
}
