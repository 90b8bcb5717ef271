//! `vorrang step`: an algorithm by hand, one event at a time.

use std::path::PathBuf;

use clap::Parser as _;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::golden;
use vorrang_experiment::lookup;
use vorrang_experiment::options::check::{Channels, CheckArgs};
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::options::views::ViewsCheckArgs;
use vorrang_experiment::options::{OrderKind, SetupArgs};
use vorrang_experiment::values::whole;
use vorrang_node::terminal::print;
use vorrang_trace::Recording;

use crate::commands::draw::How;
use crate::drawn_part::Only;
use crate::interrupt;
use crate::stepping::{Console, Session, Surface, read_script};
use vorrang_terminal::table::table;

/// Step through an algorithm by hand: decide which message arrives next, and see the result
///
/// You choose every event (a command of the application, a message, a timer, a crash) and see what
/// the node does. `check` asks the checker what could go wrong from here. A timer may run out
/// whenever you say so, even where a clock would not allow it yet.
///
/// In a pipe there are no prompts: every line is written back with its effects, and all else as a
/// comment, so that the output is a script again.
#[derive(Debug, clap::Args)]
#[command(after_help = "What can be said: a number of the list, or a line such as\n  \
    acquire 0        the application at node 0 asks; the list has other commands\n  \
    deliver 0->1     the oldest message from 0 to 1 arrives; with REPLY: that one\n  \
    lose 0->1        it never arrives; duplicate 0->1: it arrives, and will again\n  \
    timer 2 Answer   a timer of node 2 runs out\n  \
    crash 2          node 2 goes down with its timers; restart 2: up again\n  \
    settle           all messages arrive, oldest first; rest: is the final state correct?\n\n\
    and: undo, redo, state, next, history, save FILE, load FILE, draw FILE, diagram, check,\n  \
    random, help, quit. On a terminal, lines can be edited, and Ctrl-C keeps the run.\n\n\
    Examples:\n  \
    vorrang step lamport\n  \
    vorrang step ricart-agrawala --flaw no-tie-break\n  \
    vorrang step bully --nodes 4 --within 1ms\n  \
    vorrang step lamport --on-views\n  \
    vorrang step --list\n  \
    vorrang step --script maekawa-thirteen\n  \
    vorrang step --script my.run\n  \
    printf 'acquire 0\\nsettle\\nrelease 0\\n' | vorrang step lamport --nodes 3\n\n\
    Exit codes: 0 fine; 1 a property is violated at the end, or the checker found\n\
    that it can be; 2 a line of a pipe could not be done (the others were);\n\
    4 the script cannot be used: there is none, or a line of it cannot be done.")]
pub(crate) struct Step {
    /// Which algorithm, as `vorrang list` calls it
    #[arg(required_unless_present_any = ["script", "list"])]
    algorithm: Option<String>,
    /// Play a script first, then go on: a file, whose first line says the algorithm and the set-up,
    /// or a golden run by its name
    #[arg(long, value_name = "FILE", conflicts_with_all = SET)]
    script: Option<PathBuf>,
    /// List the golden runs, which --script plays: small runs of every algorithm
    #[arg(long, conflicts_with_all = SET, conflicts_with = "script")]
    list: bool,
    #[command(flatten)]
    args: ExplicitArgs<StepArgs>,
}

/// The first line of a script.
const SET: [&str; 8] =
    ["algorithm", "nodes", "flaw", "reliable", "on_views", "k", "within", "holder"];

/// The algorithm to step through.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StepArgs {
    /// How many nodes, N [default: 3, or as many as show the flaw]
    #[arg(long, short, value_parser = whole(1..=64_u32))]
    nodes: Option<u32>,
    /// Whether messages from one node to another keep their order [default: what the algorithm
    /// assumes]
    #[arg(long, value_enum)]
    order: Option<OrderKind>,
    /// Build in a known mistake; `vorrang check ALGORITHM --flaw list` lists them
    #[arg(long, value_name = "NAME")]
    flaw: Option<String>,
    /// Put a layer of reliable channels under the algorithm
    #[arg(long)]
    reliable: bool,
    /// Step through a lock inside the views of a group: 'suspect 2 0' has node 0 suspect node 2,
    /// 'beat 0' has it say how it stands, and a majority goes on without crashed nodes
    #[arg(long)]
    on_views: bool,
    #[command(flatten, next_help_heading = "Set-up")]
    setup: SetupArgs,
}

impl Step {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        if self.list {
            return print(&list());
        }
        let console = Console::standard();
        let surface = console.surface();
        if surface == Surface::Terminal {
            interrupt::listen_in_a_conversation()?;
        }
        let given = self.args.args.clone();
        let mut session = match (&self.algorithm, &self.script) {
            (_, Some(path)) => {
                let script = read_script(path)?;
                Session::of_script(&script, given.order, (surface, draw))
                    .map_err(|failure| failure.in_file(path))?
            }
            (Some(name), None) => {
                let entry =
                    lookup::algorithm(name).map_err(|failure| match golden::find(name) {
                        Some(_) => Failure::usage(format!(
                            "{name} is a golden run: vorrang step --script {name} plays it"
                        )),
                        None => failure,
                    })?;
                let about = entry.algorithm.about();
                self.args.check_fit(&[&about])?;
                let StepArgs { nodes, order, flaw, reliable, on_views, setup } = given;
                let reliable = reliable.then_some(Channels::Correct);
                let views = ViewsCheckArgs { on_views, ..ViewsCheckArgs::default() };
                let own = CheckArgs::default();
                let args = CheckArgs { nodes, order, flaw, reliable, setup, views, ..own };
                Session::new(name, args, (surface, draw))?
            }
            (None, None) => return Err(Failure::usage("which algorithm? see 'vorrang list'")),
        };
        session.run(console)
    }
}

/// The options of `draw` in a stepped run.
#[derive(Debug, clap::Parser)]
#[command(name = "draw", no_binary_name = true)]
struct DrawLine {
    /// The picture to write: .svg, .pdf, .mmd, .log, .json, .dot or .txt
    file: PathBuf,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    only: Only,
}

/// Draws a stepped run as a line says.
fn draw(line: &str, run: &Recording) -> Result<String, Failure> {
    let parsed = DrawLine::try_parse_from(line.split_whitespace());
    let DrawLine { file, how, only } = parsed.map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
    })?;
    let shown = file.display().to_string();
    how.draw_to(file, &only, run).map(|()| shown)
}

/// The golden runs, with their algorithms and what they show.
fn list() -> String {
    let mut rows = vec![["RUN", "ALGORITHM", "WHAT IT SHOWS"].map(str::to_owned).to_vec()];
    for run in golden::RUNS {
        rows.push(vec![run.typed(), run.algorithm().to_owned(), run.shows.to_owned()]);
    }
    table(&rows)
}
