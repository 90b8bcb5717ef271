//! Times, as figures are made of them.

/// Some times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub(super) count: u64,
    pub(super) sum_ns: u128,
    pub(super) max_ns: u64,
}

impl Times {
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub const fn count(&self) -> u64 {
        self.count
    }
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max_ns as f64)
    }
}
