//! `vorrang check`: every interleaving, and a shortest run to what is wrong.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Mistake};
use vorrang_algorithms::setup::Setup;
use vorrang_check::{Demands, Faults, Liveness};
use vorrang_protocol::{Invariant, Protocol};

use crate::failure::Failure;
use crate::lookup;
use crate::options::{Given, OrderKind, SetupArgs, name};
use crate::output::{BAD, BOLD, DIM, GOOD, RESET, figure, grouped, print, print_json, table};
use crate::problem::election::ElectionCheckArgs;
use crate::problem::mutex::MutexCheckArgs;

/// Explore every interleaving of an algorithm and show a shortest run to what is wrong
///
/// Every order in which requests can be made and messages can arrive is followed. The outcome is
/// verified (all states were seen and nothing was wrong), violated (with a shortest run to it), or
/// bounded (nothing was wrong as far as the bounds allowed to look).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang check ricart-agrawala --nodes 3 --entries 2\n  \
    vorrang check ricart-agrawala --flaw list\n  \
    vorrang check ricart-agrawala --flaw deferred-never-cleared\n  \
    vorrang check lamport --order any\n  \
    vorrang check bully --crashes 1\n  \
    vorrang check ricart-agrawala --property ordering,no-starvation")]
pub(crate) struct Check {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    args: Given<CheckArgs>,
}

/// What is asked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// How many nodes, N [default: 3, or as many as show the flaw]
    #[arg(long, short, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) nodes: Option<u32>,
    /// Whether messages from one node to another keep their order [default: what is assumed]
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderKind>,
    /// Let messages take for ever, also where the algorithm assumes that they do not
    #[arg(long)]
    pub(crate) asynchronous: bool,
    /// Build in a known mistake; `list` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) flaw: Option<String>,
    #[command(flatten, next_help_heading = "Set-up")]
    pub(crate) setup: SetupArgs,
    #[command(flatten, next_help_heading = "What may go wrong")]
    pub(crate) budget: BudgetArgs,
    #[command(flatten, next_help_heading = "Mutual exclusion")]
    pub(crate) mutex: MutexCheckArgs,
    #[command(flatten, next_help_heading = "Election")]
    pub(crate) election: ElectionCheckArgs,
    /// Nobody may wait for ever in any fair run, in which every message arrives and every timer runs
    /// out; without this, only that whoever waits can still get in
    #[arg(long)]
    pub(crate) fair: bool,
    /// How many threads search [default: one a core]
    #[arg(long, help_heading = "Bounds")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Follow no run further than this many steps
    #[arg(long, value_name = "STEPS", help_heading = "Bounds")]
    pub(crate) max_depth: Option<u32>,
    /// Stop when more states than this are known
    #[arg(long, value_name = "STATES", help_heading = "Bounds")]
    pub(crate) max_states: Option<u64>,
    /// Stop when the search takes more memory than this
    #[arg(long, value_name = "MIB", default_value_t = 8192, help_heading = "Bounds")]
    pub(crate) max_memory: u64,
    /// Print JSON instead of text, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much may go wrong, in all.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// How many nodes may crash, at any moment [default: as many as the algorithm or flaw is about]
    #[arg(long, value_name = "NODES")]
    crashes: Option<u8>,
    /// How many crashed nodes may come up again
    #[arg(long, value_name = "NODES", default_value_t = 0)]
    restarts: u8,
    /// How many messages may be lost
    #[arg(long, value_name = "MESSAGES", default_value_t = 0)]
    losses: u8,
    /// How many messages may arrive twice
    #[arg(long, value_name = "MESSAGES", default_value_t = 0)]
    duplicates: u8,
    /// Crashes may take along what the node has sent and has not arrived
    #[arg(long)]
    severing: bool,
}

impl CheckArgs {
    /// How many nodes may crash, if that was said.
    pub(crate) const fn crashes(&self) -> Option<u8> {
        self.budget.crashes
    }

    /// What may go wrong; so many crashes, if nothing is said of them.
    pub(crate) fn faults(&self, crashes: u8) -> Faults {
        Faults {
            crashes: self.budget.crashes.unwrap_or(crashes),
            restarts: self.budget.restarts,
            losses: self.budget.losses,
            duplicates: self.budget.duplicates,
            severing: self.budget.severing,
        }
    }

    /// What must hold besides what the monitor says.
    pub(crate) fn demands<P: Protocol>(&self, invariants: &[Invariant<P>]) -> Demands<P> {
        let liveness = if self.fair { Liveness::Fair } else { Liveness::Possible };
        Demands { liveness, invariants: invariants.to_vec() }
    }

    /// How a question begins that is to be asked again.
    pub(crate) fn line(&self, about: &About, setup: &Setup, order: OrderKind) -> String {
        let mut text = format!("vorrang check {}", about.name);
        if let Some(flaw) = &self.flaw {
            let _ = write!(text, " --flaw {flaw}");
        }
        let _ = write!(text, " {} --order {}", setup.text(about.takes), name(&order));
        let flags = [
            (self.asynchronous, "--asynchronous"),
            (self.budget.severing, "--severing"),
            (self.fair, "--fair"),
        ];
        for (set, flag) in flags {
            if set {
                let _ = write!(text, " {flag}");
            }
        }
        let budget = &self.budget;
        let counts = [
            ("--crashes", budget.crashes.unwrap_or(0)),
            ("--restarts", budget.restarts),
            ("--losses", budget.losses),
            ("--duplicates", budget.duplicates),
        ];
        for (option, count) in counts {
            if count > 0 {
                let _ = write!(text, " {option} {count}");
            }
        }
        text
    }
}

impl Check {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        let (about, args) = (entry.algorithm.about(), &self.args.args);
        self.args.check_fit(&[&about])?;
        if args.flaw.as_deref() == Some("list") {
            return list_flaws(&about, args.json);
        }
        let query = match &args.flaw {
            None => entry.algorithm.question(args)?,
            Some(name) => lookup::flawed(entry, name)?.question(args)?,
        };
        if !args.json {
            print(&format!("{}\n\n", query.line))?;
            for note in &query.notes {
                print(&format!("{DIM}note: {note}{RESET}\n"))?;
            }
        }
        let (line, notes) = (query.line, query.notes);
        let answer = (query.answer)();
        if args.json {
            print_json(&answer.json(&about, &line, &notes))?;
        } else {
            print(&answer.text())?;
        }
        if answer.outcome == "verified" { Ok(()) } else { Err(Failure::AlreadySaid) }
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

/// What came of a check.
pub(crate) struct Answer {
    pub(crate) outcome: &'static str,
    pub(crate) properties: Vec<String>,
    pub(crate) violation: Option<(&'static str, String)>,
    pub(crate) bound: Option<&'static str>,
    pub(crate) run: Vec<(String, Vec<String>)>,
    /// The place in the run from which on it repeats for ever, if it does.
    pub(crate) repeats_from: Option<usize>,
    pub(crate) states: u64,
    pub(crate) steps: u64,
    pub(crate) depth: u32,
    pub(crate) seconds: f64,
}

impl Answer {
    fn json(&self, about: &About, line: &str, notes: &[String]) -> Value {
        json!({
            "algorithm": about.name,
            "problem": about.problem,
            "command": line,
            "outcome": self.outcome,
            "property": self.violation.as_ref().map(|(property, _)| property),
            "violation": self.violation.as_ref().map(|(_, what)| what),
            "bound": self.bound,
            "checked": self.properties,
            "notes": notes,
            "states": self.states,
            "steps": self.steps,
            "depth": self.depth,
            "seconds": self.seconds,
            "repeats_from": self.repeats_from,
            "trace": self.run.iter().map(|(step, _)| step).collect::<Vec<_>>(),
            "effects": self.run.iter().map(|(_, effects)| effects).collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        format!(
            "{}\n{DIM}{} states, {} steps, depth {}, {} s, {} million steps a second{RESET}\n",
            self.verdict(),
            grouped(self.states),
            grouped(self.steps),
            self.depth,
            figure(self.seconds),
            figure(self.steps as f64 / self.seconds.max(1e-9) / 1e6)
        )
    }

    /// The outcome, and the run to it if there is one.
    pub(crate) fn verdict(&self) -> String {
        let checked = self.properties.join(", ");
        match (&self.violation, self.bound) {
            (Some((property, what)), _) => format!(
                "{BAD}violated{RESET} {property}: {what}\n\n{BOLD}A shortest run to it, {} \
                 steps:{RESET}\n{}",
                self.run.len(),
                self.run_text()
            ),
            (None, Some(bound)) => {
                format!("{BAD}bounded{RESET} by {bound}; nothing wrong so far with {checked}\n")
            }
            (None, None) => format!("{GOOD}verified{RESET} {checked}\n"),
        }
    }

    fn run_text(&self) -> String {
        let mut text = String::new();
        for (number, (step, effects)) in (1..).zip(&self.run) {
            if self.repeats_from.is_some_and(|place| place + 1 == number) {
                text.push_str(&format!("      {DIM}for ever:{RESET}\n"));
            }
            text.push_str(&format!("{number:4}. {step}\n"));
            for effect in effects {
                text.push_str(&format!("        {DIM}{effect}{RESET}\n"));
            }
        }
        text
    }
}
