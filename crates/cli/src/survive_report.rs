//! The table of faults, in words.

use vorrang_experiment::format::grouped;
use vorrang_experiment::problem::{Observation, Role, observed_line};
use vorrang_experiment::survive::{Cell, Conditions, Fault, Row, Verdict};
use vorrang_node::terminal::{BAD, BOLD, DIM, GOOD, RESET, screen, wrapped};

use vorrang_terminal::table::{markdown, table as aligned, tables};

/// The width of a page, if that of the screen is unknown.
const WIDTH: usize = 100;
/// So many lines of a run are shown before the fault, and so many at most after it.
const BEFORE: usize = 6;
const AFTER: usize = 120;

/// The legend of tables with these rows.
pub(crate) fn legend(rows: &[Row]) -> String {
    let has = |role| rows.iter().any(|row| row.entry.algorithm.roles().contains(&role));
    let mut text = "\
        fine    safe, and every live node that asked was served, wherever the fault was\n\
        stuck   safe, but in some run a live node waits for ever\n\
        unsafe  in some run a safety property was violated\n\
    "
    .to_owned();
    // Signs are explained where they occur.
    let cells = cells(&rows.iter().collect::<Vec<_>>(), false).concat();
    if cells.iter().any(|it| it == "–") {
        text += "–       there is no such fault\n";
    }
    if cells.iter().any(|it| it.ends_with('*')) {
        text += "*       kinds of messages were not tried, see below\n";
    }
    text += "\nLOSE, DUPLICATE and REORDER concern one message. Under the other headings one node \
             crashes";
    if has(Role::Coordinator) {
        text += ", which is idle, waits, is inside, or (COORD.) is the coordinator or has the \
                 token and is not inside. ON VIEWS any node crashes where the algorithm runs \
                 inside views (--on-views)";
    }
    if has(Role::Initiator) {
        text += "; of an election or a wave, one that began it, would have come to lead, or \
                 neither";
    }
    text += ".";
    if rows.iter().any(|row| row.cell(Fault::Unplug).is_some_and(|cell| cell.tries() > 0)) {
        text += " UNPLUG: all cables of a device are pulled out, between any two events.";
    }
    text + "\n" + &not_tried(rows)
}

/// Which kinds of messages nothing has struck.
fn not_tried(rows: &[Row]) -> String {
    let of = |row: &Row| {
        let kinds = row.not_tried(Fault::Lose(None));
        let name = row.entry.algorithm.about().name;
        (!kinds.is_empty()).then(|| format!("{name} {}", kinds.join(", ")))
    };
    let all: Vec<String> = rows.iter().filter_map(of).collect();
    if all.is_empty() {
        return String::new();
    }
    format!(
        "Not tried, since no run sent such a message, nor one with a crash that the algorithm got \
         over: {}.\n",
        all.join("; ")
    )
}

/// The column of a fault.
const fn heading(fault: Fault) -> &'static str {
    match fault {
        Fault::Lose(_) => "LOSE",
        Fault::Duplicate(_) => "DUPLICATE",
        Fault::Reorder(_) => "REORDER",
        Fault::Crash(Role::Idle) => "IDLE",
        Fault::Crash(Role::Waiting) => "WAITING",
        Fault::Crash(Role::Holder) => "HOLDER",
        Fault::Crash(Role::Coordinator) => "COORD.",
        Fault::Crash(Role::Other) => "OTHER",
        Fault::Crash(Role::Initiator) => "INITIATOR",
        Fault::Crash(Role::Leader) => "LEADER",
        Fault::OnViews => "ON VIEWS",
        Fault::Unplug => "UNPLUG",
    }
}

/// The rows of one problem.
pub(crate) fn table(rows: &[&Row], as_markdown: bool) -> String {
    let cells = cells(rows, !as_markdown);
    let columns = cells.first().map_or(0, |header| header.len() - 1);
    if as_markdown {
        return markdown(&cells);
    }
    tables(&cells, &vec![1; columns], screen().unwrap_or(WIDTH))
}

/// The same as cells, the first row of which is the header.
pub(crate) fn cells(rows: &[&Row], in_colour: bool) -> Vec<Vec<String>> {
    let Some(first) = rows.first() else { return Vec::new() };
    let mut columns = Fault::columns(first.entry.algorithm.roles());
    let is_tried = |row: &&Row, fault| row.cell(fault).is_some_and(|cell| cell.tries() > 0);
    columns.retain(|&fault| fault != Fault::Unplug || rows.iter().any(|row| is_tried(row, fault)));
    let mut cells = vec![vec!["ALGORITHM".to_owned()]];
    cells[0].extend(columns.iter().map(|&fault| heading(fault).to_owned()));
    for row in rows {
        let mut line = vec![row.entry.algorithm.about().name.to_owned()];
        let word = |fault: &Fault| {
            let verdict = row.cell(*fault).and_then(Cell::verdict);
            let is_partial = verdict == Some(Verdict::Fine) && !row.not_tried(*fault).is_empty();
            word(verdict, in_colour) + if is_partial { "*" } else { "" }
        };
        line.extend(columns.iter().map(word));
        cells.push(line);
    }
    cells
}

fn word(verdict: Option<Verdict>, in_colour: bool) -> String {
    match verdict {
        None => "–".to_owned(),
        Some(it) if !in_colour => it.word().to_owned(),
        Some(it @ Verdict::Fine) => format!("{GOOD}{}{RESET}", it.word()),
        Some(it @ Verdict::Stuck) => it.word().to_owned(),
        Some(it @ Verdict::Unsafe) => format!("{BAD}{}{RESET}", it.word()),
    }
}

/// How the rows were made, and so what they cover.
pub(crate) fn summary(rows: &[Row], under: &Conditions) -> String {
    let runs: usize = rows.iter().map(|row| row.runs).sum();
    let tries: u64 = rows.iter().map(tries).sum();
    let last = under.seed + (under.seeds - 1);
    let seeds = match under.seeds {
        1 => format!("seed {}", under.seed),
        _ => format!("seeds {} to {last}", under.seed),
    };
    let layer = match (under.on_views, under.reliable) {
        (true, _) => " on views",
        (false, true) => " over reliable channels",
        (false, false) => "",
    };
    let many = if runs == 1 { "run" } else { "runs" };
    format!(
        "{} nodes{layer}, {seeds}: {} {many} without a fault, and {} with one fault each: every \
         message of those lost, duplicated and reordered, and every node crashed between any two \
         events ({} of a kind in a run, evenly spread); kinds of messages that \
         are sent only after a crash, in runs with one. The table shows the worst; fine is no \
         proof.\n",
        under.nodes,
        grouped(runs as u64),
        grouped(tries),
        match under.most as u64 {
            1 => "at most once".to_owned(),
            most => format!("at most {} times", grouped(most)),
        }
    )
}

fn tries(row: &Row) -> u64 {
    let columns = Fault::columns(row.entry.algorithm.roles());
    columns.iter().filter_map(|&fault| row.cell(fault)).map(Cell::tries).sum()
}

/// Everything about one algorithm: a line for every fault and kind of message.
pub(crate) fn page(row: &Row, as_markdown: bool) -> String {
    let header = ["FAULT", "VERDICT", "TRIED", "BAD", "WHAT HAPPENS"];
    let mut cells = vec![header.map(str::to_owned).to_vec()];
    for cell in &row.cells {
        let bad = cell.tries() - cell.count(Verdict::Fine);
        let what = match (&cell.witness, row.absence(cell)) {
            (Some(witness), _) => witness.what.clone(),
            (None, Some(why)) => why.to_owned(),
            (None, None) => String::new(),
        };
        let is_kind =
            Fault::columns(row.entry.algorithm.roles()).iter().all(|it| *it != cell.fault);
        let verdict = match cell.verdict() {
            None if is_kind => "not tried".to_owned(),
            verdict => word(verdict, !as_markdown),
        };
        cells.push(vec![
            cell.fault.to_string(),
            verdict,
            grouped(cell.tries()),
            grouped(bad),
            what,
        ]);
    }
    let title = format!("{}: {}\n\n", row.entry.algorithm.about().name, row.setup());
    let text = if as_markdown { markdown(&cells) } else { aligned(&cells) };
    format!("{BOLD}{}{RESET}{text}", wrapped(&title))
}

/// The relevant part of a run: from shortly before its fault to its end, or to the violation.
pub(crate) fn testimony(seen: &[Observation], until_ns: Option<u64>) -> Vec<String> {
    let whole = seen.len();
    let end = |until_ns| seen.partition_point(|it| it.at_ns <= until_ns);
    let seen = &seen[..until_ns.map_or(whole, end)];
    let fault = seen.iter().position(|it| it.what.is_fault()).unwrap_or(0);
    let from = fault.saturating_sub(BEFORE);
    let mut lines = Vec::new();
    if from > 0 {
        lines.push(format!("{DIM}… {} lines before{RESET}", grouped(from as u64)));
    }
    let shown = &seen[from..];
    // The beginning and the end of a long run.
    let (head, tail) = match shown.len().checked_sub(AFTER) {
        None | Some(0) => (shown, &shown[..0]),
        Some(_) => (&shown[..AFTER * 3 / 4], &shown[shown.len() - AFTER / 4..]),
    };
    let line = |it: &Observation| match observed_line(it) {
        line if it.what.is_fault() => format!("{BAD}{line}{RESET}"),
        line => line,
    };
    lines.extend(head.iter().map(line));
    let left = shown.len() - head.len() - tail.len();
    if left > 0 {
        lines.push(format!("{DIM}… {} lines between{RESET}", grouped(left as u64)));
    }
    lines.extend(tail.iter().map(line));
    if seen.len() < whole {
        let after = grouped((whole - seen.len()) as u64);
        lines.push(format!("{DIM}… {after} lines after{RESET}"));
    }
    lines
}
