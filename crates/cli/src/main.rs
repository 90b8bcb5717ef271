//! The command line: one verb a file in `commands`, thin over the libraries.
//!
//! Exit codes: 0 fine, 1 the property or bound failed, 2 wrong use.
#![forbid(unsafe_code)]

mod axes;
mod commands;
mod failure;
mod figures;
mod lookup;
mod network;
mod options;
mod output;
mod problem;
mod sheet;
mod statistics;
mod stepping;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{check, compare, completions, explain, list, merge, node, run, step, sweep};

/// Distributed coordination, written once: simulate, model-check and run the classic algorithms.
///
/// Every algorithm is one state machine without input or output; each command drives the same
/// machine in another way.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Start with:\n  vorrang list\n  vorrang run ricart-agrawala\n\n\
    Exit codes: 0 fine, 1 a property or bound failed, 2 wrong use.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Explain(explain::Explain),
    Run(run::Run),
    Check(check::Check),
    Step(step::Step),
    Node(node::Node),
    /// Run one node for a parent process that gives orders over standard input
    #[command(hide = true)]
    Worker,
    Compare(compare::Compare),
    Sweep(sweep::Sweep),
    Merge(merge::Merge),
    Completions(completions::Completions),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::List(list) => list.execute(),
        Command::Explain(explain) => explain.execute(),
        Command::Run(run) => run.execute(),
        Command::Check(check) => check.execute(),
        Command::Step(step) => step.execute(),
        Command::Node(node) => node.execute(),
        Command::Worker => network::worker::execute(),
        Command::Compare(compare) => compare.execute(),
        Command::Sweep(sweep) => sweep.execute(),
        Command::Merge(merge) => merge.execute(),
        Command::Completions(completions) => completions.execute(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
