//! Times, as figures are made of them.

/// Some times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// How many there are.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u128,
    /// The longest.
    pub max_ns: u64,
}

impl Times {
    /// One more.
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Their mean, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
    /// The longest, if there are any.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max_ns as f64)
    }
}
