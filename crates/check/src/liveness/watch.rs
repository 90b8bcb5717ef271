//! Bounds and progress reports of the second pass.

use crate::level::Clock;
use crate::memory::Gauge;
use crate::report::{Bound, Progress};

/// Looks at the clock and at the memory, every so often.
pub(crate) struct Watch<'a, 'c> {
    clock: &'a mut Clock<'c>,
    gauge: &'a Gauge,
    most_bytes: Option<u64>,
    /// The time and memory used before the pass began.
    taken: u64,
    progress: Progress,
    calls: u32,
}

/// So many states are visited, or steps followed, between two looks at the clock.
const BETWEEN_LOOKS: u32 = 512;

impl<'a, 'c> Watch<'a, 'c> {
    /// Tells of this progress but for the level, which begins anew, and the memory.
    pub(crate) fn new(
        clock: &'a mut Clock<'c>,
        gauge: &'a Gauge,
        most_bytes: Option<u64>,
        progress: Progress,
    ) -> Self {
        Self { clock, gauge, most_bytes, taken: progress.memory_bytes, progress, calls: 0 }
    }

    /// A level of so many states is visited.
    pub(super) fn begin_level(&mut self, depth: u32, size: usize) {
        self.progress = Progress { depth, frontier: size as u64, ..self.progress };
    }

    /// So much memory is taken by the pass.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Bound> {
        let bytes = self.gauge.read(self.taken + bytes);
        self.progress.memory_bytes = bytes;
        if self.most_bytes.is_some_and(|most| bytes > most) {
            return Err(Bound::Memory);
        }
        self.go_on()
    }

    /// Whether to go on.
    pub(super) fn go_on(&mut self) -> Result<(), Bound> {
        self.calls += 1;
        if self.calls < BETWEEN_LOOKS {
            return Ok(());
        }
        self.calls = 0;
        self.gauge.look();
        self.clock.tick(|| self.progress).map_or(Ok(()), Err)
    }
}
