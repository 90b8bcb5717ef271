//! The command line: one verb a file in `commands`, thin over the libraries.
//!
//! Whatever is compiled for every algorithm is compiled where [`main`] is called, with all of them;
//! this library, and the tests in it, are compiled without. Exit codes: see `failure.rs`.
#![forbid(unsafe_code)]

mod answer;
mod axes;
mod between;
mod commands;
mod extent;
mod failure;
mod figures;
mod given;
mod holder;
mod interrupt;
mod lookup;
mod means;
mod network;
mod options;
mod output;
mod page;
mod pictures;
mod pixels;
mod plotting;
mod problem;
mod prose;
mod quorum;
mod real;
mod selection;
mod sheet;
mod statistics;
mod stepping;
mod survive;
mod table;
mod telling;
mod tracefile;
mod trouble;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::topology;
use crate::commands::{check, compare, completions, explain, list, merge, node, run, step, sweep};
use crate::failure::EXIT_CODES;
pub use crate::problem::Catalogue;

/// Distributed coordination, written once: simulate, model-check and run the classic algorithms.
///
/// Every algorithm is one state machine without input or output; each command drives the same
/// machine in another way.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = format!(
    "Start with:\n  vorrang list\n  vorrang run ricart-agrawala\n\n{EXIT_CODES}"
))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Explain(explain::Explain),
    Run(Box<run::Run>),
    Check(check::Check),
    Step(step::Step),
    Node(node::Node),
    /// Run one node for a parent process that gives orders over standard input
    #[command(hide = true)]
    Worker,
    Compare(compare::Compare),
    Survive(commands::survive::Survive),
    Sweep(sweep::Sweep),
    Merge(merge::Merge),
    Plot(commands::plot::Plot),
    Report(commands::report::Report),
    Replay(commands::replay::Replay),
    Draw(commands::draw::Draw),
    Topology(topology::Topology),
    Quorum(commands::quorum::Quorum),
    Completions(completions::Completions),
}

/// The command line as it is parsed.
///
/// Values may begin with a hyphen: a number below what is allowed deserves an answer about numbers,
/// not one about an option of that name.
fn command_line() -> clap::Command {
    const NUMBERS_WITH_UNITS: [&str; 4] = ["TIME", "SHARE", "NODE@TIME", "NODE"];
    Arguments::command().mut_subcommands(|subcommand| {
        subcommand.mut_args(|arg| {
            let has_unit = arg.get_value_names().is_some_and(|names| {
                names.iter().any(|name| NUMBERS_WITH_UNITS.contains(&name.as_str()))
            });
            match arg.get_action().takes_values() {
                true if has_unit => arg.allow_hyphen_values(true),
                true => arg.allow_negative_numbers(true),
                false => arg,
            }
        })
    })
}

/// The program, with the algorithms that it is to know.
pub fn main(register: fn(&mut Catalogue)) -> ExitCode {
    problem::know(register);
    let parsed = Arguments::from_arg_matches(&command_line().get_matches());
    let outcome = match parsed.unwrap_or_else(|error| error.exit()).command {
        Command::List(list) => list.execute(),
        Command::Explain(explain) => explain.execute(),
        Command::Run(run) => run.execute(),
        Command::Check(check) => check.execute(),
        Command::Step(step) => step.execute(),
        Command::Node(node) => node.execute(),
        Command::Worker => network::worker::execute(),
        Command::Compare(compare) => compare.execute(),
        Command::Survive(survive) => survive.execute(),
        Command::Sweep(sweep) => sweep.execute(),
        Command::Merge(merge) => merge.execute(),
        Command::Plot(plot) => plot.execute(),
        Command::Report(report) => report.execute(),
        Command::Replay(replay) => replay.execute(),
        Command::Draw(draw) => draw.execute(),
        Command::Topology(topology) => topology.execute(),
        Command::Quorum(quorum) => quorum.execute(),
        Command::Completions(completions) => completions.execute(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command_line().debug_assert();
    }
}
