//! Which signals this process was told to ignore by whoever started it, as `nohup` does.

/// A set of signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ignored(u64);

impl Ignored {
    /// Those that are ignored now, where the system tells.
    pub(super) fn now() -> Self {
        std::fs::read_to_string("/proc/self/status").map_or(Self(0), |status| Self::of(&status))
    }

    fn of(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        Self(mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
    }

    pub(super) const fn has(self, signal: i32) -> bool {
        self.0 & (1 << (signal - 1)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_signal() {
        let ignored = Ignored::of("Name:\tx\nSigBlk:\tffff\nSigIgn:\t0000000000001003\nSigCgt:\t4");
        let signals: Vec<i32> = (1..=64).filter(|&it| ignored.has(it)).collect();
        assert_eq!(signals, [1, 2, 13]);
        assert_eq!(Ignored::of("Name:\tx\n"), Ignored(0));
    }
}
