//! How far the mean of a run may be from the mean of all runs: standard errors by batch means.
//!
//! Successive samples of one run depend on each other (who waited long is followed by one who
//! waited long), so the spread of single samples says too little. The means of long batches hardly
//! depend on each other; their spread gives the standard error of the whole mean. How long is long
//! enough is not known beforehand: so whenever there are `MOST` batches, neighbours become one,
//! and from then on a batch is twice as long. See Law, *Simulation Modeling and Analysis*, on the
//! method of batch means.

use std::mem;

/// Samples of one quantity in the order in which they occurred, in constant room.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Sums of the batches that are full: integers, so that equal samples have no spread at all.
    sums: [u128; MOST],
    full: usize,
    /// How many samples make a batch.
    length: u64,
    /// The batch that is not full yet.
    open_sum: u128,
    open_count: u64,
}

/// More batches than this are never kept. Between half of them and all, once there are enough
/// samples: the 97.5 % quantile of Student's t is then 2.0, so twice the error covers 95 %.
const MOST: usize = 64;

/// The spread of fewer batches than this says nothing.
const FEWEST: usize = 8;

impl Default for Batches {
    fn default() -> Self {
        Self { sums: [0; MOST], full: 0, length: 1, open_sum: 0, open_count: 0 }
    }
}

impl Batches {
    /// Takes the next sample.
    pub fn add(&mut self, sample: u64) {
        self.open_sum += u128::from(sample);
        self.open_count += 1;
        if self.open_count == self.length {
            self.close();
        }
    }

    /// How many samples there were.
    pub const fn count(&self) -> u64 {
        self.full as u64 * self.length + self.open_count
    }

    /// Their mean; none if there were none.
    pub fn mean(&self) -> Option<f64> {
        let sum = self.sums[..self.full].iter().sum::<u128>() + self.open_sum;
        (self.count() > 0).then(|| sum as f64 / self.count() as f64)
    }

    /// The standard error of the mean; none if there are fewer than eight batches.
    ///
    /// Below 64 samples a batch is a single sample, and the error is too small where samples
    /// depend on each other.
    pub fn error(&self) -> Option<f64> {
        if self.full < FEWEST {
            return None;
        }
        // Differences of integers lose nothing, however large the sums are.
        let deviations = self.sums[..self.full]
            .iter()
            .map(|&sum| sum.wrapping_sub(self.sums[0]).cast_signed() as f64 / self.length as f64);
        let batches = self.full as f64;
        let centre = deviations.clone().sum::<f64>() / batches;
        let squares: f64 = deviations.map(|it| (it - centre) * (it - centre)).sum();
        Some((squares / (batches - 1.0) / batches).sqrt())
    }

    /// The batch is full; if it was the last that there is room for, neighbours become one.
    #[cold]
    fn close(&mut self) {
        self.sums[self.full] = mem::take(&mut self.open_sum);
        self.full += 1;
        self.open_count = 0;
        if self.full == MOST {
            self.full = MOST / 2;
            for batch in 0..self.full {
                self.sums[batch] = self.sums[2 * batch] + self.sums[2 * batch + 1];
            }
            self.length *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::mix;

    /// Whether twice the error covers the true mean of 1000 in a run in which each sample keeps a
    /// share of the one before: 0 for none, 0.9 for a strong dependence.
    fn is_covered(run: u64, keeps: f64) -> bool {
        let mut batches = Batches::default();
        let mut last = 1000.0;
        for index in 0..5000 {
            let fresh = (mix(run * 1_000_003 + index) % 2001) as f64;
            last = keeps * last + (1.0 - keeps) * fresh;
            batches.add(last.round() as u64);
        }
        let (mean, error) = (batches.mean().unwrap(), batches.error().unwrap());
        (mean - 1000.0).abs() <= 2.0 * error
    }

    #[test]
    fn twice_the_error_covers_the_truth_nineteen_times_in_twenty() {
        for keeps in [0.0, 0.9] {
            let covered = (0..1000).filter(|&run| is_covered(run, keeps)).count();
            assert!((930..=970).contains(&covered), "{covered} of 1000, keeping {keeps}");
        }
    }

    #[test]
    fn equal_samples_have_no_error() {
        let mut batches = Batches::default();
        for _ in 0..1000 {
            batches.add(u64::MAX / 3);
        }
        assert_eq!(batches.error(), Some(0.0));
        assert_eq!(batches.mean(), Some((u64::MAX / 3) as f64));
    }

    #[test]
    fn a_few_samples_have_a_mean_and_no_error() {
        let mut batches = Batches::default();
        assert_eq!((batches.mean(), batches.error()), (None, None));
        for sample in 1..=7 {
            batches.add(sample);
        }
        assert_eq!((batches.mean(), batches.error(), batches.count()), (Some(4.0), None, 7));
        batches.add(8);
        // Eight single samples with a variance of 6.
        assert_eq!(batches.error(), Some((6.0_f64 / 8.0).sqrt()));
    }

    #[test]
    fn batches_grow_and_lose_nothing() {
        let mut batches = Batches::default();
        for sample in 0..10_000 {
            batches.add(sample);
        }
        assert_eq!(batches.mean(), Some(4999.5));
        assert_eq!((batches.length, batches.full, batches.open_count), (256, 39, 16));
        assert_eq!(batches.count(), 10_000);
    }
}
