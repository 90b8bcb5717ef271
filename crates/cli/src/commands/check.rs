//! `vorrang check`: every interleaving, and a shortest run to what is wrong.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::json;
use vorrang_algorithms::card::{About, Mistake};
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Bounds, Demands, Faults, Links, Liveness};
use vorrang_protocol::{Graph, Guard, Protocol, parse_duration_ns, show_duration_ns};

use crate::extent::ExtentArgs;
use crate::failure::Failure;
use crate::given::Given;
use crate::interrupt;
use crate::lookup;
use crate::options::{OrderKind, SetupArgs, name};
use crate::output::{BAD, DIM, RESET, print, print_json, say_aside};
use crate::problem::Query;
use crate::problem::channels::{Channels, Layer};
use crate::problem::election_question::ElectionCheckArgs;
use crate::problem::group_question::GroupCheckArgs;
use crate::problem::multicast_question::MulticastCheckArgs;
use crate::problem::mutex_question::MutexCheckArgs;
use crate::table::{table, wrapped};
use crate::values::whole;

pub(crate) use crate::answer::Answer;

/// Explore every interleaving of an algorithm and show a shortest counterexample
///
/// Every order in which requests can be made and messages can arrive is followed. The outcome is
/// verified (all states were explored, without a violation), violated (with a shortest
/// counterexample), or bounded (no violation within the bounds). When the state space is too large,
/// --walks takes some runs at random.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang check ricart-agrawala --nodes 3 --entries 2\n  \
    vorrang check ricart-agrawala --flaw list\n  \
    vorrang check ricart-agrawala --flaw deferred-never-cleared\n  \
    vorrang check lamport --order any\n  \
    vorrang check bully --crashes 1\n  \
    vorrang check central --nodes 2 --losses 1 --reliable\n  \
    vorrang check echo --nodes 4 --topology ring\n  \
    vorrang check virtual-synchrony --happens suspect:1/multicast:7/join\n  \
    vorrang check ricart-agrawala --property ordering,no-starvation\n  \
    vorrang check ricart-agrawala --nodes 6 --entries 3 --time 10m\n  \
    vorrang check ricart-agrawala --nodes 9 --entries 5 --walks 1000 --depth 500\n\n\
    Ctrl-C ends a search with all that was seen, as bounded; a second one at once.\n\n\
    Exit codes: 0 verified, 1 violated, 2 wrong use, 3 bounded, 4 I/O error.")]
pub(crate) struct Check {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    args: Given<CheckArgs>,
    /// Write the counterexample, if there is one, to this file; compressed if its name ends in .zst
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace: Option<PathBuf>,
}

const MOST_THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);
const DEFAULT_MIB: u64 = 8192;

/// What is asked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// How many nodes, N [default: 3, or as many as show the flaw]
    #[arg(long, short, value_parser = whole(1..=64_u32))]
    pub(crate) nodes: Option<u32>,
    /// Whether messages from one node to another keep their order [default: what the algorithm
    /// assumes]
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderKind>,
    /// No message takes longer than this, and clocks run at the same rate; --within is what an
    /// algorithm assumes [default: that, if it assumes a bound; else no bound]
    #[arg(long, value_name = "TIME", value_parser = parse_timely)]
    pub(crate) timely: Option<Duration>,
    /// Let messages take any time, also where the algorithm assumes a bound
    #[arg(long)]
    pub(crate) asynchronous: bool,
    /// Build in a known mistake; `list` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) flaw: Option<String>,
    /// Put a layer of reliable channels under the algorithm: sequence numbers, acknowledgements,
    /// time-outs. Messages take no longer than the layer assumes, unless --asynchronous
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "correct")]
    pub(crate) reliable: Option<Channels>,
    #[command(flatten, next_help_heading = "Set-up")]
    pub(crate) setup: SetupArgs,
    #[command(flatten, next_help_heading = "Faults")]
    pub(crate) budget: BudgetArgs,
    #[command(flatten, next_help_heading = "Mutual exclusion")]
    pub(crate) mutex: MutexCheckArgs,
    #[command(flatten, next_help_heading = "Election")]
    pub(crate) election: ElectionCheckArgs,
    #[command(flatten, next_help_heading = "Reliable multicast")]
    pub(crate) multicast: MulticastCheckArgs,
    #[command(flatten, next_help_heading = "Group communication")]
    pub(crate) group: GroupCheckArgs,
    #[command(flatten, next_help_heading = "Properties")]
    pub(crate) demand: DemandArgs,
    /// How many threads search [default: one a core]
    #[arg(long, help_heading = "Bounds", value_parser = whole(NonZeroUsize::MIN..=MOST_THREADS))]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Follow no run further than this many steps
    #[arg(long, value_name = "STEPS", help_heading = "Bounds")]
    #[arg(value_parser = whole(0..=u32::MAX))]
    pub(crate) max_depth: Option<u32>,
    /// Stop when more states than this are known
    #[arg(long, value_name = "STATES", help_heading = "Bounds")]
    #[arg(value_parser = whole(0..=u64::MAX))]
    pub(crate) max_states: Option<u64>,
    /// Stop when the search takes more memory than this
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MIB, help_heading = "Bounds")]
    #[arg(value_parser = whole(0..=u64::MAX >> 20))]
    pub(crate) max_memory: u64,
    #[command(flatten)]
    pub(crate) extent: ExtentArgs,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// How much may go wrong, in all.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// How many nodes may crash, at any time [default: as many as the algorithm or flaw is about]
    #[arg(long, value_name = "NODES", value_parser = whole(0..=u8::MAX))]
    crashes: Option<u8>,
    /// How many crashed nodes may restart [default: as many as the flaw is about]
    #[arg(long, value_name = "NODES", value_parser = whole(0..=u8::MAX))]
    restarts: Option<u8>,
    /// How many messages may be lost [default: as many as the flaw is about; 1 for multicast]
    #[arg(long, value_name = "MESSAGES", value_parser = whole(0..=u8::MAX))]
    losses: Option<u8>,
    /// How many messages may arrive twice [default: as many as the flaw is about]
    #[arg(long, value_name = "MESSAGES", value_parser = whole(0..=u8::MAX))]
    duplicates: Option<u8>,
    /// A crash may also lose the messages of the node that are in flight
    #[arg(long)]
    severing: bool,
}

/// Properties, whatever the problem.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemandArgs {
    /// No node may wait for ever in any fair run, in which every message arrives and every timer
    /// runs out; without this, only that a waiting node can still get in
    #[arg(long)]
    pub(crate) fair: bool,
    /// Leave out the invariants of the algorithm's proof: with more faults than it is made for they
    /// break first, which says nothing yet about its promises
    #[arg(long)]
    pub(crate) no_invariants: bool,
}

impl CheckArgs {
    /// How many nodes may crash, if that was said.
    pub(crate) const fn crashes(&self) -> Option<u8> {
        self.budget.crashes
    }

    /// How many nodes may come up again, if that was said.
    pub(crate) const fn restarts(&self) -> Option<u8> {
        self.budget.restarts
    }

    /// How far to look.
    pub(crate) fn bounds(&self) -> Bounds {
        let memory_bytes = Some(self.max_memory.saturating_mul(1 << 20));
        let (depth, states, time) = (self.max_depth, self.max_states, self.extent.time());
        Bounds::default()
            .depth(depth)
            .states(states)
            .memory_bytes(memory_bytes)
            .time(time)
            .fingerprint(self.extent.fingerprint())
    }

    /// With how many threads: one a core, if nothing is said.
    pub(crate) fn threads(&self) -> NonZeroUsize {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(cores)
    }

    /// What lies between the nodes: as timely as was said, or else as the algorithm assumes.
    pub(crate) fn links(&self, about: &About, setup: &Setup, order: OrderKind) -> Links {
        let assumed = self.is_timely(about).then_some(setup.within);
        let within = self.timely.or(assumed).filter(|_| !self.asynchronous);
        Links::from(vorrang_check::Order::from(order)).within(within)
    }

    /// Whether anything here believes that messages take no longer than some time.
    const fn is_timely(&self, about: &About) -> bool {
        about.assumes.timely || self.reliable.is_some()
    }

    /// The order of messages: as was said, or else as is assumed; reliable channels assume nothing.
    pub(crate) fn order(&self, assumed: impl Into<OrderKind>) -> OrderKind {
        let assumed = if self.reliable.is_some() { OrderKind::Any } else { assumed.into() };
        self.order.unwrap_or(assumed)
    }

    /// How often reliable channels try again: as often as it takes if so many messages are lost.
    pub(crate) fn tries(&self) -> u8 {
        self.budget.losses.unwrap_or(0).max(1)
    }

    /// How many messages may be lost, if that was said.
    pub(crate) const fn losses(&self) -> Option<u8> {
        self.budget.losses
    }

    /// How many messages may arrive twice, if that was said.
    pub(crate) const fn duplicates(&self) -> Option<u8> {
        self.budget.duplicates
    }

    /// The layer of reliable channels, if there is one.
    pub(crate) fn layer(&self, setup: &Setup) -> Option<Layer> {
        self.reliable.map(|how| Layer::checked(how, setup.within, self.tries()))
    }

    /// Faults; so many crashes and restarts, if nothing is said of them.
    pub(crate) fn faults(&self, usual: (u8, u8)) -> Faults {
        self.faults_of(usual, (0, 0))
    }

    /// The same, with so many losses and duplicates if nothing is said of these.
    pub(crate) fn faults_of(
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
    }

    /// Refuses options that would change nothing, as if they had been looked at.
    fn check_sense(&self, about: &About) -> Result<(), Failure> {
        self.extent.check_sense(&[
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
            [Election::NAME, Detection::NAME, Grouping::NAME].contains(&about.problem);
        let are_usual = is_about_them || self.flaw.is_some();
        let crashes = budget.crashes.unwrap_or(u8::from(are_usual));
        let restarts = budget.restarts.unwrap_or(0);
        let why = match crashes {
            0 if restarts > 0 => format!("--restarts {restarts}: say --crashes"),
            0 if budget.severing => "--severing: say --crashes".to_owned(),
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

    /// Of what the proof of an algorithm rests on, what must hold.
    pub(crate) fn guards<P: Protocol>(&self, guards: &[Guard<P>]) -> Vec<Guard<P>> {
        if self.demand.no_invariants { Vec::new() } else { guards.to_vec() }
    }

    /// Properties besides what the monitor says, for fair runs too if that is wanted.
    pub(crate) fn demands<P: Protocol>(
        &self,
        guards: &[Guard<P>],
        graph: Option<Graph>,
        fair: bool,
    ) -> Demands<P> {
        let liveness = if fair { Liveness::Fair } else { Liveness::Possible };
        Demands::default().liveness(liveness).invariants(self.guards(guards)).graph(graph)
    }

    /// How a question begins that is to be asked again.
    pub(crate) fn line(&self, about: &About, setup: &Setup, order: OrderKind) -> String {
        let mut text = format!("vorrang check {}", about.name);
        if let Some(flaw) = &self.flaw {
            text += &format!(" --flaw {flaw}");
        }
        text += &format!(" {} --order {}", setup.text(about.takes), name(&order));
        text += match self.reliable {
            None => "",
            Some(Channels::Correct) => " --reliable",
            Some(Channels::NoDuplicateFilter) => " --reliable=no-duplicate-filter",
        };
        if let Some(time) = self.timely {
            text += &format!(" --timely {}", show_duration_ns(time.as_nanos() as u64));
        }
        let budget = &self.budget;
        let flags = [
            (self.asynchronous, "asynchronous"),
            (budget.severing, "severing"),
            (self.demand.fair, "fair"),
            (self.demand.no_invariants, "no-invariants"),
        ];
        for (set, flag) in flags {
            text += &if set { format!(" --{flag}") } else { String::new() };
        }
        let counts = [
            ("crashes", budget.crashes.map(u64::from)),
            ("restarts", budget.restarts.map(u64::from)),
            ("losses", budget.losses.map(u64::from)),
            ("duplicates", budget.duplicates.map(u64::from)),
            ("max-depth", self.max_depth.map(u64::from)),
            ("max-states", self.max_states),
            ("max-memory", Some(self.max_memory).filter(|&mib| mib != DEFAULT_MIB)),
        ];
        for (option, count) in counts {
            text += &count.map_or(String::new(), |count| format!(" --{option} {count}"));
        }
        text + &self.extent.options()
    }
}

impl Check {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        let (about, args) = (entry.algorithm.about(), &self.args.args);
        self.args.check_fit(&[&about])?;
        args.check_sense(&about)?;
        if args.flaw.as_deref() == Some("list") {
            return list_flaws(&about, args.json);
        }
        let query = match &args.flaw {
            None => entry.correct.question(args)?,
            Some(name) => lookup::flawed(entry, name)?.question(args)?,
        };
        if !args.json {
            print(&format!("{}\n\n", query.line))?;
            for note in &query.remarks.notes {
                print(&wrapped(&format!("{DIM}note: {note}{RESET}\n")))?;
            }
            print_warnings(&query.remarks.warnings)?;
        }
        interrupt::listen()?;
        let Query { line, remarks, answer } = query;
        let mut answer = answer();
        let late = if answer.violation.is_none() { remarks.if_fine } else { Vec::new() };
        if args.json {
            answer.warnings = [remarks.warnings, late].concat();
            print_json(&answer.json(&about, &line, &remarks.notes))?;
        } else {
            print(&answer.text())?;
            print_warnings(&late)?;
        }
        match (&self.trace, &answer.recorded) {
            (Some(path), Some(recorded)) => recorded.save(path)?,
            (Some(path), None) => say_aside(&format!(
                "nothing was violated, so there is no run to write to {}",
                path.display()
            )),
            (None, _) => {}
        }
        match (&answer.violation, answer.bound) {
            (Some(_), _) => Err(Failure::AlreadySaid),
            (None, Some(_)) => Err(Failure::Bounded(None)),
            (None, None) => Ok(()),
        }
    }
}

fn print_warnings(warnings: &[String]) -> Result<(), Failure> {
    for warning in warnings {
        print(&wrapped(&format!("{BAD}warning:{RESET} {warning}\n")))?;
    }
    Ok(())
}

/// How long a message takes at most.
fn parse_timely(text: &str) -> Result<Duration, String> {
    const A_YEAR_NS: u64 = 365 * 24 * 60 * 60 * 1_000_000_000;
    match parse_duration_ns(text)? {
        0 => Err("a message takes some time".to_owned()),
        ns @ 1..=A_YEAR_NS => Ok(Duration::from_nanos(ns)),
        _ => Err("a message may take a year at most".to_owned()),
    }
}

pub(crate) fn one_a_node(option: &str, given: usize, nodes: u32) -> Failure {
    Failure::usage(format!("{option} has {given} values for {nodes} nodes: give one a node"))
}

fn list_flaws(about: &About, json: bool) -> Result<(), Failure> {
    let mistakes = &about.mistakes;
    if json {
        let row = |flaw: &Mistake| {
            json!({
                "flaw": flaw.name,
                "breaks": flaw.breaks,
                "steps": flaw.steps,
                "what": flaw.what,
            })
        };
        return print_json(&mistakes.iter().map(row).collect());
    }
    if mistakes.is_empty() {
        return print(&format!("No mistakes in {} are on record.\n", about.name));
    }
    let mut rows = vec![["FLAW", "BREAKS", "STEPS", "WHAT IS WRONG"].map(str::to_owned).to_vec()];
    rows.extend(mistakes.iter().map(|flaw| {
        let steps = flaw.steps.map_or_else(|| "–".to_owned(), |steps| steps.to_string());
        vec![flaw.name.to_owned(), flaw.breaks.to_owned(), steps, flaw.what.to_owned()]
    }));
    print(&table(&rows))
}
