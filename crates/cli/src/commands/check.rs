//! `vorrang check`: every interleaving, and a shortest counterexample.

use std::path::PathBuf;

use serde_json::json;
use vorrang_algorithms::card::{About, Mistake};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::options::check::CheckArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::problem::Query;
use vorrang_node::terminal::{BAD, DIM, RESET, print, say_aside, wrapped};

use crate::output::print_json;
use crate::search_progress::SearchProgress;
use crate::{check_answer_text, interrupt};
use vorrang_terminal::table::table;

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
    vorrang check ricart-agrawala --on-views --order fifo\n  \
    vorrang check suzuki-kasami --on-views --flaw holder-forgotten\n  \
    vorrang check ricart-agrawala --property ordering,no-starvation\n  \
    vorrang check ricart-agrawala --nodes 6 --entries 3 --time 10m\n  \
    vorrang check ricart-agrawala --nodes 9 --entries 5 --walks 1000 --depth 500\n\n\
    Ctrl-C ends a search with all that was seen, as bounded; a second one at once.\n\n\
    Exit codes: 0 verified, 1 violated, 2 wrong use, 3 bounded, 4 I/O error.")]
pub(crate) struct Check {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    args: ExplicitArgs<CheckArgs>,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write the counterexample, if there is one, to this file; compressed if its name ends in .zst
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace: Option<PathBuf>,
}

impl Check {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        let (about, args) = (entry.algorithm.about(), &self.args.args);
        self.args.check_fit(&[&about])?;
        args.check_sense(&about)?;
        if args.flaw.as_deref() == Some("list") {
            return list_flaws(&about, self.json);
        }
        let query = lookup::subject(entry, args)?.question(args)?;
        if !self.json {
            print(&format!("{}\n\n", query.line))?;
            for note in &query.remarks.notes {
                print(&wrapped(&format!("{DIM}note: {note}{RESET}\n")))?;
            }
            print_warnings(&query.remarks.warnings)?;
        }
        interrupt::listen()?;
        let Query { line, remarks, answer } = query;
        let mut answer = answer(&mut SearchProgress::new(!self.json).watch());
        let late = match &answer.violation {
            None => remarks.if_fine,
            Some(_) => remarks.if_violated,
        };
        if self.json {
            answer.warnings = [remarks.warnings, late].concat();
            print_json(&answer.json(&about, &line, &remarks.notes))?;
        } else {
            print(&check_answer_text::text(&answer))?;
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
