//! `vorrang compare`: every algorithm on one workload, measured beside theory.

use serde_json::Value;

use crate::failure::Failure;
use crate::figures::{Figure, LEGEND, coloured};
use crate::means::{Row, measure};
use crate::output::{Format, print, print_csv, print_json};
use crate::selection::Selection;
use crate::table::{markdown, screen, tables, wrapped};

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
    vorrang compare --algorithms all --markdown")]
pub(crate) struct Compare {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    format: Format,
    /// Print a table in Markdown
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv"])]
    markdown: bool,
}

impl Compare {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let selected = self.selection.runs(|algorithm| algorithm.contrast())?;
        if self.format.is_text() {
            let rows = measure(&selected.runs)?;
            let mut pages: Vec<&str> = Vec::new();
            for row in &rows {
                if !pages.contains(&&*row.page) {
                    pages.push(&row.page);
                }
            }
            for page in pages {
                print(&self.page(page, &rows))?;
            }
            print(&coloured(&wrapped(&format!("{LEGEND}\n"))))?;
            for note in &selected.left_out {
                print(&wrapped(&format!("{note}\n")))?;
            }
            return verdict(&rows);
        }
        selected.say_left_out();
        let rows = measure(&selected.runs)?;
        let values: Vec<Value> = rows.iter().map(Row::json).collect();
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
        let wrong: String = rows.iter().filter_map(|row| row.complaint()).collect();
        format!("{}{text}{}\n", wrapped(&title), wrapped(&wrong))
    }
}

/// A table of what was measured, fewest of what its first column counts first; and how many of its
/// columns belong together, after the first.
pub(crate) fn cells(rows: &[&Row]) -> (Vec<Vec<String>>, Vec<usize>) {
    let Some(first) = rows.first() else { return Default::default() };
    // Each figure that a comparison shows, and whether the theory says anything of it here.
    let columns: Vec<(&Figure, bool)> = first
        .figures()
        .filter(|figure| figure.column.is_some())
        .map(|figure| (figure, rows.iter().any(|row| row.theory(figure.key).is_some())))
        .collect();
    let leading = columns.first().map_or("", |(figure, _)| figure.key);
    let mut header = vec!["ALGORITHM".to_owned()];
    for (figure, has_theory) in &columns {
        header.extend(figure.column.map(str::to_owned));
        if *has_theory {
            header.extend(["THEORY".to_owned(), String::new()]);
        }
    }
    let rank = |row: &Row| row.estimate(leading).map_or(0.0, |it| it.mean);
    let mut ranked = rows.to_vec();
    ranked.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let mut cells = vec![header];
    let is_twice = |name| rows.iter().filter(|row| row.runs[0].name == name).count() > 1;
    cells.extend(ranked.iter().map(|row| row.cells(is_twice(row.runs[0].name), &columns)));
    let groups = columns.iter().map(|(_, has_theory)| if *has_theory { 3 } else { 1 }).collect();
    (cells, groups)
}

/// What fits on a page, if nobody says how wide the screen is.
const WIDTH: usize = 100;

fn verdict(rows: &[Row]) -> Result<(), Failure> {
    if rows.iter().all(Row::is_fine) { Ok(()) } else { Err(Failure::AlreadySaid) }
}
