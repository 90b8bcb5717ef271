//! Injected faults of datagrams.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vorrang_protocol::NodeId;

use super::Faults;

/// The fate of a datagram that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Heeded,
    Lost,
    Doubled,
    Overtaken,
}

/// Draws fates.
#[derive(Debug)]
pub(super) struct Chance {
    faults: Faults,
    rng: Xoshiro256PlusPlus,
}

impl Chance {
    pub(super) fn new(faults: Faults, me: NodeId) -> Self {
        // A word of its own for every node: two that draw alike would lose alike.
        let seed = faults.seed ^ u64::from(me.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { faults, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    pub(super) fn draw(&mut self) -> Fate {
        let Faults { lost, doubled, overtaken, seed: _ } = self.faults;
        if lost + doubled + overtaken <= 0.0 {
            return Fate::Heeded;
        }
        // 53 bits, as many as such a number has.
        let drawn = (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if drawn < lost {
            Fate::Lost
        } else if drawn < lost + doubled {
            Fate::Doubled
        } else if drawn < lost + doubled + overtaken {
            Fate::Overtaken
        } else {
            Fate::Heeded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(faults: Faults, me: u32) -> Vec<Fate> {
        let mut chance = Chance::new(faults, NodeId(me));
        (0..10_000).map(|_| chance.draw()).collect()
    }

    #[test]
    fn shares_are_kept_and_a_seed_and_a_node_draw_the_same_again() {
        let faults = Faults { lost: 0.2, doubled: 0.1, overtaken: 0.05, seed: 7 };
        let drawn = fates(faults, 1);
        let share = |fate| drawn.iter().filter(|&&it| it == fate).count() as f64 / 10_000.0;
        for (fate, expected) in
            [(Fate::Lost, 0.2), (Fate::Doubled, 0.1), (Fate::Overtaken, 0.05), (Fate::Heeded, 0.65)]
        {
            // Ten thousand draws: 0.02 is four standard deviations.
            assert!((share(fate) - expected).abs() < 0.02, "{fate:?}: {}", share(fate));
        }
        assert_eq!(drawn, fates(faults, 1));
        assert_ne!(drawn, fates(faults, 2));
        assert_ne!(drawn, fates(Faults { seed: 8, ..faults }, 1));
    }

    #[test]
    fn nothing_and_everything_are_shares_too() {
        assert!(fates(Faults::default(), 0).iter().all(|&fate| fate == Fate::Heeded));
        let all = Faults { lost: 1.0, ..Faults::default() };
        assert!(fates(all, 0).iter().all(|&fate| fate == Fate::Lost));
    }
}
