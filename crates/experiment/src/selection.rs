//! The runs of a comparison or a sweep: some algorithms, and for each every combination of options
//! and every seed.

use std::collections::HashSet;

use crate::catalogue::{Algorithm, Entry, Run};
use crate::failure::Failure;
use crate::lookup;
use crate::options::RunArgs;
use crate::options::axis::{Axis, Change};

/// Runs that have been decided on.
#[derive(Debug)]
pub struct Selected {
    /// For each algorithm and combination of options, one run a seed.
    pub runs: Vec<Vec<Box<dyn Run>>>,
    /// Why some are not among them, a sentence each.
    pub left_out: Vec<String>,
}

/// Which algorithms are compared, and over how many seeds.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Their names; `all` for all of the problem; none for those that solve it as it stands.
    pub algorithms: Vec<String>,
    /// The problem, or a variant of it; mutual exclusion if none is named.
    pub problem: Option<String>,
    /// How many seeds for each combination of options, counted from the one in the options.
    pub seeds: u64,
}

impl Default for Selection {
    fn default() -> Self {
        Self { algorithms: Vec::new(), problem: None, seeds: 1 }
    }
}

/// Runs of an algorithm beyond this are a slip of the finger.
const MOST: u64 = 10_000_000;

/// Whether so many combinations of options, each so many times, are not too many.
pub fn check_count(lengths: impl IntoIterator<Item = u64>) -> Result<(), Failure> {
    let runs = lengths.into_iter().try_fold(1_u64, u64::checked_mul);
    if runs.is_none_or(|many| many > MOST) {
        return Err(Failure::usage(format!("these are more than {MOST} runs")));
    }
    Ok(())
}

impl Selection {
    /// The algorithms that are meant.
    pub fn entries(&self) -> Result<Vec<&'static Entry>, Failure> {
        lookup::algorithms(&self.algorithms, self.problem.as_deref())
    }

    /// Every algorithm with all of these options, in a fixed order; what only differs in options
    /// that mean nothing to an algorithm comes once. `besides` is a further option to go through.
    ///
    /// Options that do not suit an algorithm leave it out with a note, unless it was named.
    pub fn runs(
        &self,
        points: &[RunArgs],
        besides: impl Fn(&dyn Algorithm) -> Option<Axis>,
    ) -> Result<Selected, Failure> {
        let entries = self.entries()?;
        let names_some = self.algorithms.iter().any(|name| name != "all");
        let may_leave_out = !names_some && entries.len() > 1;
        let mut selected = Selected { runs: Vec::new(), left_out: Vec::new() };
        let (mut last, mut said) = (String::new(), HashSet::new());
        for entry in &entries {
            let axis = besides(&*entry.algorithm);
            let length = axis.as_ref().map_or(1, |axis| axis.values.len() as u64);
            check_count([points.len() as u64, length, self.seeds])?;
            let mut known = HashSet::new();
            for point in points.iter().flat_map(|point| along(point, axis.as_ref())) {
                point.setup.check()?;
                let of_seed = |seed| {
                    let mut args = point.clone();
                    args.common.seed = seed;
                    entry.algorithm.run(&args)
                };
                let seeds = seeds(point.common.seed, self.seeds)?;
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

/// The options with every value of an axis.
fn along(point: &RunArgs, axis: Option<&Axis>) -> Vec<RunArgs> {
    let Some(axis) = axis else { return vec![point.clone()] };
    let with = |change: &Change| {
        let mut point = point.clone();
        change(&mut point);
        point
    };
    axis.values.iter().map(with).collect()
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
