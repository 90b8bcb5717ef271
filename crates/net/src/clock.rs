//! One clock for all processes of a machine, so that what several nodes recorded can be merged.
//!
//! On Unix it is `CLOCK_MONOTONIC`, which counts from the machine's start and is the same for every
//! process; [`std::time::Instant`] reads the same clock but does not tell its number. Elsewhere it
//! is the wall clock, which may be set while we run. Between machines neither is comparable.

/// Counts nanoseconds since a moment that several processes can agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { epoch_ns: monotonic_ns() }
    }

    /// The clock that another process [`start`](Self::start)ed, by its
    /// [`epoch_ns`](Self::epoch_ns).
    pub const fn since(epoch_ns: u64) -> Self {
        Self { epoch_ns }
    }

    /// When this clock began: a number to hand to other processes of the same machine.
    pub const fn epoch_ns(self) -> u64 {
        self.epoch_ns
    }

    /// Nanoseconds since it began; 0 before.
    pub fn now_ns(self) -> u64 {
        monotonic_ns().saturating_sub(self.epoch_ns)
    }
}

#[cfg(unix)]
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(not(unix))]
fn monotonic_ns() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_handed_on_tells_the_same_time() {
        let clock = Clock::start();
        let same = Clock::since(clock.epoch_ns());
        let times = [clock.now_ns(), same.now_ns(), clock.now_ns()];
        assert!(times.is_sorted(), "{times:?}");
    }
}
