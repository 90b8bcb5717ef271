//! What a comparison or a sweep is made of: some algorithms, and for each every combination of
//! options and every seed.

use std::collections::HashSet;

use vorrang_algorithms::card::About;

use crate::axes::Axes;
use crate::failure::Failure;
use crate::lookup;
use crate::problem::{Algorithm, Run};
use crate::values::whole;

/// Which algorithms, with which options.
#[derive(Debug, clap::Args)]
pub struct Selection {
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
    pub seeds: u64,
}

/// Runs that have been decided on.
pub struct Selected {
    /// For each algorithm and combination of options, one run a seed.
    pub runs: Vec<Vec<Box<dyn Run>>>,
    /// Why some are not among them, a sentence each.
    pub left_out: Vec<String>,
}

/// An option, and the values it takes.
pub type Axis = (&'static str, &'static [&'static str]);

impl Selection {
    /// Every combination, in a fixed order; what only differs in options that mean nothing to an
    /// algorithm comes once. `default` is an axis to go through if nothing is said of it.
    ///
    /// What does not suit an algorithm is left out with a sentence, unless that was asked for by
    /// name.
    pub fn runs(&self, default: fn(&dyn Algorithm) -> Axis) -> Result<Selected, Failure> {
        let entries = lookup::algorithms(&self.algorithms, self.problem.as_deref())?;
        let abouts: Vec<About> = entries.iter().map(|entry| entry.algorithm.about()).collect();
        let names_some = self.algorithms.iter().any(|name| name != "all");
        let may_leave_out = !names_some && entries.len() > 1;
        let mut selected = Selected { runs: Vec::new(), left_out: Vec::new() };
        let (mut last, mut said) = (String::new(), HashSet::new());
        for entry in &entries {
            let (option, values) = default(&*entry.algorithm);
            let points = self.options.clone().or(option, values).points(self.seeds)?;
            if let Some(point) = points.first() {
                point.check_fit(&abouts.iter().collect::<Vec<_>>())?;
            }
            let mut known = HashSet::new();
            for point in &points {
                point.args.setup.check()?;
                let of_seed = |seed| {
                    let mut args = point.args.clone();
                    args.common.seed = seed;
                    entry.algorithm.run(&args)
                };
                let seeds = seeds(point.args.common.seed, self.seeds)?;
                match seeds.map(of_seed).collect::<Result<Vec<_>, Failure>>() {
                    Ok(mut of_seeds) => {
                        of_seeds.retain(|run| known.insert(run.options(false)));
                        if !of_seeds.is_empty() {
                            selected.runs.push(of_seeds);
                        }
                    }
                    Err(Failure::Usage(why)) if may_leave_out => {
                        if said.insert(why.clone()) {
                            selected.left_out.push(format!("Left out: {why}."));
                        }
                        last = why;
                    }
                    Err(failure) => return Err(failure),
                }
            }
        }
        if selected.runs.is_empty() { Err(Failure::Usage(last)) } else { Ok(selected) }
    }
}

/// So many seeds from the first on.
fn seeds(first: u64, many: u64) -> Result<std::ops::RangeInclusive<u64>, Failure> {
    match first.checked_add(many - 1) {
        Some(last) => Ok(first..=last),
        None => Err(Failure::usage(format!(
            "--seed {first} --seeds {many} goes beyond the last seed, {}",
            u64::MAX
        ))),
    }
}
