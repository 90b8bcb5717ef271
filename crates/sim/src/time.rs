//! Simulated time: whole nanoseconds from 0, and what lies beyond its end.

/// Where time ends, after some 584 years: nothing happens at this instant or later. That it is the
/// largest number lets a duration that no number can hold be told apart: it is cut to this one.
pub(crate) const END_NS: u64 = u64::MAX;

/// Something would happen only after the end of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Beyond {
    /// How long after now it would.
    pub(crate) in_ns: u64,
}

/// The instant that comes so long after another. Wrapping around instead would put the effect
/// before its cause, and let monitors judge a run that never was.
#[inline]
pub(crate) const fn later_ns(now_ns: u64, in_ns: u64) -> Result<u64, Beyond> {
    if in_ns < END_NS - now_ns { Ok(now_ns + in_ns) } else { Err(Beyond { in_ns }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_ends_and_does_not_wrap() {
        assert_eq!(later_ns(5, 7), Ok(12));
        assert_eq!(later_ns(0, END_NS - 1), Ok(END_NS - 1));
        assert_eq!(later_ns(END_NS - 1, 0), Ok(END_NS - 1));
        for (now_ns, in_ns) in [(0, END_NS), (1, END_NS - 1), (END_NS - 1, 1), (END_NS, END_NS)] {
            assert_eq!(later_ns(now_ns, in_ns), Err(Beyond { in_ns }));
        }
    }
}
