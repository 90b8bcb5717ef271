//! Throughput of the drivers: `cargo bench --workspace`.
//!
//! Machines are noisy, so every benchmark repeats what it measures, prints the best and the median,
//! and compares with something measured in the same run.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// The best and the median of several runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Times {
    /// The fastest.
    pub best: Duration,
    /// The one in the middle.
    pub median: Duration,
}

/// Times `work`, so many times, after once for warming up.
///
/// # Panics
///
/// If `runs` is 0.
pub fn time(runs: usize, mut work: impl FnMut()) -> Times {
    work();
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    Times { best: times[0], median: times[runs / 2] }
}
