//! One algorithm with one set of options over several seeds: means, beside the theory.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use vorrang_algorithms::card::{Agreement, Span};

use crate::catalogue::Run;
use crate::failure::Failure;
use crate::figures::{Figure, Measured, insert_theory};
use crate::progress::Progress;
use crate::statistics::Estimate;

/// Runs everything on all cores, and tells how many runs are over.
pub fn measure(runs: &[Vec<Box<dyn Run>>], progress: Progress<'_>) -> Result<Vec<Row>, Failure> {
    let over = AtomicU64::new(0);
    let row = |of_seeds: &Vec<Box<dyn Run>>| {
        let one = |run: &dyn Run| {
            let measured = run.simulate(None, None);
            progress(over.fetch_add(1, Ordering::Relaxed) + 1);
            measured
        };
        let page = of_seeds[0].page();
        let runs = of_seeds.par_iter().map(|run| one(&**run)).collect::<Result<_, Failure>>()?;
        Ok(Row { page, runs })
    };
    runs.par_iter().map(row).collect()
}

/// One algorithm with one set of options, over all seeds.
#[derive(Debug)]
pub struct Row {
    /// The heading under which a comparison shows it.
    pub page: String,
    /// One a seed; there is at least one.
    pub runs: Vec<Measured>,
}

impl Row {
    /// The measurements of the first seed.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.runs[0].figures.iter()
    }

    /// How far the first run came that went wrong, if any did.
    pub fn broke_off(&self) -> Option<String> {
        self.runs.iter().find_map(Measured::broke_off)
    }

    /// The mean of a figure over all seeds. There is none if a run went wrong: whoever stops early
    /// sends few messages.
    pub fn estimate(&self, key: &str) -> Option<Estimate> {
        if self.broke_off().is_some() {
            return None;
        }
        let samples: Vec<f64> =
            self.runs.iter().filter_map(|run| run.figure(key)?.number()).collect();
        Estimate::of(&samples)
    }

    /// The theory of the mean over all seeds: the mean of the theory of each, since a seed may
    /// decide more than chance, such as the graph.
    pub fn theory(&self, key: &str) -> Option<Span> {
        let of_runs: Option<Vec<Span>> =
            self.runs.iter().map(|run| run.figure(key)?.theory).collect();
        Span::mean(&of_runs?)
    }

    /// How the mean over all seeds stands to the theory. Its error is that of the seeds, or of the
    /// one run. Runs too short to know their own are too short for what is typical of long ones,
    /// however many there are.
    pub fn agreement(&self, key: &str) -> Option<Agreement> {
        let (theory, estimate) = self.theory(key).zip(self.estimate(key))?;
        let of_one = self.runs[0].figure(key)?.error;
        let error = of_one.map(|error| estimate.half_width.map_or(error, |it| it / 1.96));
        Some(theory.compare(estimate.mean, error))
    }

    /// Nothing was wrong, and every mean is where the theory says.
    pub fn is_fine(&self) -> bool {
        self.runs.iter().all(Measured::is_fine)
            && self.figures().all(|figure| self.agreement(figure.key) != Some(Agreement::Disagrees))
    }

    /// One object; its names are a promise.
    pub fn json(&self) -> Value {
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
        row.insert("broke_off".to_owned(), json!(self.broke_off()));
        row.insert("safe".to_owned(), json!(self.runs.iter().all(|run| run.safe)));
        row.insert("quiescent".to_owned(), json!(self.runs.iter().all(|run| run.quiescent)));
        let violation = self.runs.iter().find_map(|run| run.violation.as_ref());
        row.insert("violation".to_owned(), json!(violation));
        Value::Object(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two runs of which one needs 9.9 messages and the other 10.1, and what theory expects.
    fn row(theory: Span) -> Row {
        let run = |messages| Measured {
            name: "any",
            seed: 1,
            head: Vec::new(),
            figures: vec![
                Figure::real("messages", Some(messages)).theory(Some(theory), Some(0.001)),
            ],
            faults: None,
            safe: true,
            quiescent: true,
            done: (1, 1),
            violation: None,
            violated_ns: None,
            events: 1,
            wall_seconds: 0.0,
            warning: None,
        };
        Row { page: String::new(), runs: [9.9, 10.1].map(run).into() }
    }

    /// The interval is 10 ± 1.27, so the error is taken for 0.65, and four errors are allowed.
    #[test]
    fn seeds_that_lie_apart_allow_a_mean_to_be_off_by_four_errors() {
        let expects = |typical| row(Span::between(0.0, 100.0).typically(typical));
        for (typical, agreement) in [(12.5, Agreement::Agrees), (12.7, Agreement::Disagrees)] {
            assert_eq!(expects(typical).agreement("messages"), Some(agreement), "{typical}");
        }
    }

    #[test]
    fn a_row_is_fine_if_all_runs_are_and_no_figure_contradicts_its_theory() {
        let as_expected = || row(Span::between(9.0, 11.0));
        assert!(as_expected().is_fine());
        assert!(!row(Span::between(11.0, 12.0)).is_fine());
        let mut unsafe_once = as_expected();
        unsafe_once.runs[1].safe = false;
        assert!(!unsafe_once.is_fine());
    }
}
