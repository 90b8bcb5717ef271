//! The one source of chance: seeded, and the same on every machine.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A portable generator. Its draws use integers, and `libm` for the one logarithm, so that no
/// platform's mathematics can make two runs differ.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator of that seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `bound`, which must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply and shift: uneven by less than one part in 2^64 / bound.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match (high - low).checked_add(1) {
            Some(bound) => low + self.below(bound),
            None => self.0.next_u64(),
        }
    }

    /// A number of the exponential distribution with that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 53 bits make a number in [0, 1); its complement is never 0, so the logarithm is finite.
        let unit = (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
        -mean * libm::log(1.0 - unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_the_same_everywhere() {
        let mut random = Random::new(7);
        let drawn: Vec<u64> = (0..4).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, [55, 172, 717, 427]);
        assert_eq!(random.exponential(1000.0).to_bits(), 4_659_507_788_069_124_710);
    }

    #[test]
    fn draws_stay_inside_and_reach_both_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| random.between(3, 6)).collect();
        assert_eq!(drawn.iter().min(), Some(&3));
        assert_eq!(drawn.iter().max(), Some(&6));
        assert_eq!(random.between(9, 9), 9);
        random.between(0, u64::MAX);
    }

    #[test]
    fn the_exponential_mean_is_right() {
        let mut random = Random::new(3);
        let mean = (0..100_000).map(|_| random.exponential(5.0)).sum::<f64>() / 100_000.0;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
    }
}
