//! `vorrang survive`: what a single fault does to every algorithm.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde_json::{Value, json as object};
use vorrang_experiment::catalogue::{Entry, catalogue};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::names::unknown;
use vorrang_experiment::options::SetupArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::survive::{
    Cell, Conditions, MOST, MOST_QUICK, Row, Trials, Verdict, json, strike, tries,
};
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{BAD, GOOD, RESET, print, say_aside, wrapped};

use crate::output::{Format, print_csv, print_json, with_bar};
use crate::survive_report::{legend, page, summary, table, testimony};

/// Beyond this a table takes too long.
const MOST_NODES: u32 = 100;
/// So many seeds if nothing is said.
const SEEDS: u64 = 3;

/// Show what a single fault does to every algorithm: a message lost, duplicated or reordered, or a
/// crash
///
/// Some short runs without faults give the places where a fault can be injected: every message, and
/// every node between any two events. Each place is tried in a run of its own, the same up to
/// there, and judged: fine (safe, and every live node that asked was served), stuck (safe, but some
/// live node waits for ever) or unsafe. The table shows the worst. Algorithms are not made for
/// faults that break their assumptions (`vorrang explain`); this shows how they react. Fine is no
/// proof: `vorrang check` exhausts all runs, of fewer nodes (--losses 1, --crashes 1). Messages
/// that are sent only after a crash are struck in a run with one, if the algorithm gets over it;
/// kinds that no run sent are listed as not tried.
///
/// Nodes crash in every role. In a lock: idle, waiting, holder (inside), coordinator (or the node
/// that has the token and is not inside). In elections and waves: initiator, leader (which would
/// have won), other. A crash is between two events and permanent; a crashed node need not be
/// served. Under ON VIEWS the lock runs inside views (`vorrang run --on-views`), and a node crashes
/// in any of its roles, comes up again before it is missed, stands still for longer than that, or
/// loses a link in one direction or both: in a table of many algorithms at a few moments of every
/// kind, for one algorithm between any two events of the node. --on-views fills the whole table
/// with runs on views, and strikes the messages by which members agree on a view as well; those of
/// leases are not sent there. Under UNPLUG all cables of a device on a bus are pulled out
/// (bus-reset).
///
/// All algorithms with five nodes are more than 400,000 runs and take about a minute on two cores.
/// --quick takes a few seconds: one seed, and at most 20 places of a kind in a run; what it calls
/// stuck or unsafe is so, what it calls fine may be worse.
///
/// One algorithm alone is shown with a line for every kind of message. --witness shows a shortest
/// run to the worst outcome of a fault, and the command that repeats it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang survive --quick\n  \
    vorrang survive --nodes 5\n  \
    vorrang survive --algorithms token-ring,suzuki-kasami,raymond --nodes 7\n  \
    vorrang survive --algorithm maekawa\n  \
    vorrang survive --witness ricart-agrawala crash-idle\n  \
    vorrang survive --witness central lose:RELEASE\n  \
    vorrang survive --reliable --markdown\n  \
    vorrang survive --problem mutex --on-views --seeds 1")]
#[expect(clippy::struct_excessive_bools, reason = "an option is given or not")]
pub(crate) struct Survive {
    /// Which algorithms, separated by commas, or `all` of the problem [default: all]
    #[arg(long, short, alias = "algorithm", value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// Which problem: mutex, election, wave, detection, or a variant such as k-exclusion
    /// [default: all]
    #[arg(long, value_name = "PROBLEM")]
    problem: Option<String>,
    /// How many nodes, N
    #[arg(long, short, default_value_t = 5, value_parser = whole(1..=MOST_NODES))]
    nodes: u32,
    /// Seed of the runs without a fault; the same seed gives the same table
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// How many seeds, counted from --seed [default: 3, or 1 with --quick]
    #[arg(long, value_parser = whole(1..=1000_u64))]
    seeds: Option<u64>,
    /// Take a sample: one seed, and at most 20 places of a kind in a run
    #[arg(long, conflicts_with = "witness")]
    quick: bool,
    /// Put a layer of reliable channels under every algorithm
    #[arg(long)]
    reliable: bool,
    /// Run every lock on views, so that all columns are about that; algorithms for other problems
    /// are left out
    #[arg(long)]
    on_views: bool,
    /// Show a shortest run to the worst outcome of a fault, with the command that repeats it.
    /// Faults of messages may name a kind: lose, lose:REQUEST, duplicate, reorder, crash-idle, …
    #[arg(long, num_args = 2, value_names = ["ALGORITHM", "FAULT"])]
    #[arg(conflicts_with_all = ["algorithms", "problem", "csv", "markdown"])]
    witness: Option<Vec<String>>,
    /// With --witness: write that run to this file; compressed if its name ends in .zst
    #[arg(long, value_name = "FILE", requires = "witness", help_heading = "Output")]
    trace: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Set-up")]
    setup: ExplicitArgs<SetupArgs>,
    #[command(flatten)]
    format: Format,
    /// Print a table in Markdown
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv"])]
    markdown: bool,
}

impl Survive {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let seeds = self.seeds.unwrap_or(if self.quick { 1 } else { SEEDS });
        let under = Conditions {
            nodes: self.nodes,
            setup: self.setup.args.clone(),
            seed: self.seed,
            seeds,
            reliable: self.reliable,
            on_views: self.on_views,
            every_moment: self.witness.is_some() || self.algorithms.len() == 1,
            most: if self.quick { MOST_QUICK } else { MOST },
        };
        if self.seed.checked_add(seeds - 1).is_none() {
            return Err(Failure::usage(format!(
                "--seed {} --seeds {seeds} goes beyond the last seed, {}",
                self.seed,
                u64::MAX
            )));
        }
        self.setup.args.check()?;
        if let Some([algorithm, fault]) = self.witness.as_deref() {
            return self.testify(lookup::algorithm(algorithm)?, fault, &under);
        }
        let (trials, left_out) = self.trials(&under)?;
        if !self.format.is_text() {
            for sentence in &left_out {
                say_aside(wrapped(sentence).trim_end());
            }
        }
        let rows = struck(trials)?;
        if self.format.is_text() {
            return self.print(&rows, &under, &left_out);
        }
        let values: Vec<Value> = rows.iter().flat_map(|row| json(row, &under)).collect();
        if self.format.json { print_json(&Value::Array(values)) } else { print_csv(&values) }
    }

    /// The runs without faults, and why some algorithms are not among them.
    fn trials(&self, under: &Conditions) -> Result<(Vec<Trials>, Vec<String>), Failure> {
        let entries: Vec<&'static Entry> = match (&self.algorithms[..], &self.problem) {
            ([], None) if self.on_views => lookup::algorithms(&["all".to_owned()], Some("mutex"))?,
            ([], None) => catalogue().iter().collect(),
            ([], Some(_)) => lookup::algorithms(&["all".to_owned()], self.problem.as_deref())?,
            (names, problem) => lookup::algorithms(names, problem.as_deref())?,
        };
        let abouts: Vec<_> = entries.iter().map(|entry| entry.algorithm.about()).collect();
        let other = abouts.iter().find(|it| self.on_views && it.problem != "mutex");
        if let Some(other) = other {
            return Err(Failure::usage(format!(
                "--on-views is for mutual exclusion; {} solves {}",
                other.name, other.solves
            )));
        }
        self.setup.check_fit(&abouts.iter().collect::<Vec<_>>())?;
        let names_some = self.algorithms.iter().any(|name| name != "all");
        let may_leave_out = !names_some && entries.len() > 1;
        let total = entries.len() as u64;
        let template = "{bar:40} {pos} of {len} algorithms without a fault";
        let all: Vec<_> = with_bar(total, template, |told| {
            let over = AtomicU64::new(0);
            let one = |entry: &&'static Entry| {
                let trials = Trials::new(entry, under);
                told(over.fetch_add(1, Ordering::Relaxed) + 1);
                trials
            };
            entries.par_iter().map(one).collect()
        });
        let (mut trials, mut left_out) = (Vec::new(), Vec::new());
        for one in all {
            match one {
                Ok(one) => trials.push(one),
                Err(Failure::Usage(why)) if may_leave_out => {
                    let sentence = format!("Left out: {why}.");
                    if !left_out.contains(&sentence) {
                        left_out.push(sentence);
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok((trials, left_out))
    }

    fn print(&self, rows: &[Row], under: &Conditions, left_out: &[String]) -> Result<(), Failure> {
        let text = |text: &str| {
            if self.markdown { text.to_owned() } else { wrapped(text) }
        };
        print(&format!("{}\n", text(&summary(rows, under))))?;
        if let [row] = rows {
            print(&format!("{}\n", page(row, self.markdown)))?;
        } else {
            let mut problems: Vec<(&str, &str)> = Vec::new();
            for about in rows.iter().map(|row| row.entry.algorithm.about()) {
                if !problems.contains(&(about.problem, about.problem_title)) {
                    problems.push((about.problem, about.problem_title));
                }
            }
            for (problem, title) in problems {
                let is_its = |row: &&Row| row.entry.algorithm.about().problem == problem;
                let its: Vec<&Row> = rows.iter().filter(is_its).collect();
                print(&format!("{}:\n\n{}\n", capital(title), table(&its, self.markdown)))?;
            }
            print(&if self.markdown { String::new() } else { wrapped(&legend(rows)) })?;
        }
        for note in left_out {
            print(&text(&format!("{note}\n")))?;
        }
        print(&text(
            "`vorrang survive --witness ALGORITHM FAULT` shows the shortest run to what is bad.\n",
        ))
    }

    /// Shows a run that ends badly, and how to repeat it.
    fn testify(
        &self,
        entry: &'static Entry,
        fault: &str,
        under: &Conditions,
    ) -> Result<(), Failure> {
        let about = entry.algorithm.about();
        self.setup.check_fit(&[&about])?;
        let trials = Trials::new(entry, under)?;
        let faults = trials.faults();
        let names: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let Some(place) = names.iter().position(|name| name.eq_ignore_ascii_case(fault)) else {
            let what = format!("fault for {}", about.name);
            return Err(unknown(&what, fault, names.iter().map(String::as_str)));
        };
        let rows = struck(vec![trials.only(faults[place])])?;
        let [row] = &rows[..] else { return Ok(()) };
        let cell = &row.cells[place];
        let seen = cell.witness.as_ref().map(|it| row.observe(it)).transpose()?;
        let until_ns = cell.witness.as_ref().and_then(|it| it.violated_ns);
        match (&self.trace, &cell.witness) {
            (Some(path), Some(witness)) => row.save(witness, path)?,
            (Some(path), None) => say_aside(&format!(
                "there is no witness, so there is no run to write to {}",
                path.display()
            )),
            (None, _) => {}
        }
        let lines = testimony(seen.as_deref().unwrap_or_default(), until_ns);
        if self.format.json {
            let mut values = json(row, under);
            let mut value = values.swap_remove(place);
            let plain = lines.iter().map(|it| anstream::adapter::strip_str(it).to_string());
            value["trace"] = object!(plain.collect::<Vec<_>>());
            return print_json(&value);
        }
        print(&shown(about.name, cell, &lines))
    }
}

/// Lets every fault strike, with a bar if it takes long.
fn struck(trials: Vec<Trials>) -> Result<Vec<Row>, Failure> {
    let template = "{bar:40} {human_pos} of {human_len} runs, {left} left";
    with_bar(tries(&trials), template, |told| strike(trials, told))
}

/// A run that ends badly, for people.
fn shown(name: &str, cell: &Cell, lines: &[String]) -> String {
    let (fault, tried) = (cell.fault, cell.tries());
    let Some(witness) = &cell.witness else {
        let text = match tried {
            0 => format!("there is nothing to try {fault} on"),
            1 => format!("{fault} was tried once and ended well"),
            _ => format!("{fault} was tried {tried} times, and all ended well"),
        };
        return wrapped(&format!("{GOOD}no witness{RESET}: for {name}, {text}\n"));
    };
    let verdict = match cell.verdict() {
        Some(Verdict::Unsafe) => "unsafe",
        Some(Verdict::Stuck | Verdict::Fine) | None => "safe but stuck",
    };
    // The first line is to be copied: it is not broken.
    format!("{}\n\n{}\n\n", witness.line, lines.join("\n"))
        + &wrapped(&format!("{BAD}{verdict}: {}{RESET}\n", witness.what))
        + &wrapped(&format!(
            "Of {tried} that were tried, none is worse and none as bad is shorter: {} events. The \
             first line repeats it, with --trace FILE in full.\n",
            witness.events
        ))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
