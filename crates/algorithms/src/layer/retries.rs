//! When something is sent again, and how often.

use core::time::Duration;

use vorrang_protocol::Delay;

/// How long to wait for an acknowledgement, and how often.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Retries {
    /// How long at first.
    pub time_out: Duration,
    /// How often something is sent again, without a sign of success, before the peer is left alone:
    /// at least once.
    pub tries: u8,
}

impl Retries {
    /// How much longer a time-out becomes at most.
    pub(crate) const MOST_DOUBLINGS: u32 = 6;

    /// The patience to have if a message takes so long at most: there and back, and then some.
    pub const fn within(delay: Duration, tries: u8) -> Self {
        Self { time_out: delay.saturating_mul(3), tries }
    }

    /// How long to wait after so many tries.
    pub(crate) fn delay(self, tries: u8) -> Delay {
        let doublings = u32::from(tries).min(Self::MOST_DOUBLINGS);
        Delay::exactly(self.time_out.saturating_mul(1 << doublings))
    }
}
