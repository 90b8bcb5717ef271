//! `vorrang replay`: a recorded run, done once more by the machines.

use std::path::PathBuf;

use serde_json::json;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::grouped;
use vorrang_experiment::problem::{Retraced, sides};
use vorrang_experiment::story_from_trace::{remark, subject};
use vorrang_experiment::tracefile;
use vorrang_node::terminal::{BAD, GOOD, RESET, print, say_aside, wrapped};
use vorrang_protocol::show_duration_ns;
use vorrang_trace::{Objection, Recording};

use crate::output::print_json;

/// Replay a recorded run, step by step, and show where the machines do something else
///
/// A trace has all inputs of a run: commands, the order in which messages arrived, losses, random
/// choices. So the machines must do what they did, whether the simulator, the checker or a real
/// network drove them. If they do not, the first difference is shown, with both sides. Traces are
/// written by `run`, `node`, `check` and `survive` with --trace.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang run maekawa --nodes 7 --entries 20 --trace run.jsonl.zst\n  \
    vorrang replay run.jsonl.zst\n\n\
    Exit codes: 0 as recorded, 1 not as recorded, 2 no trace, 4 I/O error.")]
pub(crate) struct Replay {
    /// The trace, compressed or not
    file: PathBuf,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Replay {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let run = tracefile::read(&self.file)?;
        if let Some(remark) = remark(&run) {
            say_aside(&remark);
        }
        let retraced = subject(&run)?.retrace(&run, &mut |_, _, _| {})?;
        if self.json {
            print_json(&in_json(&run, &retraced))?;
        } else {
            print(&text(&run, &retraced))?;
        }
        match retraced {
            Retraced::Same(_) => Ok(()),
            Retraced::Other(_) => Err(Failure::AlreadySaid),
        }
    }
}

fn text(run: &Recording, retraced: &Retraced) -> String {
    let records = grouped(run.lines.len() as u64);
    let command = run.header.get("command").unwrap_or(&run.header.algorithm);
    let mut text = format!("{command}\n\n");
    match retraced {
        Retraced::Same(events) => {
            let events = grouped(*events);
            text += &format!("{GOOD}as recorded{RESET}: {events} events, {records} records\n");
        }
        Retraced::Other(objection) => {
            let (place, who, [recorded, replayed]) = sides(objection, run);
            let what = match objection {
                Objection::Unknown(..) => "cannot be replayed",
                _ => "not as recorded",
            };
            let place = grouped(place as u64 + 1);
            let when = when(run, objection);
            text += &wrapped(&format!(
                "{BAD}{what}{RESET} from record {place} of {records} on{when}, at {who}:\n"
            ));
            text += &format!("  recorded  {recorded}\n  replayed  {replayed}\n");
        }
    }
    text
}

fn when(run: &Recording, objection: &Objection) -> String {
    let (place, ..) = sides(objection, run);
    let Some(line) = run.lines.get(place) else { return String::new() };
    match run.header.get("clock") {
        Some("steps") => format!(" (line {}, step {})", place + 2, line.at_ns),
        _ => format!(" (line {}, {})", place + 2, show_duration_ns(line.at_ns)),
    }
}

fn in_json(run: &Recording, retraced: &Retraced) -> serde_json::Value {
    let mut value = json!({
        "algorithm": run.header.algorithm,
        "nodes": run.header.nodes,
        "parameters": run.header.parameters,
        "records": run.lines.len(),
        "whole": run.is_whole(),
        "same": matches!(retraced, Retraced::Same(_)),
    });
    match retraced {
        Retraced::Same(events) => value["events"] = json!(events),
        Retraced::Other(objection) => {
            let (place, _, [recorded, replayed]) = sides(objection, run);
            value["record"] = json!(place + 1);
            value["recorded"] = json!(recorded);
            value["replayed"] = json!(replayed);
        }
    }
    value
}
