//! How far a check looks: for how long, and by random walks where no search comes to an end.

use std::time::Duration;

use vorrang_check::{Fingerprint, Walks};

use super::command_line::CommandLine;
use crate::failure::Failure;
use crate::values::WallTime;
#[cfg(feature = "clap")]
use crate::values::whole;

/// Longer than any run of what can be asked for, but for systems that never rest.
const DEFAULT_DEPTH: u32 = 1_000;
const DEFAULT_SEED: u64 = 1;

/// How far to look, besides what bounds a search in size.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct CheckLimitArgs {
    /// Stop after so long, as in 90s, 10m or 2h
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Bounds"))]
    pub time: Option<WallTime>,
    /// The length of a state's fingerprint, in bits: two states with the same one are taken for one
    #[cfg_attr(
        feature = "clap",
        arg(long, value_enum, default_value_t = Self::default().hash_bits, help_heading = "Bounds")
    )]
    pub hash_bits: HashBits,
    /// When the state space is too large, take so many runs at random; this proves nothing
    #[cfg_attr(feature = "clap", arg(long, value_name = "WALKS", help_heading = "Random walks"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(1..=u64::MAX)))]
    pub walks: Option<u64>,
    /// How many steps a walk has at most [default: 1000]
    #[cfg_attr(feature = "clap", arg(long, value_name = "STEPS", help_heading = "Random walks"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(1..=u32::MAX)))]
    pub depth: Option<u32>,
    /// Seed of the walks; the same seed gives the same ones [default: 1]
    #[cfg_attr(
        feature = "clap",
        arg(long, help_heading = "Random walks", value_parser = whole(0..=u64::MAX))
    )]
    pub seed: Option<u64>,
}

/// How many bits stand for a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum HashBits {
    /// Fast; among ten million states a collision has a probability of three in a million
    #[cfg_attr(feature = "clap", value(name = "64"))]
    #[default]
    Few,
    /// Collisions are practically impossible; slower, and needs more memory
    #[cfg_attr(feature = "clap", value(name = "128"))]
    Many,
}

impl CheckLimitArgs {
    /// The fingerprint of a state.
    pub const fn fingerprint(&self) -> Fingerprint {
        match self.hash_bits {
            HashBits::Few => Fingerprint::Bits64,
            HashBits::Many => Fingerprint::Bits128,
        }
    }

    /// After how long to stop, if ever.
    pub fn time(&self) -> Option<Duration> {
        self.time.map(|it| it.0)
    }

    /// The walks to take, if it is not every run that is to be followed.
    pub fn walks(&self) -> Option<Walks> {
        let (depth, seed) =
            (self.depth.unwrap_or(DEFAULT_DEPTH), self.seed.unwrap_or(DEFAULT_SEED));
        self.walks.map(|count| Walks::new(count, depth, seed))
    }

    /// Refuses what only means something with walks, and what means nothing with them: of each such
    /// option, whether it was typed and what there is to say.
    pub fn check_sense(&self, of_search: &[(bool, &str)]) -> Result<(), Failure> {
        let of_walks = [
            (self.depth.is_some(), "--depth is how far a walk goes: say --walks, or --max-depth"),
            (self.seed.is_some(), "--seed decides which walks are taken: say --walks"),
        ];
        let unfit = if self.walks.is_some() { of_search } else { &of_walks };
        match unfit.iter().find(|(is_typed, _)| *is_typed) {
            Some((_, why)) => Err(Failure::usage(*why)),
            None => Ok(()),
        }
    }

    /// Adds what would have to be typed.
    pub(super) fn add_to(&self, line: &mut CommandLine) {
        line.maybe("time", self.time);
        match self.hash_bits {
            HashBits::Few => {}
            HashBits::Many => line.option("hash-bits", 128),
        }
        if let Some(walks) = self.walks() {
            line.option("walks", walks.count);
            line.option("depth", walks.depth);
            line.option("seed", walks.seed);
        }
    }
}
