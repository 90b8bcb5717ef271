//! How long timers take.

use core::time::Duration;

/// How long a timer may take.
///
/// The simulator and the network draw from the range; the checker keeps only the order that the
/// ranges force: a timer that the same node sets later, with a `min` no less than this one's `max`,
/// runs out after it. Between nodes ranges force something only where messages are timely.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Delay {
    /// At least this long.
    pub min: Duration,
    /// At most this long.
    pub max: Duration,
}

impl Delay {
    /// Neither sooner nor later.
    pub const fn exactly(delay: Duration) -> Self {
        Self { min: delay, max: delay }
    }

    /// Somewhere in the range, so that rivals do not wake together.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    pub const fn between(min: Duration, max: Duration) -> Self {
        assert!(min.as_nanos() <= max.as_nanos(), "a delay's `min` is at most its `max`");
        Self { min, max }
    }
}
