//! How much memory a search takes.
//!
//! The search's own allocations are counted to the byte. Those of nodes, messages and monitors on
//! the heap cannot be: only their types know them. So the resident memory of the process is
//! measured as well, where the system tells it (on Linux). Its growth since the search began is
//! attributed to the search: too much rather than too little, if there are other threads.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Watches the memory of the process.
#[derive(Debug)]
pub(crate) struct Gauge {
    /// The memory of the process when the search began, if known.
    start: Option<u64>,
    /// Its growth at the last measurement.
    gained: AtomicU64,
    since: Instant,
    /// How long after that it was last looked at, in nanoseconds.
    looked_ns: AtomicU64,
    /// The most that was ever read.
    peak: AtomicU64,
}

/// To look takes some twenty microseconds.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

impl Gauge {
    pub(crate) fn new() -> Self {
        let [gained, looked_ns, peak] = [0; 3].map(AtomicU64::new);
        Self { start: resident_bytes(), gained, since: Instant::now(), looked_ns, peak }
    }

    /// How long it has watched.
    pub(crate) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Looks at the process, if it is time to: that takes longer than many steps.
    pub(crate) fn look(&self) {
        let now_ns = self.since.elapsed().as_nanos() as u64;
        let since_last_ns = now_ns.saturating_sub(self.looked_ns.load(Ordering::Relaxed));
        if u128::from(since_last_ns) < BETWEEN_LOOKS.as_nanos() {
            return;
        }
        self.looked_ns.store(now_ns, Ordering::Relaxed);
        if let (Some(start), Some(now)) = (self.start, resident_bytes()) {
            self.gained.store(now.saturating_sub(start), Ordering::Relaxed);
        }
    }

    /// The larger of what was counted and what was seen.
    pub(crate) fn read(&self, counted: u64) -> u64 {
        let bytes = counted.max(self.gained.load(Ordering::Relaxed));
        self.peak.fetch_max(bytes, Ordering::Relaxed);
        bytes
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// The resident memory of this process, where the system tells it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_the_process_gains_is_seen() {
        let gauge = Gauge::new();
        let taken = vec![1_u8; 64 << 20];
        std::thread::sleep(BETWEEN_LOOKS);
        gauge.look();
        assert!(gauge.read(0) > 48 << 20);
        assert!(taken.iter().all(|&it| it == 1));
    }

    #[test]
    fn the_larger_of_both_counts_and_the_peak_stays() {
        let gauge = Gauge { start: None, gained: 5.into(), ..Gauge::new() };
        assert_eq!([gauge.read(7), gauge.read(3)], [7, 5]);
        assert_eq!(gauge.peak(), 7);
    }
}
