//! `vorrang compare`: every algorithm on one workload, measured beside theory.

use serde_json::Value;
use vorrang_experiment::catalogue::Run;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::figures::{Figure, mark, span};
use vorrang_experiment::means::{Row, measure};
use vorrang_experiment::selection::Selected;
use vorrang_node::terminal::{BAD, RESET, print, say_aside, screen, wrapped};

use crate::figures_text::{coloured, legend, show};
use crate::output::{Format, print_csv, print_json, with_bar};
use crate::selection_args::SelectionArgs;
use crate::summary;
use vorrang_terminal::table::{markdown, tables};

/// Compare algorithms on the same workloads and seeds, measured beside theory
///
/// Without --algorithms: all that solve the problem as it stands, and no variant of it; without
/// --load: heavy and light, without --initiators: highest and lowest, for waves without --topology:
/// several shapes, for failure detection without --latency: several kinds of links. Every option
/// takes several values, separated by commas. Times are in units of T, the mean latency. ✓ says
/// that the measured mean is what the theory predicts (exactly, or within what chance allows), ○
/// that it lies in the range that the theory gives, ✗ that it does not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang compare --nodes 13\n  \
    vorrang compare --nodes 31 --load heavy --seeds 10 --latency exp:2ms\n  \
    vorrang compare --hot 3 --algorithms ricart-agrawala,carvalho-roucairol\n  \
    vorrang compare --problem wave --nodes 20\n  \
    vorrang compare --summary --load heavy\n  \
    vorrang compare --algorithms lamport,central --broadcast-medium\n  \
    vorrang compare --algorithms all --markdown")]
pub(crate) struct Compare {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    format: Format,
    /// Print a table in Markdown
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv"])]
    markdown: bool,
    /// Of locks: one table that joins messages, synchronisation delay, throughput, load of the
    /// busiest node and fault tolerance (which crashes and losses single-fault injection finds
    /// survived)
    #[arg(long, help_heading = "Output")]
    summary: bool,
}

impl Compare {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let selected = self.selection.runs(|algorithm| algorithm.contrast())?;
        if self.summary {
            return self.summarise(&selected);
        }
        if self.format.is_text() {
            let rows = measured(&selected.runs)?;
            let mut text: String =
                pages(&rows).into_iter().map(|it| self.page(it, &rows)).collect();
            text += &coloured(&wrapped(&legend(&text)));
            text += &wrapped(&alike(&rows));
            print(&text)?;
            for note in &selected.left_out {
                print(&wrapped(&format!("{note}\n")))?;
            }
            return verdict(&rows);
        }
        say_left_out(&selected);
        let rows = measured(&selected.runs)?;
        let values: Vec<Value> = rows.iter().map(Row::json).collect();
        if self.format.json {
            print_json(&Value::Array(values))?;
        } else {
            print_csv(&values)?;
        }
        verdict(&rows)
    }

    /// All that matters of each lock, in one table for every load.
    fn summarise(&self, selected: &Selected) -> Result<(), Failure> {
        if !self.format.is_text() {
            say_left_out(selected);
        }
        let rows = measured(&selected.runs)?;
        let faults = summary::faults(&rows)?;
        if self.format.is_text() {
            let mut all = String::new();
            for page in pages(&rows) {
                let rows: Vec<&Row> = rows.iter().filter(|row| row.page == page).collect();
                let cells = summary::cells(&rows, &faults);
                let groups = vec![1; cells.first().map_or(0, |it| it.len() - 1)];
                let text = if self.markdown {
                    markdown(&cells)
                } else {
                    tables(&cells, &groups, screen().unwrap_or(WIDTH))
                };
                all += &format!("{}{}\n", wrapped(&format!("{page}\n\n")), coloured(&text));
            }
            print(&all)?;
            print(&coloured(&wrapped(&format!("{}{}", legend(&all), summary::LEGEND))))?;
            print(&wrapped(&alike(&rows)))?;
            for note in &selected.left_out {
                print(&wrapped(&format!("{note}\n")))?;
            }
            return verdict(&rows);
        }
        let values: Vec<Value> = rows.iter().map(|row| summary::json(row, &faults)).collect();
        if self.format.json {
            print_json(&Value::Array(values))?;
        } else {
            print_csv(&values)?;
        }
        verdict(&rows)
    }

    /// One table, fewest of what its first column counts first.
    fn page(&self, page: &str, rows: &[Row]) -> String {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.page == page).collect();
        let Some(first) = rows.first() else { return String::new() };
        let seeds = match self.selection.seeds {
            1 => format!("--seed {}", first.runs[0].seed),
            many => format!("--seed {} --seeds {many}", first.runs[0].seed),
        };
        let title = format!("{page} {seeds}\n\n");
        let (cells, groups) = cells(&rows);
        if self.markdown {
            return format!("{title}{}\n", markdown(&cells));
        }
        let text = coloured(&tables(&cells, &groups, screen().unwrap_or(WIDTH)));
        let wrong: String = rows.iter().filter_map(|row| complaint(row)).collect();
        format!("{}{text}{}\n", wrapped(&title), wrapped(&wrong))
    }
}

/// The headings, in their order.
fn pages(rows: &[Row]) -> Vec<&str> {
    let mut pages: Vec<&str> = Vec::new();
    for row in rows {
        if !pages.contains(&&*row.page) {
            pages.push(&row.page);
        }
    }
    pages
}

/// Runs everything, with a bar if it takes long.
pub(crate) fn measured(runs: &[Vec<Box<dyn Run>>]) -> Result<Vec<Row>, Failure> {
    let total = runs.iter().map(Vec::len).sum::<usize>() as u64;
    with_bar(total, "{bar:40} {pos} of {len} runs, {left} left", |told| measure(runs, told))
}

/// Says what was left out, where it does not come between the figures.
pub(crate) fn say_left_out(selected: &Selected) {
    for sentence in &selected.left_out {
        say_aside(wrapped(sentence).trim_end());
    }
}

/// A table of what was measured, fewest of what its first column counts first; and how many of its
/// columns belong together, after the first.
pub(crate) fn cells(rows: &[&Row]) -> (Vec<Vec<String>>, Vec<usize>) {
    let Some(first) = rows.first() else { return Default::default() };
    // Each figure that a comparison shows, and whether the theory says anything of it here.
    let mut columns: Vec<(&Figure, bool)> = first
        .figures()
        .filter(|figure| figure.column.is_some())
        .map(|figure| (figure, rows.iter().any(|row| row.theory(figure.key).is_some())))
        .collect();
    columns.sort_by_key(|(figure, _)| figure.is_aside);
    let leading = columns.first().map_or("", |(figure, _)| figure.key);
    let mut header = vec!["ALGORITHM".to_owned()];
    for (figure, has_theory) in &columns {
        header.extend(figure.column.map(str::to_owned));
        if *has_theory {
            header.extend(["THEORY".to_owned(), String::new()]);
        }
    }
    // Whoever got stuck has no figures, and comes last.
    let rank = |row: &Row| match row.broke_off() {
        Some(_) => f64::INFINITY,
        None => row.estimate(leading).map_or(0.0, |it| it.mean),
    };
    let mut ranked = rows.to_vec();
    ranked.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let mut cells = vec![header];
    let is_twice = |name| rows.iter().filter(|row| row.runs[0].name == name).count() > 1;
    cells.extend(ranked.iter().map(|row| row_cells(row, is_twice(row.runs[0].name), &columns)));
    let groups = columns.iter().map(|(_, has_theory)| if *has_theory { 3 } else { 1 }).collect();
    (cells, groups)
}

/// The cells of a table, with the set-up beside the name if that tells it from another row.
fn row_cells(row: &Row, shows_setup: bool, columns: &[(&Figure, bool)]) -> Vec<String> {
    let run = &row.runs[0];
    let setup = run.head.iter().find(|(key, _)| *key == "setup");
    let setup = setup.and_then(|(_, text)| text.as_str()).filter(|_| shows_setup);
    // All rows of a table have as many nodes.
    let special = setup.and_then(|text| text.splitn(3, ' ').nth(2));
    let name = special.map_or(run.name.to_owned(), |text| format!("{} {text}", run.name));
    let mut cells = vec![name];
    let mut broke_off = row.broke_off();
    for (column, has_theory) in columns {
        // In the first column, instead of a mean.
        cells.push(broke_off.take().unwrap_or_else(|| show(row.estimate(column.key))));
        if *has_theory {
            cells.push(row.theory(column.key).map_or(String::new(), span));
            cells.push(row.agreement(column.key).map_or("", mark).to_owned());
        }
    }
    cells
}

/// The violation of a run, if any.
fn complaint(row: &Row) -> Option<String> {
    let run = row.runs.iter().find(|run| !run.is_fine())?;
    let what = run.violation.as_deref().unwrap_or("the run did not come to rest");
    Some(format!("{BAD}{}, seed {}: {what}{RESET}\n", run.name, run.seed))
}

/// Why several seeds show no spread, where they do not.
fn alike(rows: &[Row]) -> String {
    let seeds = rows.iter().map(|row| row.runs.len()).max().unwrap_or(1);
    if seeds < 2 {
        return String::new();
    }
    let has_spread = |row: &&Row| {
        let shown = row.figures().filter(|figure| figure.column.is_some());
        let mut means = shown.filter_map(|figure| row.estimate(figure.key));
        means.any(|mean| show(Some(mean)).contains('±'))
    };
    let same: Vec<&Row> = rows.iter().filter(|row| !has_spread(row)).collect();
    if same.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = same.iter().map(|row| row.runs[0].name).collect();
    names.dedup();
    let who = if same.len() == rows.len() { "everything".to_owned() } else { names.join(", ") };
    let is_constant = |row: &&Row| {
        let latency = row.runs[0].head.iter().find(|(key, _)| *key == "latency");
        latency.and_then(|(_, it)| it.as_str()).is_some_and(|it| !it.contains(':'))
    };
    let hint = if same.iter().any(is_constant) {
        ": nothing that counts is drawn by lot there. With --latency exp:1ms messages differ"
    } else {
        ""
    };
    format!("All {seeds} seeds measure the same of {who}, so there is no ±{hint}.\n")
}

/// The width of a page, if that of the screen is unknown.
const WIDTH: usize = 100;

fn verdict(rows: &[Row]) -> Result<(), Failure> {
    if rows.iter().all(Row::is_fine) { Ok(()) } else { Err(Failure::AlreadySaid) }
}
