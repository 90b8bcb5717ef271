//! `vorrang compare`: every algorithm on one workload, measured beside theory.

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{About, Agreement, Span};

use crate::axes::{Axes, seeds};
use crate::failure::Failure;
use crate::figures::{Figure, LEGEND, Measured, coloured, insert_theory, mark, span};
use crate::lookup;
use crate::output::{
    BAD, Format, RESET, figure, markdown, print, print_csv, print_json, progress,
    show_after_a_second, table, table_width,
};
use crate::problem::Run;
use crate::statistics::Estimate;

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
    /// Which algorithms, separated by commas, or `all`
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// Which problem: mutex, election, or a variant such as k-exclusion [default: mutex]
    #[arg(long, value_name = "PROBLEM")]
    problem: Option<String>,
    #[command(flatten)]
    options: Axes,
    /// How many seeds, counted from --seed; more than one gives 95 % confidence intervals
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    #[command(flatten)]
    format: Format,
    /// Print a table in Markdown
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    markdown: bool,
}

impl Compare {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let (runs, left_out) = self.runs()?;
        let rows = measure(&runs)?;
        if self.format.json {
            print_json(&rows.iter().map(Row::json).collect())?;
        } else if self.format.csv {
            print_csv(&rows.iter().map(Row::json).collect::<Vec<_>>())?;
        } else {
            let mut pages: Vec<String> = Vec::new();
            for row in &rows {
                if !pages.contains(&row.page) {
                    pages.push(row.page.clone());
                }
            }
            for page in pages {
                print(&self.page(&page, &rows))?;
            }
            print(&format!("{}\n", coloured(LEGEND)))?;
            for note in left_out {
                print(&format!("{note}\n"))?;
            }
        }
        if rows.iter().all(Row::is_fine) { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    /// For each algorithm and combination of options, one run a seed. An algorithm that the network
    /// does not suit is left out with a sentence, unless it was asked for by name.
    fn runs(&self) -> Result<(Vec<Vec<Box<dyn Run>>>, Vec<String>), Failure> {
        let entries = lookup::algorithms(&self.algorithms, self.problem.as_deref())?;
        let abouts: Vec<About> = entries.iter().map(|entry| entry.algorithm.about()).collect();
        let (mut runs, mut left_out) = (Vec::new(), Vec::new());
        for entry in &entries {
            let (option, values) = entry.algorithm.contrast();
            for point in self.options.clone().or(option, values).points()? {
                point.check_fit(&abouts.iter().collect::<Vec<_>>())?;
                let of_seed = |seed| {
                    let mut args = point.args.clone();
                    args.common.seed = seed;
                    entry.algorithm.run(&args)
                };
                let seeds = seeds(point.args.common.seed, self.seeds)?;
                match seeds.map(of_seed).collect::<Result<Vec<_>, Failure>>() {
                    Ok(of_seeds) => runs.push(of_seeds),
                    Err(Failure::Usage(why)) if self.algorithms.is_empty() && entries.len() > 1 => {
                        left_out.push(format!("Left out: {why}."));
                    }
                    Err(failure) => return Err(failure),
                }
            }
        }
        left_out.dedup();
        if runs.is_empty() {
            return Err(Failure::Usage(left_out.join("\n")));
        }
        Ok((runs, left_out))
    }

    /// One table, fewest of what its first column counts first.
    fn page(&self, page: &str, rows: &[Row]) -> String {
        let mut rows: Vec<&Row> = rows.iter().filter(|row| row.page == page).collect();
        let Some(first) = rows.first() else { return String::new() };
        let seeds = match self.seeds {
            1 => format!("--seed {}", first.runs[0].seed),
            many => format!("--seed {} --seeds {many}", first.runs[0].seed),
        };
        let title = format!("{page} {seeds}");
        let columns: Vec<Figure> =
            first.figures().filter(|figure| figure.column.is_some()).cloned().collect();
        let leading = columns.first().map_or("", |figure| figure.key);
        let rank = |row: &Row| row.estimate(leading).map_or(0.0, |it| it.mean);
        rows.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        let mut header = vec!["ALGORITHM".to_owned()];
        for figure in &columns {
            header.extend(figure.column.map(str::to_owned));
            if figure.theory.is_some() {
                header.extend(["THEORY".to_owned(), String::new()]);
            }
        }
        let compared = 1 + columns.iter().take_while(|it| it.theory.is_some()).count() * 3;
        let mut cells = vec![header];
        cells.extend(rows.iter().map(|row| row.cells(&columns)));
        if self.markdown {
            return format!("{title}\n\n{}\n", markdown(&cells));
        }
        let text = if table_width(&cells) <= WIDTH {
            table(&cells)
        } else {
            // Too wide for one table: what has a theory, and then the rest.
            let left: Vec<_> = cells.iter().map(|row| row[..compared].to_vec()).collect();
            let right = |row: &Vec<String>| [&row[..1], &row[compared..]].concat();
            let right: Vec<_> = cells.iter().map(right).collect();
            table(&left) + "\n" + &table(&right)
        };
        let text = coloured(&text);
        let wrong: String = rows.iter().filter_map(|row| row.complaint()).collect();
        format!("{title}\n\n{text}{wrong}\n")
    }
}

/// What fits on a screen and on a slide.
const WIDTH: usize = 100;

/// Runs everything on all cores, with a bar if it takes long.
fn measure(runs: &[Vec<Box<dyn Run>>]) -> Result<Vec<Row>, Failure> {
    let total = runs.iter().map(Vec::len).sum::<usize>() as u64;
    let bar = progress(total, "{bar:40} {pos} of {len} runs, {eta} left");
    let row = |of_seeds: &Vec<Box<dyn Run>>| {
        let one = |run: &Box<dyn Run>| {
            let measured = run.simulate(None, None);
            bar.inc(1);
            show_after_a_second(&bar);
            measured
        };
        let page = of_seeds[0].page();
        let runs = of_seeds.par_iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
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
    /// one run.
    fn agreement(&self, key: &str) -> Option<Agreement> {
        let (theory, estimate) = self.theory(key).zip(self.estimate(key))?;
        let error = match estimate.half_width {
            Some(half_width) => Some(half_width / 1.96),
            None => self.runs[0].figure(key)?.error,
        };
        Some(theory.compare(estimate.mean, error))
    }

    /// Nothing was wrong, and every mean is where the theory says.
    fn is_fine(&self) -> bool {
        self.runs.iter().all(Measured::is_fine)
            && self.figures().all(|figure| self.agreement(figure.key) != Some(Agreement::Disagrees))
    }

    fn cells(&self, columns: &[Figure]) -> Vec<String> {
        let mut cells = vec![self.runs[0].name.to_owned()];
        for column in columns {
            cells.push(show(self.estimate(column.key)));
            if column.theory.is_some() {
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
            if let Some(theory) = figure.theory {
                insert_theory(&mut row, key, theory, self.agreement(key));
            }
        }
        row.insert("safe".to_owned(), json!(self.runs.iter().all(|run| run.safe)));
        row.insert("quiescent".to_owned(), json!(self.runs.iter().all(|run| run.quiescent)));
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
