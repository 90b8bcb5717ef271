//! The hand-over of a stepped run to the checker.

use clap::Parser;
use vorrang_algorithms::card::About;
use vorrang_algorithms::setup::Parameter;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::grouped;
use vorrang_experiment::lookup;
use vorrang_experiment::options::check::CheckArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::problem::Ahead;
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{DIM, RESET};

use super::{Problem, Session};
use crate::check_answer_text::verdict;
use crate::search_progress::SearchProgress;

/// States that the checker looks at if nothing is said: some seconds.
const MOST_STATES: u64 = 1_000_000;

/// The options of `check` in a stepped run.
#[derive(Debug, Parser)]
#[command(name = "check", no_binary_name = true)]
struct CheckLine {
    #[command(flatten)]
    args: ExplicitArgs<CheckArgs>,
    /// How many requests each node may still make; who waits or is inside has made one of them
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(0..=100_u32))]
    requests: u32,
}

fn read(text: &str) -> Result<CheckLine, String> {
    let parsed = CheckLine::try_parse_from(text.split_whitespace());
    parsed.map_err(|error| {
        let text = error.to_string();
        if !error.use_stderr() {
            return text;
        }
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).to_owned()
    })
}

/// The set-up in the first line of a script, after the name.
pub(super) fn read_header(text: &str, about: &About) -> Result<CheckArgs, Failure> {
    let wrong = |why: String| Failure::usage(format!("the first line of the script: {why}"));
    let given = read(text).map_err(wrong)?.args;
    let set_up = Parameter::ALL.map(Parameter::name);
    let known = |it: &str| {
        set_up.contains(&it) || ["nodes", "order", "flaw", "reliable", "on_views"].contains(&it)
    };
    if let Some(other) = given.typed().iter().find(|it| !known(it)) {
        let other = other.replace('_', "-");
        return Err(wrong(format!("--{other} does not apply to the run so far")));
    }
    given.check_fit(&[about])?;
    Ok(given.args)
}

/// The options of the checker in a stepped run: budgets, properties, bounds. All else was fixed
/// when stepping began.
const ASKED: [&str; 18] = [
    "asynchronous",
    "bypass",
    "crashes",
    "duplicates",
    "fair",
    "hash_bits",
    "losses",
    "max_depth",
    "max_memory",
    "max_states",
    "no_invariants",
    "property",
    "requests",
    "restarts",
    "severing",
    "threads",
    "time",
    "timely",
];

impl Session {
    /// Has the checker look at all that can follow.
    pub(super) fn check(&mut self, rest: &str) -> Result<(), Problem> {
        if let Some(violation) = self.staged.violation() {
            return Err(format!("a property is violated already: {violation}; undo first").into());
        }
        let CheckLine { args: given, requests } = read(rest)?;
        if let Some(other) = given.typed().iter().find(|it| !ASKED.contains(&it.as_str())) {
            let other = other.replace('_', "-");
            return Err(format!("--{other} was fixed when stepping began").into());
        }
        let about = lookup::algorithm(self.name())?.algorithm.about();
        given.check_fit(&[&about])?;
        // A stepped run checks all promises, and so does the checker from there.
        let promised = read(&format!("{rest} --property promised")).ok().map(|line| line.args);
        let promised = promised.filter(|it| it.check_fit(&[&about]).is_ok());
        let is_as_it_should_be = self.args.flaw.is_none() && self.args.reliable.is_none();
        let is_plain = is_as_it_should_be && !given.typed().iter().any(|it| it == "property");
        let typed = promised.filter(|_| is_plain).unwrap_or(given).args;
        let session = &self.args;
        let args = CheckArgs {
            nodes: session.nodes,
            order: session.order,
            flaw: session.flaw.clone(),
            reliable: session.reliable,
            setup: session.setup.clone(),
            max_states: typed.max_states.or(Some(MOST_STATES)),
            ..typed
        };
        let Ahead { answer, may, early } =
            self.staged.ahead((&args, requests), &mut SearchProgress::new(true).watch())?;
        if let Some(step) = early {
            self.tell(&format!("No clock allows '{step}' where it was done.\n"))?;
        }
        let (verdict, states) = (verdict(&answer), grouped(answer.states));
        self.tell(&format!("From here, {may}:\n{verdict}{DIM}{states} states{RESET}\n"))?;
        if let Some((property, what)) = answer.violation {
            self.found.get_or_insert(format!("{property}: {what}"));
        }
        Ok(())
    }
}
