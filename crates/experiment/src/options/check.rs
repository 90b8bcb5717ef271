//! The question to the checker.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use vorrang_algorithms::card::About;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::group::locks::flaws::LocksFlaw;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Bounds, Demands, Faults, Links, Liveness};
use vorrang_protocol::{Graph, Guard, NodeId, Protocol, parse_duration_ns, show_duration_ns};

use super::check_limits::CheckLimitArgs;
use super::choice::{Choice, name};
use super::command_line::CommandLine;
use super::election::ElectionCheckArgs;
use super::group::GroupCheckArgs;
use super::multicast::MulticastCheckArgs;
use super::mutex::MutexCheckArgs;
use super::views::ViewsCheckArgs;
use super::{OrderKind, SetupArgs, list, within};
use crate::failure::Failure;
#[cfg(feature = "clap")]
use crate::values::whole;

/// How many threads may search.
const THREADS: RangeInclusive<NonZeroUsize> =
    NonZeroUsize::MIN..=NonZeroUsize::MIN.saturating_add(1023);
const DEFAULT_MIB: u64 = 8192;

/// The layer as it should be, or with a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Channels {
    /// Exactly-once delivery, in order
    Correct,
    /// A known mistake: retransmitted messages are delivered again
    NoDuplicateFilter,
}

/// How many nodes a check may have.
const NODES: RangeInclusive<u32> = 1..=64;

/// The question to the checker.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct CheckArgs {
    /// How many nodes, N [default: 3, or as many as show the flaw]
    #[cfg_attr(feature = "clap", arg(long, short, value_parser = whole(NODES)))]
    pub nodes: Option<u32>,
    /// Whether messages from one node to another keep their order [default: what the
    /// algorithm assumes]
    #[cfg_attr(feature = "clap", arg(long, value_enum))]
    pub order: Option<OrderKind>,
    /// No message takes longer than this, and clocks run at the same rate; --within is what an
    /// algorithm assumes [default: that, if it assumes a bound; else no bound]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", value_parser = parse_timely))]
    pub timely: Option<Duration>,
    /// Let messages take any time, also where the algorithm assumes a bound
    #[cfg_attr(feature = "clap", arg(long))]
    pub asynchronous: bool,
    /// Build in a known mistake; `list` lists them
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub flaw: Option<String>,
    /// Put a layer of reliable channels under the algorithm: sequence numbers, acknowledgements,
    /// time-outs. Messages take no longer than the layer assumes, unless --asynchronous
    #[cfg_attr(
        feature = "clap",
        arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true)
    )]
    #[cfg_attr(feature = "clap", arg(default_missing_value = "correct"))]
    pub reliable: Option<Channels>,
    /// The set-up.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Set-up"))]
    pub setup: SetupArgs,
    /// The budget of faults.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Faults"))]
    pub budget: BudgetArgs,
    /// The options of a check of a lock.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Mutual exclusion"))]
    pub mutex: MutexCheckArgs,
    /// Locks on views.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Locks on views"))]
    pub views: ViewsCheckArgs,
    /// The callers of an election.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Election"))]
    pub election: ElectionCheckArgs,
    /// The multicasts of members.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Reliable multicast"))]
    pub multicast: MulticastCheckArgs,
    /// The plan of a group.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Group communication"))]
    pub group: GroupCheckArgs,
    /// The properties to check.
    #[cfg_attr(feature = "clap", command(flatten, next_help_heading = "Properties"))]
    pub demand: DemandArgs,
    /// How many threads search [default: one a core]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Bounds", value_parser = whole(THREADS)))]
    pub threads: Option<NonZeroUsize>,
    /// Follow no run further than this many steps
    #[cfg_attr(feature = "clap", arg(long, value_name = "STEPS", help_heading = "Bounds"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=u32::MAX)))]
    pub max_depth: Option<u32>,
    /// Stop when more states than this are known
    #[cfg_attr(feature = "clap", arg(long, value_name = "STATES", help_heading = "Bounds"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=u64::MAX)))]
    pub max_states: Option<u64>,
    /// Stop when the search takes more memory than this
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "MIB",
            default_value_t = Self::default().max_memory,
            help_heading = "Bounds"
        )
    )]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=u64::MAX >> 20)))]
    pub max_memory: u64,
    /// How far to look.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub limits: CheckLimitArgs,
}

impl Default for CheckArgs {
    fn default() -> Self {
        Self {
            nodes: None,
            order: None,
            timely: None,
            asynchronous: false,
            flaw: None,
            reliable: None,
            setup: SetupArgs::default(),
            budget: BudgetArgs::default(),
            mutex: MutexCheckArgs::default(),
            views: ViewsCheckArgs::default(),
            election: ElectionCheckArgs::default(),
            multicast: MulticastCheckArgs::default(),
            group: GroupCheckArgs::default(),
            demand: DemandArgs::default(),
            threads: None,
            max_depth: None,
            max_states: None,
            max_memory: DEFAULT_MIB,
            limits: CheckLimitArgs::default(),
        }
    }
}

/// How much may go wrong, in all.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct BudgetArgs {
    /// How many nodes may crash, at any time [default: as many as the algorithm or flaw is about]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODES", value_parser = whole(0..=u8::MAX))
    )]
    pub crashes: Option<u8>,
    /// Nodes that never crash, as in 1,2: the others may
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "NODES", value_parser = whole(0..=63_u32))
    )]
    pub spare: Vec<u32>,
    /// How many crashed nodes may restart [default: as many as the flaw is about]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODES", value_parser = whole(0..=u8::MAX))
    )]
    pub restarts: Option<u8>,
    /// How many messages may be lost [default: as many as the flaw is about; 1 for multicast]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "MESSAGES", value_parser = whole(0..=u8::MAX))
    )]
    pub losses: Option<u8>,
    /// How many messages may arrive twice [default: as many as the flaw is about]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "MESSAGES", value_parser = whole(0..=u8::MAX))
    )]
    pub duplicates: Option<u8>,
    /// A crash may also lose the messages of the node that are in flight; with --order fifo, on
    /// each
    /// link all from some message on
    #[cfg_attr(feature = "clap", arg(long))]
    pub severing: bool,
}

/// Properties, the same for all problems.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct DemandArgs {
    /// No node may wait for ever in any fair run, in which every message arrives and every timer
    /// runs out; without this, only that a waiting node can still get in
    #[cfg_attr(feature = "clap", arg(long))]
    pub fair: bool,
    /// Leave out the invariants of the algorithm's proof: with more faults than it is made for they
    /// break first, which says nothing yet about its promises
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_invariants: bool,
}

impl CheckArgs {
    /// Refuses values that no check can have.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        within("nodes", self.nodes, &NODES)?;
        within("threads", self.threads, &THREADS)?;
        self.mutex.check()?;
        self.views.check()?;
        self.election.check()?;
        self.multicast.check()
    }

    /// The mistake of locks on views that was asked for, if it is one.
    pub fn slip(&self) -> Option<LocksFlaw> {
        let asked = self.flaw.as_deref().filter(|_| self.views.on_views)?;
        LocksFlaw::named(asked)
    }

    /// How many nodes may crash, if that was said.
    pub const fn crashes(&self) -> Option<u8> {
        self.budget.crashes
    }

    /// How many nodes may come up again, if that was said.
    pub const fn restarts(&self) -> Option<u8> {
        self.budget.restarts
    }

    /// How far to look.
    pub fn bounds(&self) -> Bounds {
        let memory_bytes = Some(self.max_memory.saturating_mul(1 << 20));
        let (depth, states, time) = (self.max_depth, self.max_states, self.limits.time());
        Bounds::default()
            .depth(depth)
            .states(states)
            .memory_bytes(memory_bytes)
            .time(time)
            .fingerprint(self.limits.fingerprint())
    }

    /// With how many threads: one a core, if nothing is said.
    pub fn threads(&self) -> NonZeroUsize {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(cores)
    }

    /// The links: as timely as given, or else as the algorithm assumes.
    pub fn links(&self, about: &About, setup: &Setup, order: OrderKind) -> Links {
        let assumed = self.is_timely(about).then_some(setup.within);
        let within = self.timely.or(assumed).filter(|_| !self.asynchronous);
        Links::from(vorrang_check::Order::from(order)).within(within)
    }

    /// Whether anything here believes that messages take no longer than some time.
    const fn is_timely(&self, about: &About) -> bool {
        about.assumes.timely || self.reliable.is_some()
    }

    /// The order of messages: as was said, or else as is assumed; reliable channels assume nothing.
    pub fn order(&self, assumed: impl Into<OrderKind>) -> OrderKind {
        let assumed = if self.reliable.is_some() { OrderKind::Any } else { assumed.into() };
        self.order.unwrap_or(assumed)
    }

    /// How often reliable channels try again: as often as it takes if so many messages are lost.
    pub fn tries(&self) -> u8 {
        self.budget.losses.unwrap_or(0).max(1)
    }

    /// How many messages may be lost, if that was said.
    pub const fn losses(&self) -> Option<u8> {
        self.budget.losses
    }

    /// How many messages may arrive twice, if that was said.
    pub const fn duplicates(&self) -> Option<u8> {
        self.budget.duplicates
    }

    /// Faults; so many crashes and restarts, if nothing is said of them.
    pub fn faults(&self, usual: (u8, u8)) -> Faults {
        self.faults_of(usual, (0, 0))
    }

    /// The same, with so many losses and duplicates if nothing is said of these.
    pub fn faults_of(
        &self,
        (crashes, restarts): (u8, u8),
        (losses, duplicates): (u8, u8),
    ) -> Faults {
        Faults::NONE
            .crashes(self.budget.crashes.unwrap_or(crashes))
            .restarts(self.budget.restarts.unwrap_or(restarts))
            .losses(self.budget.losses.unwrap_or(losses))
            .duplicates(self.budget.duplicates.unwrap_or(duplicates))
            .severing(self.budget.severing)
            .sparing(self.budget.spare.iter().copied().map(NodeId))
    }

    /// Refuses options that would change nothing, as if they had been looked at.
    pub fn check_sense(&self, about: &About) -> Result<(), Failure> {
        self.limits.check_sense(&[
            (self.max_depth.is_some(), "--max-depth bounds a search: of walks, say --depth"),
            (self.threads.is_some(), "--threads: walks are taken one after the other"),
            (
                self.demand.fair,
                "--fair asks about every run that goes on for ever, and --walks follows none: \
                 leave out one of them",
            ),
        ])?;
        let budget = &self.budget;
        // Some problems are about crashes, and so are the questions about them; so may a flaw be.
        let is_about_them =
            [Election::NAME, Detection::NAME, GroupCommunication::NAME].contains(&about.problem);
        let are_usual = is_about_them || self.views.on_views || self.flaw.is_some();
        let crashes = budget.crashes.unwrap_or(u8::from(are_usual));
        let restarts = budget.restarts.unwrap_or(0);
        let why = match crashes {
            0 if restarts > 0 => format!("--restarts {restarts}: say --crashes"),
            0 if budget.severing => "--severing: say --crashes".to_owned(),
            0 if !budget.spare.is_empty() => {
                format!("--spare {}: say --crashes", list(&budget.spare))
            }
            _ if self.asynchronous && self.timely.is_some() => {
                "--timely and --asynchronous: either no message takes longer, or some take for ever"
                    .to_owned()
            }
            _ if self.asynchronous && !self.is_timely(about) => {
                format!("--asynchronous: {} does not assume anything of time", about.name)
            }
            _ if self.reliable.is_some() && self.mutex.asks_of_causes() => {
                "--property and --bypass are about which messages have arrived, and with \
                 --reliable acknowledgements do, of which the algorithm knows nothing"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(Failure::Usage(why))
    }

    /// The invariants of the algorithm's proof that are to be checked.
    pub fn guards<P: Protocol>(&self, guards: &[Guard<P>]) -> Vec<Guard<P>> {
        if self.demand.no_invariants { Vec::new() } else { guards.to_vec() }
    }

    /// Properties besides what the monitor says, for fair runs too if that is wanted.
    pub fn demands<P: Protocol>(
        &self,
        guards: &[Guard<P>],
        graph: Option<Graph>,
        fair: bool,
    ) -> Demands<P> {
        let liveness = if fair { Liveness::Fair } else { Liveness::Possible };
        Demands::default().liveness(liveness).invariants(self.guards(guards)).graph(graph)
    }

    /// How a question begins that is to be asked again.
    pub fn line(&self, about: &About, setup: &Setup, order: OrderKind) -> CommandLine {
        let mut line = CommandLine::new(format!("vorrang check {}", about.name));
        line.maybe("flaw", self.flaw.as_ref());
        line.setup(about, setup);
        line.option("order", name(&order));
        match self.reliable {
            None => {}
            Some(Channels::Correct) => line.flag("reliable"),
            Some(Channels::NoDuplicateFilter) => line.flag("reliable=no-duplicate-filter"),
        }
        line.maybe("timely", self.timely.map(|time| show_duration_ns(time.as_nanos() as u64)));
        let budget = &self.budget;
        let flags = [
            (self.asynchronous, "asynchronous"),
            (budget.severing, "severing"),
            (self.demand.fair, "fair"),
            (self.demand.no_invariants, "no-invariants"),
        ];
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            line.flag(flag);
        }
        line.maybe("crashes", budget.crashes);
        if !budget.spare.is_empty() {
            line.option("spare", list(&budget.spare));
        }
        line.maybe("restarts", budget.restarts);
        line.maybe("losses", budget.losses);
        line.maybe("duplicates", budget.duplicates);
        line.maybe("max-depth", self.max_depth);
        line.maybe("max-states", self.max_states);
        line.maybe("max-memory", Some(self.max_memory).filter(|&mib| mib != DEFAULT_MIB));
        self.limits.add_to(&mut line);
        line
    }
}

/// How long a message takes at most.
pub fn parse_timely(text: &str) -> Result<Duration, String> {
    const A_YEAR_NS: u64 = 365 * 24 * 60 * 60 * 1_000_000_000;
    match parse_duration_ns(text)? {
        0 => Err("a message takes some time".to_owned()),
        ns @ 1..=A_YEAR_NS => Ok(Duration::from_nanos(ns)),
        _ => Err("a message may take a year at most".to_owned()),
    }
}

/// The error for a list that has not one value for each node.
pub fn one_a_node(option: &str, given: usize, nodes: u32) -> Failure {
    let values = if given == 1 { "value" } else { "values" };
    Failure::usage(format!("{option} has {given} {values} for {nodes} nodes: give one a node"))
}

impl Choice for Channels {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Correct, "correct"), (Self::NoDuplicateFilter, "no-duplicate-filter")];
}
