//! `vorrang compare`: every algorithm on one workload, measured beside theory.

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{Agreement, Span};

use crate::failure::Failure;
use crate::figures::{Figure, LEGEND, Measured, coloured, insert_theory, mark, span};
use crate::output::{
    BAD, Format, RESET, figure, print, print_csv, print_json, progress, show_after_a_second,
};
use crate::problem::Run;
use crate::selection::Selection;
use crate::statistics::Estimate;
use crate::table::{markdown, screen, tables, wrapped};

/// Compare algorithms on the same workloads and seeds, measured beside theory
///
/// Without --algorithms: all that solve the problem as it stands, and no variant of it. Times are in
/// units of T, the mean latency. ✓ says that the measured mean is what the theory predicts (exactly,
/// or within what chance allows), ○ that it lies in the range that the theory gives, ✗ that it does
/// not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang compare --nodes 13\n  \
    vorrang compare --nodes 31 --load heavy --seeds 10 --latency exp:2ms\n  \
    vorrang compare --hot 3 --algorithms ricart-agrawala,carvalho-roucairol\n  \
    vorrang compare --algorithms all --markdown")]
pub(crate) struct Compare {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    format: Format,
    /// Print a table in Markdown
    #[arg(long, conflicts_with_all = ["json", "csv"])]
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
        let mut ranked = rows.clone();
        ranked.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        let mut cells = vec![header];
        cells.extend(ranked.iter().map(|row| row.cells(&columns)));
        if self.markdown {
            return format!("{title}{}\n", markdown(&cells));
        }
        let groups: Vec<usize> =
            columns.iter().map(|(_, has_theory)| if *has_theory { 3 } else { 1 }).collect();
        let text = coloured(&tables(&cells, &groups, screen().unwrap_or(WIDTH)));
        let wrong: String = ranked.iter().filter_map(|row| row.complaint()).collect();
        format!("{}{text}{}\n", wrapped(&title), wrapped(&wrong))
    }
}

/// What fits on a slide, if nobody says how wide the screen is.
const WIDTH: usize = 100;

fn verdict(rows: &[Row]) -> Result<(), Failure> {
    if rows.iter().all(Row::is_fine) { Ok(()) } else { Err(Failure::AlreadySaid) }
}

/// Runs everything on all cores, with a bar if it takes long.
fn measure(runs: &[Vec<Box<dyn Run>>]) -> Result<Vec<Row>, Failure> {
    let total = runs.iter().map(Vec::len).sum::<usize>() as u64;
    let bar = progress(total, "{bar:40} {pos} of {len} runs, {eta} left");
    let row = |of_seeds: &Vec<Box<dyn Run>>| {
        let one = |run: &dyn Run| {
            let measured = run.simulate(None, None);
            bar.inc(1);
            show_after_a_second(&bar);
            measured
        };
        let page = of_seeds[0].page();
        let runs = of_seeds.par_iter().map(|run| one(&**run)).collect::<Result<_, Failure>>()?;
        Ok(Row { page, runs })
    };
    let rows = runs.par_iter().map(row).collect();
    bar.finish_and_clear();
    rows
}

/// One algorithm with one set of options, over all seeds.
struct Row {
    page: String,
    runs: Vec<Measured>,
}

impl Row {
    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.runs[0].figures.iter()
    }

    fn estimate(&self, key: &str) -> Option<Estimate> {
        let samples: Vec<f64> =
            self.runs.iter().filter_map(|run| run.figure(key)?.number()).collect();
        Estimate::of(&samples)
    }

    fn theory(&self, key: &str) -> Option<Span> {
        self.runs[0].figure(key)?.theory
    }

    /// How the mean over all seeds stands to the theory. Its error is that of the seeds, or of the
    /// one run. Runs too short to know their own are too short for what is typical of long ones,
    /// however many there are.
    fn agreement(&self, key: &str) -> Option<Agreement> {
        let (theory, estimate) = self.theory(key).zip(self.estimate(key))?;
        let of_one = self.runs[0].figure(key)?.error;
        let error = of_one.map(|error| estimate.half_width.map_or(error, |it| it / 1.96));
        Some(theory.compare(estimate.mean, error))
    }

    /// Nothing was wrong, and every mean is where the theory says.
    fn is_fine(&self) -> bool {
        self.runs.iter().all(Measured::is_fine)
            && self.figures().all(|figure| self.agreement(figure.key) != Some(Agreement::Disagrees))
    }

    fn cells(&self, columns: &[(&Figure, bool)]) -> Vec<String> {
        let mut cells = vec![self.runs[0].name.to_owned()];
        for (column, has_theory) in columns {
            cells.push(show(self.estimate(column.key)));
            if *has_theory {
                cells.push(self.theory(column.key).map_or(String::new(), span));
                cells.push(self.agreement(column.key).map_or("", mark).to_owned());
            }
        }
        cells
    }

    /// What was wrong with a run, if anything was.
    fn complaint(&self) -> Option<String> {
        let run = self.runs.iter().find(|run| !run.is_fine())?;
        let what = run.violation.as_deref().unwrap_or("the run did not come to rest");
        Some(format!("{BAD}{}, seed {}: {what}{RESET}\n", run.name, run.seed))
    }

    fn json(&self) -> Value {
        let mut row = Map::new();
        for (key, value) in &self.runs[0].head {
            row.insert((*key).to_owned(), value.clone());
        }
        row.insert("seeds".to_owned(), json!(self.runs.len()));
        for figure in self.figures() {
            let key = figure.key;
            if figure.column.is_none() {
                continue;
            }
            let estimate = self.estimate(key);
            row.insert(key.to_owned(), json!(estimate.map(|it| it.mean)));
            row.insert(format!("{key}_ci95"), json!(estimate.and_then(|it| it.half_width)));
            if figure.is_predicted {
                insert_theory(&mut row, key, figure.theory, self.agreement(key));
            }
        }
        row.insert("safe".to_owned(), json!(self.runs.iter().all(|run| run.safe)));
        row.insert("quiescent".to_owned(), json!(self.runs.iter().all(|run| run.quiescent)));
        let violation = self.runs.iter().find_map(|run| run.violation.as_ref());
        row.insert("violation".to_owned(), json!(violation));
        Value::Object(row)
    }
}

/// A mean as text, with its error if that is known and not nothing.
fn show(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate { mean, half_width: Some(error) }) if error >= 0.0005 => {
            format!("{}±{}", figure(mean), figure(error))
        }
        Some(Estimate { mean, .. }) => figure(mean),
    }
}
