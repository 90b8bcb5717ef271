//! The command line: one verb a file in `commands`, thin over the libraries.
//!
//! Exit codes: see `exit.rs`.
#![forbid(unsafe_code)]

mod axes;
mod check_answer_text;
mod commands;
mod destination;
mod drawn_part;
mod exit;
mod figures_text;
mod interrupt;
mod output;
mod page;
mod pixels;
mod prose;
mod quorum_drawing;
mod report_words;
mod search_progress;
mod selection_args;
mod stepping;
mod summary;
mod survive_report;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use vorrang_experiment::catalogue::catalogue;

use crate::commands::{
    check, compare, completions, explain, list, merge, run, step, sweep, topology,
};
use crate::exit::EXIT_CODES;

/// Distributed coordination, written once: simulate, model-check and run the classic algorithms.
///
/// Every algorithm is one state machine without input or output; each command drives the same
/// machine in another way.
#[derive(Debug, Parser)]
#[command(name = "vorrang", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = format!(
    "{}\nStart with:\n  vorrang list\n  vorrang run ricart-agrawala\n\n{EXIT_CODES}",
    commands::service::help()
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
    Check(Box<check::Check>),
    Step(step::Step),
    Node(Box<vorrang_node::Node>),
    /// Run one node for a parent process that gives orders over standard input
    #[command(hide = true)]
    Worker,
    Compare(compare::Compare),
    Survive(commands::survive::Survive),
    Torture(commands::torture::Torture),
    Sweep(sweep::Sweep),
    Merge(merge::Merge),
    Plot(commands::plot::Plot),
    Report(commands::report::Report),
    Replay(commands::replay::Replay),
    Draw(commands::draw::Draw),
    Topology(topology::Topology),
    Quorum(commands::quorum::Quorum),
    Structure(commands::structure::Structure),
    Clocks(commands::clocks::Clocks),
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

/// To fall back to another quorum is no option: whoever looks for one is told of the algorithms.
fn with_fallbacks(mut error: clap::Error) -> clap::Error {
    let is_wanted = matches!(
        error.get(ContextKind::InvalidArg),
        Some(ContextValue::String(option)) if option.starts_with("--fallback")
    );
    if is_wanted {
        let names = catalogue().iter().map(|entry| entry.algorithm.about().name);
        let names: Vec<&str> = names.filter(|name| name.ends_with("-fallback")).collect();
        let tip = format!(
            "a lock that turns to another quorum when a member is down is an algorithm of its own: \
             {}",
            names.join(", ")
        );
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// The program.
pub fn main() -> ExitCode {
    if let Some(code) = commands::service::hand_over(std::env::args_os()) {
        return code;
    }
    let matches = command_line().try_get_matches().map_err(with_fallbacks);
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let outcome = match parsed.unwrap_or_else(|error| error.exit()).command {
        Command::List(list) => list.execute(),
        Command::Explain(explain) => explain.execute(),
        Command::Run(run) => run.execute(),
        Command::Check(check) => check.execute(),
        Command::Step(step) => step.execute(),
        Command::Node(node) => vorrang_node::run(*node, |failure| i32::from(exit::code(failure))),
        Command::Worker => vorrang_experiment::catalogue::work(),
        Command::Compare(compare) => compare.execute(),
        Command::Survive(survive) => survive.execute(),
        Command::Torture(torture) => torture.execute(),
        Command::Sweep(sweep) => sweep.execute(),
        Command::Merge(merge) => merge.execute(),
        Command::Plot(plot) => plot.execute(),
        Command::Report(report) => report.execute(),
        Command::Replay(replay) => replay.execute(),
        Command::Draw(draw) => draw.execute(),
        Command::Topology(topology) => topology.execute(),
        Command::Structure(structure) => structure.execute(),
        Command::Clocks(clocks) => clocks.execute(),
        Command::Quorum(quorum) => quorum.execute(),
        Command::Completions(completions) => completions.execute(&command_line()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit::report(&failure),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use clap::{Args, FromArgMatches, ValueEnum};
    use vorrang_experiment::options::check::{Channels, CheckArgs};
    use vorrang_experiment::options::choice::Choice;
    use vorrang_experiment::options::fault_args::Random;
    use vorrang_experiment::options::mutex::{LoadKind, Property};
    use vorrang_experiment::options::{OrderKind, RunArgs};

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command_line().debug_assert();
    }

    /// The options of which none was typed.
    fn untyped<A: Args + FromArgMatches>() -> A {
        let command = A::augment_args(clap::Command::new("").no_binary_name(true));
        let matches = command.get_matches_from([""; 0]);
        A::from_arg_matches(&matches).expect("no option need be typed")
    }

    #[test]
    fn what_is_not_typed_is_what_the_library_takes_by_default() {
        fn same<A: Args + Default + Debug>() {
            assert_eq!(format!("{:?}", untyped::<A>()), format!("{:?}", A::default()));
        }
        same::<RunArgs>();
        same::<CheckArgs>();
    }

    #[test]
    fn a_value_is_called_the_same_by_the_library() {
        fn same<T: ValueEnum + Choice + Debug>() {
            let typed: Vec<String> = T::value_variants()
                .iter()
                .filter_map(|it| Some(it.to_possible_value()?.get_name().to_owned()))
                .collect();
            let named: Vec<&str> = T::value_variants().iter().map(|it| it.name()).collect();
            assert_eq!(typed, named);
            assert_eq!(T::ALL.len(), typed.len(), "{typed:?}");
            assert!(T::value_variants().iter().all(|it| T::named(it.name()) == Some(*it)));
        }
        same::<OrderKind>();
        same::<LoadKind>();
        same::<Property>();
        same::<Channels>();
        same::<Random>();
    }
}
