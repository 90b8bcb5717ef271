//! Timers by key: setting one again replaces it, and of those that have run out the earliest comes
//! first.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// When `delay` has passed from now; a delay that no clock can count to is as good as never.
pub(crate) fn deadline(delay: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);
    let now = Instant::now();
    now.checked_add(delay.min(NEVER)).unwrap_or(now)
}

/// The timers that are set, by time; a number stands for each key, so that this is compiled once.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// When each runs out, with a number that orders those of the same instant as they were set.
    by_slot: BTreeMap<Slot, (Instant, u64)>,
    by_time: BTreeMap<(Instant, u64), Slot>,
    set_so_far: u64,
}

/// The number of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot(usize);

impl Agenda {
    pub(crate) fn set(&mut self, slot: Slot, at: Instant) {
        let place = (at, self.set_so_far);
        self.set_so_far += 1;
        if let Some(former) = self.by_slot.insert(slot, place) {
            self.by_time.remove(&former);
        }
        self.by_time.insert(place, slot);
    }

    pub(crate) fn cancel(&mut self, slot: Slot) {
        if let Some(place) = self.by_slot.remove(&slot) {
            self.by_time.remove(&place);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_slot.clear();
        self.by_time.clear();
    }

    /// The earliest that has run out by `now`; one at a time, since handling it may cancel the
    /// next.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Slot> {
        let entry = self.by_time.first_entry()?;
        if entry.key().0 > now {
            return None;
        }
        let slot = entry.remove();
        self.by_slot.remove(&slot);
        Some(slot)
    }

    /// When this one runs out, if it is set.
    pub(crate) fn when(&self, slot: Slot) -> Option<Instant> {
        self.by_slot.get(&slot).map(|&(at, _)| at)
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.by_time.keys().next().map(|&(at, _)| at)
    }
}

/// The keys behind the numbers of an [`Agenda`]. Few are set at a time, so they are searched one by
/// one: a map would be compiled again for every type of key.
#[derive(Debug)]
pub(crate) struct Keys<K>(Vec<Option<K>>);

impl<K: PartialEq> Keys<K> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of this key, if it has one.
    pub(crate) fn find(&self, key: &K) -> Option<Slot> {
        self.0.iter().position(|it| it.as_ref() == Some(key)).map(Slot)
    }

    /// A new number for this key, even if an equal one has one.
    pub(crate) fn add(&mut self, key: K) -> Slot {
        let free = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[free] = Some(key);
        Slot(free)
    }

    /// Frees the number.
    pub(crate) fn take(&mut self, Slot(slot): Slot) -> K {
        self.0[slot].take().expect("what is on the agenda has a key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agenda with its keys, as a machine has them.
    struct Timers<K>(Agenda, Keys<K>);

    impl<K: PartialEq> Timers<K> {
        fn new() -> Self {
            Self(Agenda::default(), Keys::new())
        }

        fn set(&mut self, key: K, at: Instant) {
            let slot = self.1.find(&key).unwrap_or_else(|| self.1.add(key));
            self.0.set(slot, at);
        }

        fn cancel(&mut self, key: &K) {
            if let Some(slot) = self.1.find(key) {
                self.0.cancel(slot);
                self.1.take(slot);
            }
        }

        fn pop_due(&mut self, now: Instant) -> Option<K> {
            self.0.pop_due(now).map(|slot| self.1.take(slot))
        }
    }

    #[test]
    fn a_delay_without_end_is_far_away_and_no_overflow() {
        assert!(deadline(Duration::MAX) > Instant::now() + Duration::from_secs(24 * 60 * 60));
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
        assert_eq!(timers.0.next(), Some(after(3)));
        assert_eq!(timers.pop_due(now), None);
        assert_eq!(timers.pop_due(after(9)), Some("early"));
        assert_eq!(timers.pop_due(after(9)), Some("moved"));
        timers.cancel(&"late");
        timers.cancel(&"never set");
        assert_eq!(timers.pop_due(after(9)), None);
        assert_eq!(timers.0.next(), None);
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

    #[test]
    fn the_room_of_timers_that_are_over_is_used_again() {
        let now = Instant::now();
        let mut timers = Timers::new();
        for round in 0..1_000 {
            timers.set(2 * round, now);
            timers.set(2 * round + 1, now);
            timers.cancel(&(2 * round));
            assert_eq!(timers.pop_due(now), Some(2 * round + 1));
        }
        assert_eq!(timers.1.0.len(), 2);
    }

    #[test]
    fn equal_keys_that_are_added_both_count() {
        let mut keys = Keys::new();
        let (first, second) = (keys.add('w'), keys.add('w'));
        assert_ne!(first, second);
        assert_eq!([keys.take(first), keys.take(second)], ['w', 'w']);
        assert_eq!(keys.find(&'w'), None);
    }
}
