//! How much a stranger may make a node say.

use tokio::time::{Duration, Instant};

/// So many at once, and then one in a while.
#[derive(Clone, Debug)]
pub struct RateLimit {
    burst: u32,
    every: Duration,
    left: u32,
    since: Option<Instant>,
    missed: u64,
}

impl RateLimit {
    /// `burst` at once; each that was used is there again after another `every`.
    pub const fn new(burst: u32, every: Duration) -> Self {
        Self { burst, every, left: burst, since: None, missed: 0 }
    }

    /// Whether one more may be said, and then how many were not since the last.
    pub fn ask(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let gained = now.saturating_duration_since(since).as_nanos() / self.every.as_nanos().max(1);
        let gained = u32::try_from(gained).unwrap_or(u32::MAX);
        if gained > 0 {
            self.left = self.left.saturating_add(gained).min(self.burst);
            self.since = Some(now);
        }
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            Some(std::mem::take(&mut self.missed))
        } else {
            self.missed += 1;
            None
        }
    }

    /// How many were not said, if it may be said by now.
    pub fn suppressed(&mut self, now: Instant) -> Option<u64> {
        if self.missed == 0 {
            return None;
        }
        let asked = self.ask(now);
        if asked.is_none() {
            // Asking was no event.
            self.missed -= 1;
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_at_once_then_one_in_a_while_and_what_was_missed_is_counted() {
        let start = Instant::now();
        let mut ration = RateLimit::new(2, Duration::from_secs(1));
        let said = [(); 5].map(|()| ration.ask(start));
        assert_eq!(said, [Some(0), Some(0), None, None, None]);
        assert_eq!(ration.ask(start + Duration::from_millis(1_500)), Some(3));
        assert_eq!(ration.ask(start + Duration::from_millis(1_600)), None);
        let later = start + Duration::from_secs(60);
        let said = [(); 3].map(|()| ration.ask(later));
        assert_eq!(said, [Some(1), Some(0), None], "not more at once for having waited");
    }

    #[test]
    fn what_was_missed_is_told_when_it_may_be_and_asking_for_it_is_no_event() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut ration = RateLimit::new(2, second);
        assert_eq!([0; 4].map(|_| ration.ask(start)), [Some(0), Some(0), None, None]);
        assert_eq!(ration.suppressed(start), None);
        assert_eq!(ration.suppressed(start + second), Some(2));
        assert_eq!(ration.suppressed(start + second), None, "nothing is owed");
    }
}
