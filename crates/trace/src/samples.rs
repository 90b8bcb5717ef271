//! Percentiles that are values that occurred.

/// Every sample, up to a million of them; of more, a sample of that size.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    kept: Vec<u64>,
    seen: u64,
}

/// Eight mebibytes of them. The room is reserved at once, so that no sample allocates; memory that
/// has never been written to costs a run nothing.
pub(crate) const MOST: usize = 1 << 20;

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::with_capacity(MOST), seen: 0 }
    }
}

impl Samples {
    /// Takes a sample. Beyond [`MOST`] each takes the place of an earlier one, or none, so that at
    /// any time every sample so far is kept with the same chance (Vitter, TOMS 11(1), 1985,
    /// algorithm R). The places are drawn from the number of the sample alone: the same run gives
    /// the same percentiles.
    pub(crate) fn add(&mut self, sample: u64) {
        self.seen += 1;
        if self.kept.len() < MOST {
            self.kept.push(sample);
            return;
        }
        let place = ((u128::from(mix(self.seen)) * u128::from(self.seen)) >> 64) as usize;
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = sample;
        }
    }

    /// For each of `percents`, the smallest kept sample that so many per cent of them do not
    /// exceed (the nearest rank); none if there is no sample.
    pub(crate) fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [Option<u64>; N] {
        let mut kept = self.kept.clone();
        percents.map(|percent| {
            let rank = (kept.len() as u64 * percent).div_ceil(100) as usize;
            let place = rank.saturating_sub(1);
            (place < kept.len()).then(|| *kept.select_nth_unstable(place).1)
        })
    }
}

/// Scatters a number over all 64 bits: the finisher of `SplitMix64`.
pub(crate) const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::default();
        for value in values {
            samples.add(value);
        }
        samples
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        assert_eq!(Samples::default().percentiles([50, 99]), [None, None]);
        assert_eq!(of([7]).percentiles([1, 50, 100]), [Some(7); 3]);
        assert_eq!(of([3, 1, 2, 4]).percentiles([50, 51, 99]), [Some(2), Some(3), Some(4)]);
        assert_eq!(of(1..=200).percentiles([50, 99, 100]), [Some(100), Some(198), Some(200)]);
    }

    #[test]
    fn a_percentile_is_a_value_that_occurred_to_the_last_digit() {
        let values = [1_000_000_007, 3_000_000_019, 9_000_000_001];
        assert_eq!(of(values).percentiles([50, 99]), [Some(values[1]), Some(values[2])]);
    }

    #[test]
    fn of_too_many_a_sample_is_kept_that_takes_no_more_room() {
        let many = 4 * MOST as u64;
        let samples = of(0..many);
        assert_eq!((samples.kept.len(), samples.kept.capacity()), (MOST, MOST));
        for (percent, value) in [50_u32, 99].into_iter().zip(samples.percentiles([50, 99])) {
            let share = value.unwrap() as f64 / many as f64;
            // Three standard errors of a median over a million: 0.0015.
            assert!((share - f64::from(percent) / 100.0).abs() < 0.0015, "{percent}: {share}");
        }
        assert_eq!(samples.kept, of(0..many).kept, "the same run keeps the same");
    }
}
