//! The options that select the runs of a comparison or a sweep.

use vorrang_experiment::catalogue::Algorithm;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::options::RunArgs;
use vorrang_experiment::options::axis::Axis;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::selection::{Selected, Selection};
use vorrang_experiment::values::whole;

use crate::axes::Axes;

/// Which algorithms, with which options.
#[derive(Debug, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Which algorithms, separated by commas, or `all` of the problem, its variants included
    /// [default: those that solve the problem as it stands]
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    algorithms: Vec<String>,
    /// Which problem: mutex, election, wave, detection, or a variant such as k-exclusion
    /// [default: mutex]
    #[arg(long, value_name = "PROBLEM")]
    problem: Option<String>,
    #[command(flatten)]
    options: Axes,
    /// How many seeds for every combination, counted from --seed; more than one gives 95 %
    /// confidence intervals
    #[arg(long, default_value_t = 1, value_parser = whole(1..=10_000_u64))]
    pub(crate) seeds: u64,
}

impl SelectionArgs {
    /// Every algorithm with every combination of options; `default` is an axis to go through if
    /// nothing is said of it.
    pub(crate) fn runs(&self, default: fn(&dyn Algorithm) -> Axis) -> Result<Selected, Failure> {
        let selection = Selection {
            algorithms: self.algorithms.clone(),
            problem: self.problem.clone(),
            seeds: self.seeds,
        };
        let entries = selection.entries()?;
        let points = self.options.points(self.seeds)?;
        if let Some(point) = points.first() {
            let abouts: Vec<_> = entries.iter().map(|entry| entry.algorithm.about()).collect();
            point.check_fit(&abouts.iter().collect::<Vec<_>>())?;
        }
        let points: Vec<RunArgs> =
            points.into_iter().map(|ExplicitArgs { args, .. }| args).collect();
        selection.runs(&points, |algorithm| {
            // A matrix says how long messages take as well.
            let is_said = |option| {
                self.options.has(option)
                    || option == "latency" && self.options.has("latency_matrix")
            };
            Some(default(algorithm)).filter(|axis| !is_said(axis.option))
        })
    }
}
