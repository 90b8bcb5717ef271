//! One algorithm with one set of options over several seeds: means, beside the theory.

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{Agreement, Span};

use crate::failure::Failure;
use crate::figures::{Figure, Measured, insert_theory, mark, span};
use crate::output::{BAD, RESET, figure, progress, show_after_a_second};
use crate::problem::Run;
use crate::statistics::Estimate;

/// Runs everything on all cores, with a bar if it takes long.
pub(crate) fn measure(runs: &[Vec<Box<dyn Run>>]) -> Result<Vec<Row>, Failure> {
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
pub(crate) struct Row {
    pub(crate) page: String,
    /// One a seed; there is at least one.
    pub(crate) runs: Vec<Measured>,
}

impl Row {
    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.runs[0].figures.iter()
    }

    pub(crate) fn estimate(&self, key: &str) -> Option<Estimate> {
        let samples: Vec<f64> =
            self.runs.iter().filter_map(|run| run.figure(key)?.number()).collect();
        Estimate::of(&samples)
    }

    /// What the theory says of the mean over all seeds: the mean of what it says of each, since a
    /// seed may decide more than chance, such as the graph.
    pub(crate) fn theory(&self, key: &str) -> Option<Span> {
        let of_runs: Option<Vec<Span>> =
            self.runs.iter().map(|run| run.figure(key)?.theory).collect();
        Span::mean(&of_runs?)
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
    pub(crate) fn is_fine(&self) -> bool {
        self.runs.iter().all(Measured::is_fine)
            && self.figures().all(|figure| self.agreement(figure.key) != Some(Agreement::Disagrees))
    }

    /// The cells of a table, with the set-up beside the name if that tells it from another row.
    pub(crate) fn cells(&self, shows_setup: bool, columns: &[(&Figure, bool)]) -> Vec<String> {
        let run = &self.runs[0];
        let setup = run.head.iter().find(|(key, _)| *key == "setup");
        let setup = setup.and_then(|(_, text)| text.as_str()).filter(|_| shows_setup);
        // All rows of a table have as many nodes.
        let special = setup.and_then(|text| text.splitn(3, ' ').nth(2));
        let name = special.map_or(run.name.to_owned(), |text| format!("{} {text}", run.name));
        let mut cells = vec![name];
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
    pub(crate) fn complaint(&self) -> Option<String> {
        let run = self.runs.iter().find(|run| !run.is_fine())?;
        let what = run.violation.as_deref().unwrap_or("the run did not come to rest");
        Some(format!("{BAD}{}, seed {}: {what}{RESET}\n", run.name, run.seed))
    }

    pub(crate) fn json(&self) -> Value {
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
                insert_theory(&mut row, key, self.theory(key), self.agreement(key));
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
