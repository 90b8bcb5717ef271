//! Timers by key: setting one again replaces it, and of those that have run out the earliest comes
//! first.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// When `delay` has passed from now; a delay that no clock can count to is as good as never.
pub(crate) fn deadline(delay: Duration) -> Instant {
    const NEVER: Duration = Duration::from_hours(24 * 365 * 30);
    let now = Instant::now();
    now.checked_add(delay.min(NEVER)).unwrap_or(now)
}

/// What is set, by key and by time.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    /// When each runs out, with a number that orders those of the same instant as they were set.
    by_key: BTreeMap<K, (Instant, u64)>,
    by_time: BTreeMap<(Instant, u64), K>,
    set_so_far: u64,
}

impl<K: Ord + Clone> Timers<K> {
    pub(crate) const fn new() -> Self {
        Self { by_key: BTreeMap::new(), by_time: BTreeMap::new(), set_so_far: 0 }
    }

    pub(crate) fn set(&mut self, key: K, at: Instant) {
        let place = (at, self.set_so_far);
        self.set_so_far += 1;
        if let Some(former) = self.by_key.insert(key.clone(), place) {
            self.by_time.remove(&former);
        }
        self.by_time.insert(place, key);
    }

    pub(crate) fn cancel(&mut self, key: &K) {
        if let Some(place) = self.by_key.remove(key) {
            self.by_time.remove(&place);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_key.clear();
        self.by_time.clear();
    }

    /// The earliest that has run out by `now`; one at a time, since handling it may cancel the
    /// next.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<K> {
        let entry = self.by_time.first_entry()?;
        if entry.key().0 > now {
            return None;
        }
        let key = entry.remove();
        self.by_key.remove(&key);
        Some(key)
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.by_time.keys().next().map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_without_end_is_far_away_and_no_overflow() {
        assert!(deadline(Duration::MAX) > Instant::now() + Duration::from_hours(24));
    }

    #[test]
    fn the_earliest_comes_first_and_a_replaced_one_counts_once() {
        let now = Instant::now();
        let after = |ms| now + Duration::from_millis(ms);
        let mut timers = Timers::new();
        timers.set("late", after(9));
        timers.set("moved", after(1));
        timers.set("early", after(3));
        timers.set("moved", after(5));
        assert_eq!(timers.next(), Some(after(3)));
        assert_eq!(timers.pop_due(now), None);
        assert_eq!(timers.pop_due(after(9)), Some("early"));
        assert_eq!(timers.pop_due(after(9)), Some("moved"));
        timers.cancel(&"late");
        timers.cancel(&"never set");
        assert_eq!(timers.pop_due(after(9)), None);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn those_of_one_instant_come_as_they_were_set() {
        let now = Instant::now();
        let mut timers = Timers::new();
        for key in [3, 1, 2] {
            timers.set(key, now);
        }
        let order = [(); 3].map(|()| timers.pop_due(now));
        assert_eq!(order, [Some(3), Some(1), Some(2)]);
    }
}
