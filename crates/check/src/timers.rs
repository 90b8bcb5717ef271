//! Armed timers, and the order that their delays force on them.
//!
//! There is no clock in a state, so a timer may run out at any moment, with one exception: if
//! another one was set earlier and its longest delay is no longer than this one's shortest, the
//! other runs out first, whatever the clock says.

use std::time::Duration;

use vorrang_protocol::{Data, Delay, NodeId};

use crate::fingerprint::{Part, Print};

/// All timers that are armed, at all nodes, in the order in which they were set.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    armed: Vec<Armed<T>>,
}

impl<T: Clone> Clone for Timers<T> {
    fn clone(&self) -> Self {
        let armed = self.armed.clone();
        Self { armed }
    }

    /// Uses the room again that this one has.
    fn clone_from(&mut self, other: &Self) {
        self.armed.clone_from(&other.armed);
    }
}

/// What a node does to its timers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimerChange<T> {
    Set(T, Delay),
    Cancel(T),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Armed<T> {
    pub(crate) at: NodeId,
    pub(crate) timer: T,
    delay: Delay,
}

impl<T: Data + Copy> Timers<T> {
    pub(crate) const NONE: Self = Self { armed: Vec::new() };

    /// Arms a timer. If it is armed already, it starts anew.
    fn set(&mut self, at: NodeId, timer: T, delay: Delay) {
        self.cancel(at, timer);
        self.armed.push(Armed { at, timer, delay });
    }

    pub(crate) fn cancel(&mut self, at: NodeId, timer: T) {
        self.armed.retain(|it| (it.at, it.timer) != (at, timer));
    }

    pub(crate) fn apply(&mut self, at: NodeId, change: TimerChange<T>) {
        match change {
            TimerChange::Set(timer, delay) => self.set(at, timer, delay),
            TimerChange::Cancel(timer) => self.cancel(at, timer),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.armed.capacity() * size_of::<Armed<T>>()
    }

    /// The timers that may run out next, in an order that does not depend on when they were set:
    /// of that, a print says only what it forces.
    pub(crate) fn due(&self) -> Vec<Armed<T>> {
        let is_due = |place: usize| {
            let timer = &self.armed[place];
            !self.armed[..place].iter().any(|earlier| earlier.forced_before(timer))
        };
        let places = (0..self.armed.len()).filter(|&place| is_due(place));
        let mut due: Vec<Armed<T>> = places.map(|place| self.armed[place]).collect();
        due.sort_unstable_by_key(|it| (it.at, it.timer));
        due
    }

    /// The print: which timers are armed and which pairs of them have an order.
    ///
    /// Of the delays, the longest is in it, since it binds timers that are yet to be set; the
    /// shortest has said all it has to say once the pairs are known. So two ways to the same
    /// future look the same.
    pub(crate) fn print(&self) -> Print {
        let mut print = Print::NONE;
        for (place, later) in self.armed.iter().enumerate() {
            print += Print::of(Part::Timer, &(later.at, later.timer, later.longest()));
            for earlier in &self.armed[..place] {
                if earlier.forced_before(later) {
                    let pair = (earlier.at, earlier.timer, later.at, later.timer);
                    print += Print::of(Part::TimerPair, &pair);
                }
            }
        }
        print
    }
}

impl<T> Armed<T> {
    /// Whether this one runs out first, given that it was set first.
    fn forced_before(&self, later: &Self) -> bool {
        self.delay.max <= later.delay.min
    }

    const fn longest(&self) -> Duration {
        self.delay.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Delay = Delay::exactly(Duration::from_millis(10));
    const LONG: Delay = Delay::between(Duration::from_millis(10), Duration::from_millis(20));
    const WIDE: Delay = Delay::between(Duration::from_millis(5), Duration::from_millis(20));

    fn timers(set: &[(u32, char, Delay)]) -> Timers<char> {
        let mut timers = Timers::NONE;
        for &(at, timer, delay) in set {
            timers.set(NodeId(at), timer, delay);
        }
        timers
    }

    fn due(timers: &Timers<char>) -> Vec<char> {
        timers.due().iter().map(|it| it.timer).collect()
    }

    #[test]
    fn an_earlier_timer_that_is_shorter_in_any_case_runs_out_first() {
        let timers = timers(&[(1, 'a', SHORT), (0, 'b', LONG)]);
        assert_eq!(due(&timers), ['a'], "across nodes, and also if both may take 10 ms");
    }

    #[test]
    fn timers_whose_ranges_overlap_run_out_in_any_order() {
        assert_eq!(due(&timers(&[(0, 'a', SHORT), (0, 'b', WIDE)])), ['a', 'b']);
    }

    #[test]
    fn a_later_timer_is_free_however_short_it_is() {
        assert_eq!(due(&timers(&[(0, 'a', LONG), (0, 'b', SHORT)])), ['a', 'b']);
        assert_eq!(due(&timers(&[(0, 'a', SHORT), (0, 'b', SHORT)])), ['a']);
    }

    #[test]
    fn setting_again_replaces_and_cancelling_removes() {
        let mut timers = timers(&[(0, 'a', SHORT), (0, 'b', SHORT), (0, 'a', SHORT)]);
        assert_eq!(due(&timers), ['b'], "a is now the later one");
        timers.cancel(NodeId(1), 'b');
        assert_eq!(due(&timers), ['b'], "another node's");
        timers.cancel(NodeId(0), 'b');
        assert_eq!(due(&timers), ['a']);
        timers.cancel(NodeId(0), 'a');
        assert!(timers.is_empty());
        assert_eq!(timers.print(), Print::NONE);
    }

    #[test]
    fn an_order_of_setting_that_forces_nothing_is_forgotten() {
        let one = timers(&[(0, 'a', WIDE), (1, 'b', WIDE)]);
        let other = timers(&[(1, 'b', WIDE), (0, 'a', WIDE)]);
        assert_eq!(one.print(), other.print());
        assert_eq!(due(&one), due(&other));
    }

    #[test]
    fn an_order_that_is_forced_is_remembered() {
        let one = timers(&[(0, 'a', SHORT), (1, 'b', SHORT)]);
        let other = timers(&[(1, 'b', SHORT), (0, 'a', SHORT)]);
        assert_ne!(one.print(), other.print());
    }

    #[test]
    fn the_longest_delay_is_remembered_and_the_shortest_is_not() {
        let print = |delay| timers(&[(0, 'a', delay)]).print();
        assert_ne!(print(SHORT), print(LONG));
        assert_eq!(print(WIDE), print(LONG));
    }
}
