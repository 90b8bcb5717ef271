//! One table that joins what a comparison and single-fault injection find of locks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::figures::mark;
use vorrang_experiment::lookup;
use vorrang_experiment::means::Row;
use vorrang_experiment::options::SetupArgs;
use vorrang_experiment::problem::Role;
use vorrang_experiment::survive::{self, Cell, Conditions, Fault, Trials, Verdict, strike, tries};

use crate::figures_text::show;
use crate::output::with_bar;

/// So many nodes are struck by faults: enough that a majority is more than two.
const STRUCK_NODES: u32 = 5;

/// What is measured, by its name for programs and its column.
const MEASURED: [(&str, &str); 4] = [
    ("messages_per_entry", "MESSAGES"),
    ("sync_delay_mean", "DELAY/T"),
    ("throughput", "PER T"),
    ("load_max_per_entry", "LOAD"),
];

/// Crashes by what the node was doing, in words.
const CRASHES: [(Role, &str); 4] = [
    (Role::Idle, "idle"),
    (Role::Waiting, "waiting"),
    (Role::Holder, "inside"),
    (Role::Coordinator, "coordinator"),
];

/// The legend of the columns about faults.
pub(crate) const LEGEND: &str = "LOAD is the messages that the busiest node handles per entry. \
    SURVIVES CRASHES OF says which nodes among five may crash, one at a time, so that the others \
    go on; LOST MESSAGE what the loss of one does (`vorrang survive`).\n";

/// What faults do to each algorithm, by its name; nothing of one that five nodes do not fit.
pub(crate) type Faults = BTreeMap<&'static str, survive::Row>;

/// Strikes every algorithm of a comparison.
pub(crate) fn faults(rows: &[Row]) -> Result<Faults, Failure> {
    let under = Conditions {
        nodes: STRUCK_NODES,
        setup: SetupArgs::default(),
        seed: 1,
        seeds: 1,
        reliable: false,
        on_views: false,
        every_moment: false,
        most: survive::MOST,
    };
    let mut names: Vec<&'static str> = rows.iter().map(|row| row.runs[0].name).collect();
    names.sort_unstable();
    names.dedup();
    let mut trials = Vec::new();
    for name in names {
        let entry = lookup::algorithm(name)?;
        let about = entry.algorithm.about();
        if about.problem != "mutex" {
            return Err(Failure::usage(format!(
                "--summary is of locks; {name} solves {}",
                about.solves
            )));
        }
        match Trials::new(entry, &under) {
            Ok(of) => trials.push(of),
            Err(Failure::Usage(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    let template = "{bar:40} {human_pos} of {human_len} runs with a fault, {left} left";
    let struck = with_bar(tries(&trials), template, |told| strike(trials, told))?;
    Ok(struck.into_iter().map(|row| (row.entry.algorithm.about().name, row)).collect())
}

/// Which crashes of one node the others survive.
fn survived(row: &survive::Row) -> String {
    let verdict = |role| row.cell(Fault::Crash(role)).and_then(Cell::verdict);
    let known = CRASHES.iter().filter_map(|&(role, word)| Some((word, verdict(role)?)));
    let known: Vec<(&str, Verdict)> = known.collect();
    let fine: Vec<&str> =
        known.iter().filter(|(_, it)| *it == Verdict::Fine).map(|(word, _)| *word).collect();
    match fine.len() {
        0 => "none".to_owned(),
        many if many == known.len() => "any".to_owned(),
        _ => fine.join(", "),
    }
}

fn lost(row: &survive::Row) -> &'static str {
    row.cell(Fault::Lose(None)).and_then(Cell::verdict).map_or("–", Verdict::word)
}

/// The table, its header first.
pub(crate) fn cells(rows: &[&Row], faults: &Faults) -> Vec<Vec<String>> {
    let mut header = vec!["ALGORITHM".to_owned()];
    header.extend(MEASURED.map(|(_, column)| column.to_owned()));
    header.extend(["SURVIVES CRASHES OF", "LOST MESSAGE"].map(str::to_owned));
    let mut ranked = rows.to_vec();
    let rank = |row: &Row| row.estimate(MEASURED[0].0).map_or(f64::INFINITY, |it| it.mean);
    ranked.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
    let line = |row: &&Row| {
        let name = row.runs[0].name;
        let mut cells = vec![name.to_owned()];
        let mut broke_off = row.broke_off();
        for (key, _) in MEASURED {
            let mark = row.agreement(key).map_or("", mark);
            let value = format!("{} {mark}", show(row.estimate(key)));
            cells.push(broke_off.take().unwrap_or_else(|| value.trim_end().to_owned()));
        }
        let struck = faults.get(name);
        cells.push(struck.map_or_else(|| "–".to_owned(), survived));
        cells.push(struck.map_or("–", lost).to_owned());
        cells
    };
    [header].into_iter().chain(ranked.iter().map(line)).collect()
}

/// A row for programs.
pub(crate) fn json(row: &Row, faults: &Faults) -> Value {
    let mut object = Map::new();
    let Value::Object(all) = row.json() else { return Value::Null };
    let is_wanted = |key: &str| {
        let measured = MEASURED.iter().any(|(name, _)| key.starts_with(name));
        measured || ["algorithm", "nodes", "load", "setup", "broke_off"].contains(&key)
    };
    object.extend(all.into_iter().filter(|(key, _)| is_wanted(key)));
    let struck = faults.get(row.runs[0].name);
    object.insert("survives_crashes_of".to_owned(), json!(struck.map(survived)));
    object.insert("lost_message".to_owned(), json!(struck.map(lost)));
    Value::Object(object)
}
