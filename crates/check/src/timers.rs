//! Armed timers, and what delays force to happen before them.
//!
//! There is no clock in a state, so a timer may run out at any moment, except before events that
//! are bound to happen first. Which these are depends on the links.
//!
//! **Asynchronous**, where a message may take for ever: nodes are as slow as they like and their
//! clocks run at any speed, so timers of different nodes force nothing on each other. One node has
//! one clock, by which its timers become due in order: one that is set later, or in the same step,
//! with a shortest delay no less than the longest of another runs out after that. No chain of
//! short timers ends before a longer one: a slow node may find the longer one due as well before it
//! has set the next of the chain.
//!
//! **Timely**, where a message takes no longer than a bound: all clocks run alike, all nodes come
//! up at the same instant, and a step takes no time. Each thing that is pending, a timer or a
//! message, has a longest time that it may take; each timer has a shortest. From these follows, for
//! a timer and another pending thing, the *room* between them: how much later than the other the
//! timer runs out at least. Where there is room, the other comes first.
//!
//! - Something pending when a timer is set, and something that starts together with it, leaves the
//!   timer's shortest delay less its own longest.
//! - Something that starts later leaves less: by then, time has passed. But no more than up to the
//!   nearest of all that is still pending, so the largest room that any of it has, less the new
//!   one's longest delay, is left.
//!
//! So a round trip is bound to end before a time-out that is at least as long as two messages take,
//! and a chain of shorter time-outs before a longer one. All bounds are upper bounds of what has
//! passed: some runs are followed that no clock allows, none is left out that a clock allows
//! (`tests/clocks.rs` compares with clocks).
//!
//! These constraints have no cycle, so a step is always possible. Of a cycle of timers, consider
//! the one set last: it came after the one before it, and left room to the one behind it. But then
//! that one had as much room to the one before already, since the time that is left only shrinks.
//! So there is a cycle without the one set last; and finally there are two, each with a shortest
//! delay no less than the longest of the other, and one with more: there are none such.
//!
//! What may happen at the same instant happens in every order, with two exceptions. Of two timers
//! of one node, the one that was set first runs out first. And **a message comes before a timer**:
//! this is an assumption of the timely mode, the simulator makes it as well, and a time-out of
//! exactly two message delays relies on it. To check without it, choose a bound that is a little
//! longer than the one that the time-outs assume.

use std::time::Duration;

use vorrang_protocol::{Delay, NodeId, Order};

use crate::channels::{Flight, Flying, arrange};
use crate::fingerprint::{Part, Print};
use crate::parts::Parts;
use crate::state_hash::StateHash;

/// All timers that are armed, at all nodes, by node and print.
#[derive(Debug)]
pub(crate) struct Timers {
    armed: Vec<Armed>,
}

impl Clone for Timers {
    fn clone(&self) -> Self {
        let armed = self.armed.clone();
        Self { armed }
    }

    /// Uses the room again that this one has.
    fn clone_from(&mut self, other: &Self) {
        self.armed.clone_from(&other.armed);
    }
}

/// The changes of a node to its timers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimerChange {
    Set(Print, Delay),
    Cancel(Print),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Armed {
    pub(crate) at: NodeId,
    pub(crate) timer: Print,
    /// How long it may take at most.
    max_ns: u64,
    rooms: Rooms,
}

impl Armed {
    const fn key(&self) -> Key {
        (self.at, self.timer)
    }
}

/// A timer and its node.
type Key = (NodeId, Print);

/// A timer that something comes before, and how much earlier at least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Room {
    at: NodeId,
    timer: Print,
    ns: u64,
}

impl Room {
    const fn key(&self) -> Key {
        (self.at, self.timer)
    }
}

/// All timers that something comes before, in order.
type Rooms = Vec<Room>;

/// A message that timers wait for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Slip {
    letter: Print,
    rooms: Rooms,
}

impl Timers {
    pub(crate) const NONE: Self = Self { armed: Vec::new() };

    pub(crate) fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }

    /// All that are armed, whether or not they may run out yet.
    pub(crate) fn all(&self) -> impl Iterator<Item = (NodeId, Print)> {
        self.armed.iter().map(|it| (it.at, it.timer))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let rooms: usize = self.armed.iter().map(|it| it.rooms.capacity()).sum();
        self.armed.capacity() * size_of::<Armed>() + rooms * size_of::<Room>()
    }

    /// The print: which timers are armed, and what must come first.
    ///
    /// It holds the longest delay, since that constrains timers that are yet to be set, but not the
    /// shortest, which no longer matters once the rooms are known. So states with the same future
    /// are equal.
    pub(crate) fn print<T: StateHash>(&self) -> T {
        let print = |it: &Armed| T::of(Part::Armed, &(it.at, it.timer, it.max_ns, &it.rooms));
        self.armed.iter().map(print).sum()
    }
}

/// How fast things happen: what the search must know of links to keep time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'a> {
    /// How long a message takes at most.
    pub(crate) within_ns: Option<u64>,
    pub(crate) order: Order,
    /// The messages that timers wait for.
    pub(crate) slips: &'a Parts,
}

/// The effect of a step on everything pending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'s> {
    pub(crate) at: NodeId,
    /// The message that arrives or is lost.
    pub(crate) taken: Option<usize>,
    /// The timer that runs out.
    pub(crate) fired: Option<Print>,
    /// Whether all timers of the node are gone.
    pub(crate) crashes: bool,
    pub(crate) sent: &'s [Flying],
    pub(crate) timers: &'s [TimerChange],
}

impl Pace<'_> {
    /// The message itself.
    pub(crate) fn letter(&self, print: Print) -> Print {
        match self.within_ns {
            None => print,
            Some(_) => self.slips.find::<Slip>(print).map_or(print, |slip| slip.letter),
        }
    }

    /// The timers that may run out next.
    pub(crate) fn due(&self, timers: &Timers, flight: Flight<'_>) -> Vec<Key> {
        if timers.is_empty() {
            return Vec::new();
        }
        let mut held: Vec<Key> = Vec::new();
        self.for_each_room(timers, flight, |room| held.push(room.key()));
        let armed = timers.armed.iter().map(Armed::key);
        armed.filter(|timer| !held.contains(timer)).collect()
    }

    /// Everything pending after a step that involves timers: the timers, and the messages if any of
    /// them has changed.
    pub(crate) fn after(
        &self,
        timers: &Timers,
        flight: Flight<'_>,
        change: &Change<'_>,
    ) -> (Option<Timers>, Option<Vec<Flying>>) {
        if timers.is_empty() && change.timers.is_empty() {
            return (None, None);
        }
        let is_timely = self.within_ns.is_some();
        let mut turn = Turn {
            is_timely,
            clock: if is_timely { self.read(timers, flight) } else { Vec::new() },
            armed: timers.clone(),
            gone: Vec::new(),
            fresh: Vec::new(),
        };
        if let Some(timer) = change.fired {
            turn.drop((change.at, timer));
        }
        if change.crashes {
            let ours = timers.armed.iter().filter(|it| it.at == change.at);
            ours.for_each(|it| turn.drop(it.key()));
        }
        for &it in change.timers {
            let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = it;
            turn.drop((change.at, timer));
            if let TimerChange::Set(timer, delay) = it {
                turn.arm((change.at, timer), delay);
            }
        }
        let flight = self.within_ns.map(|within_ns| self.fly(flight, change, &turn, within_ns));
        (Some(turn.armed), flight)
    }

    /// For every armed timer, the time that is left at least until it runs out.
    fn read(&self, timers: &Timers, flight: Flight<'_>) -> Vec<(Key, u64)> {
        let mut clock: Vec<_> = timers.armed.iter().map(|it| (it.key(), 0)).collect();
        self.for_each_room(timers, flight, |room| {
            if let Some(it) = clock.iter_mut().find(|it| it.0 == room.key()) {
                it.1 = it.1.max(room.ns);
            }
        });
        clock
    }

    fn for_each_room(&self, timers: &Timers, flight: Flight<'_>, mut visit: impl FnMut(Room)) {
        for it in &timers.armed {
            it.rooms.iter().copied().for_each(&mut visit);
        }
        if self.within_ns.is_some() {
            for message in flight.iter() {
                if let Some(slip) = self.slips.find::<Slip>(message.print) {
                    slip.rooms.iter().copied().for_each(&mut visit);
                }
            }
        }
    }

    /// The messages after a step.
    fn fly(
        &self,
        flight: Flight<'_>,
        change: &Change<'_>,
        turn: &Turn,
        within_ns: u64,
    ) -> Vec<Flying> {
        let Turn { clock, gone, fresh, .. } = turn;
        // The time left of a timer, as seen from a message that starts now.
        let room = |&((at, timer), left_ns): &(Key, u64)| {
            left_ns.checked_sub(within_ns).map(|ns| Room { at, timer, ns })
        };
        let mut messages = Vec::new();
        for (place, message) in flight.iter().enumerate() {
            if change.taken == Some(place) {
                continue;
            }
            let slip = self.slips.find::<Slip>(message.print);
            let is_gone = |it: &Room| gone.contains(&it.key());
            if fresh.is_empty() && slip.as_ref().is_none_or(|it| !it.rooms.iter().any(is_gone)) {
                messages.push(message);
                continue;
            }
            let letter = slip.as_ref().map_or(message.print, |slip| slip.letter);
            let mut rooms = slip.map_or_else(Vec::new, |slip| slip.rooms.clone());
            rooms.retain(|it| !is_gone(it));
            fresh.iter().filter_map(room).for_each(|room| insert(&mut rooms, room));
            messages.push(self.put(letter, rooms, message));
        }
        for message in change.sent {
            let mut rooms = Vec::new();
            clock.iter().filter_map(room).for_each(|room| insert(&mut rooms, room));
            messages.push(self.put(message.print, rooms, *message));
        }
        arrange(&mut messages, self.order);
        messages
    }

    fn put(&self, letter: Print, rooms: Rooms, message: Flying) -> Flying {
        if rooms.is_empty() {
            return Flying { print: letter, ..message };
        }
        let print = letter.then(Print::of(Part::Rooms, &rooms));
        Flying { print: self.slips.keep(print, Slip { letter, rooms }), ..message }
    }
}

/// A step in the making: what has become of the timers so far.
struct Turn {
    is_timely: bool,
    armed: Timers,
    /// For every armed timer, the time that is left at least until it runs out. Only where links
    /// are timely does that say anything of others.
    clock: Vec<(Key, u64)>,
    /// Those that ran out, or were cancelled, replaced or lost in a crash.
    gone: Vec<Key>,
    /// Those that were set, with their shortest delays.
    fresh: Vec<(Key, u64)>,
}

impl Turn {
    /// A timer is no longer armed, if it was.
    fn drop(&mut self, key: Key) {
        self.armed.armed.retain(|it| it.key() != key);
        for it in &mut self.armed.armed {
            it.rooms.retain(|it| it.key() != key);
        }
        self.clock.retain(|it| it.0 != key);
        self.fresh.retain(|it| it.0 != key);
        self.gone.push(key);
    }

    /// Arms a timer that is not armed.
    fn arm(&mut self, key: Key, delay: Delay) {
        let (at, timer) = key;
        let (min_ns, max_ns) = (shortest_ns(delay), longest_ns(delay.max));
        // Without a common clock, how much later something happens means nothing.
        let room_ns = |ns: u64| if self.is_timely { ns } else { 0 };
        let armed = &mut self.armed.armed;
        for it in &mut *armed {
            let Some(ns) = min_ns.checked_sub(it.max_ns) else { continue };
            // At the same instant, the one that was set first comes first, but only at one node:
            // for different nodes the order is unknown.
            if it.at == at || self.is_timely && ns > 0 {
                insert(&mut it.rooms, Room { at, timer, ns: room_ns(ns) });
            }
        }
        let earlier = if self.is_timely { &self.clock } else { &self.fresh };
        let mut rooms = Vec::new();
        for &((at, timer), left_ns) in earlier {
            // At the same instant, this one may come later.
            if left_ns > max_ns {
                insert(&mut rooms, Room { at, timer, ns: room_ns(left_ns - max_ns) });
            }
        }
        let place = armed.partition_point(|it| it.key() < key);
        armed.insert(place, Armed { at, timer, max_ns, rooms });
        self.fresh.push((key, min_ns));
        self.clock.push((key, min_ns));
    }
}

fn insert(rooms: &mut Rooms, room: Room) {
    let place = rooms.partition_point(|it| it.key() < room.key());
    rooms.insert(place, room);
}

/// The shortest time of a timer. Times that overflow are rounded down.
fn shortest_ns(delay: Delay) -> u64 {
    u64::try_from(delay.min.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX - 1)
}

/// The longest time of a timer or message. Times that overflow count as unbounded: [`shortest_ns`]
/// never returns so much.
pub(crate) fn longest_ns(longest: Duration) -> u64 {
    u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Delay = Delay::exactly(Duration::from_millis(10));
    const LONG: Delay = Delay::between(Duration::from_millis(10), Duration::from_millis(20));
    const WIDE: Delay = Delay::between(Duration::from_millis(5), Duration::from_millis(20));
    const TWICE: Delay = Delay::exactly(Duration::from_millis(20));

    fn of(timer: char) -> Print {
        Print::of(Part::Timer, &timer)
    }

    fn name(timer: Print) -> char {
        ('a'..='z').find(|&it| of(it) == timer).unwrap()
    }

    /// Timers and messages, and what happens to them.
    struct Game {
        slips: Parts,
        within_ns: Option<u64>,
        timers: Timers,
        flight: Vec<Flying>,
    }

    impl Game {
        fn new(message_ms: Option<u64>) -> Self {
            let within_ns = message_ms.map(|ms| ms * 1_000_000);
            Self { slips: Parts::default(), within_ns, timers: Timers::NONE, flight: Vec::new() }
        }

        fn pace(&self) -> Pace<'_> {
            Pace { within_ns: self.within_ns, order: Order::Any, slips: &self.slips }
        }

        fn step(
            &mut self,
            at: u32,
            taken: Option<char>,
            fired: Option<char>,
            sent: &[char],
            timers: &[TimerChange],
        ) -> &mut Self {
            let taken = taken.map(|it| {
                let mut all = self.flight.iter();
                all.position(|message| self.pace().letter(message.print) == of(it)).unwrap()
            });
            let flying =
                |it: &char| Flying { print: of(*it), from: NodeId(at), to: NodeId(1 - at) };
            let sent: Vec<Flying> = sent.iter().map(flying).collect();
            let change = Change {
                at: NodeId(at),
                taken,
                fired: fired.map(of),
                crashes: false,
                sent: &sent,
                timers,
            };
            let flight = Flight::of(&self.flight);
            let (armed, flown) = self.pace().after(&self.timers, flight, &change);
            self.flight = flown.unwrap_or_else(|| {
                let mut next = Vec::new();
                flight.push_successor(taken, &sent, Order::Any, &mut next);
                next
            });
            self.timers = armed.unwrap_or_else(|| self.timers.clone());
            self
        }

        fn set(&mut self, at: u32, timer: char, delay: Delay) -> &mut Self {
            self.step(at, None, None, &[], &[TimerChange::Set(of(timer), delay)])
        }

        fn due(&self) -> Vec<char> {
            let due = self.pace().due(&self.timers, Flight::of(&self.flight));
            due.into_iter().map(|(_, timer)| name(timer)).collect()
        }
    }

    fn set(message_ms: Option<u64>, set: &[(u32, char, Delay)]) -> Game {
        let mut game = Game::new(message_ms);
        for &(at, timer, delay) in set {
            game.set(at, timer, delay);
        }
        game
    }

    fn timers(all: &[(u32, char, Delay)]) -> Game {
        set(None, all)
    }

    fn due_within(message_ms: Option<u64>, all: &[(u32, char, Delay)]) -> Vec<char> {
        let mut due = set(message_ms, all).due();
        due.sort_unstable();
        due
    }

    fn due(all: &[(u32, char, Delay)]) -> Vec<char> {
        due_within(None, all)
    }

    #[test]
    fn an_earlier_timer_of_the_node_that_is_shorter_in_any_case_runs_out_first() {
        for within in [None, Some(10)] {
            let due = due_within(within, &[(0, 'a', SHORT), (0, 'b', LONG)]);
            assert_eq!(due, ['a'], "also if both may take 10 ms");
        }
    }

    #[test]
    fn timers_of_different_nodes_force_something_only_by_a_common_clock() {
        let all = [(1, 'a', SHORT), (0, 'b', TWICE)];
        assert_eq!(due_within(None, &all), ['a', 'b'], "clocks run at any speed");
        assert_eq!(due_within(Some(10), &all), ['a'], "clocks run alike");
    }

    #[test]
    fn timers_of_different_nodes_that_may_run_out_together_do_so_in_any_order() {
        for delay in [SHORT, LONG] {
            let all = [(0, 'a', SHORT), (1, 'b', delay)];
            assert_eq!(due_within(Some(10), &all), ['a', 'b'], "perhaps set at one instant");
        }
    }

    #[test]
    fn of_two_set_in_one_step_the_shorter_one_runs_out_first() {
        let longer = [TimerChange::Set(of('l'), TWICE), TimerChange::Set(of('s'), SHORT)];
        let equal = [TimerChange::Set(of('l'), LONG), TimerChange::Set(of('s'), SHORT)];
        for within in [None, Some(10)] {
            let mut game = Game::new(within);
            assert_eq!(game.step(0, None, None, &[], &longer).due(), ['s']);
            let mut game = Game::new(within);
            let due = game.step(0, None, None, &[], &equal).due().len();
            assert_eq!(due, 2, "at the same instant, the one that was set first");
        }
    }

    #[test]
    fn what_is_too_long_to_be_counted_comes_before_nothing_and_after_what_is_short() {
        let years = |count: u64| Delay::exactly(Duration::from_secs(count * 31_557_600));
        for within in [None, Some(10)] {
            assert_eq!(due_within(within, &[(0, 'a', years(800)), (0, 'b', years(700))]).len(), 2);
            assert_eq!(due_within(within, &[(0, 'a', SHORT), (0, 'b', years(700))]), ['a']);
        }
    }

    #[test]
    fn timers_whose_ranges_overlap_run_out_in_any_order() {
        assert_eq!(due(&[(0, 'a', SHORT), (0, 'b', WIDE)]), ['a', 'b']);
    }

    #[test]
    fn a_later_timer_is_free_however_short_it_is() {
        assert_eq!(due(&[(0, 'a', LONG), (0, 'b', SHORT)]), ['a', 'b']);
        assert_eq!(due(&[(0, 'a', SHORT), (0, 'b', SHORT)]), ['a']);
    }

    #[test]
    fn setting_again_replaces_and_cancelling_removes() {
        let mut game = timers(&[(0, 'a', SHORT), (0, 'b', SHORT), (0, 'a', SHORT)]);
        assert_eq!(game.due(), ['b'], "a is now the later one");
        game.step(1, None, None, &[], &[TimerChange::Cancel(of('b'))]);
        assert_eq!(game.due(), ['b'], "another node's");
        game.step(0, None, None, &[], &[TimerChange::Cancel(of('b'))]);
        assert_eq!(game.due(), ['a']);
        game.step(0, None, None, &[], &[TimerChange::Cancel(of('a'))]);
        assert!(game.timers.is_empty());
        assert_eq!(game.timers.print::<Print>(), Print::NONE);
    }

    #[test]
    fn an_order_of_setting_that_forces_nothing_is_forgotten() {
        for (delay, at, within) in [(WIDE, 0, None), (WIDE, 1, Some(10)), (SHORT, 1, None)] {
            let one = set(within, &[(0, 'a', delay), (at, 'b', delay)]);
            let other = set(within, &[(at, 'b', delay), (0, 'a', delay)]);
            assert_eq!(one.timers.print::<Print>(), other.timers.print::<Print>());
            assert_eq!(one.due(), other.due());
        }
    }

    #[test]
    fn an_order_that_is_forced_is_remembered() {
        let one = timers(&[(0, 'a', SHORT), (0, 'b', SHORT)]);
        let other = timers(&[(0, 'b', SHORT), (0, 'a', SHORT)]);
        assert_ne!(one.timers.print::<Print>(), other.timers.print::<Print>());
    }

    #[test]
    fn the_longest_delay_is_remembered_and_the_shortest_is_not() {
        let print = |delay| timers(&[(0, 'a', delay)]).timers.print::<Print>();
        assert_ne!(print(SHORT), print(LONG));
        assert_eq!(print(WIDE), print(LONG));
    }

    #[test]
    fn a_round_trip_ends_before_a_time_out_of_two_messages_and_no_longer_one() {
        let mut game = Game::new(Some(10));
        game.step(0, None, None, &['q'], &[TimerChange::Set(of('t'), TWICE)]);
        assert_eq!(game.due(), [], "the question is under way");
        game.step(1, Some('q'), None, &['r'], &[]);
        assert_eq!(game.due(), [], "the answer is under way");
        game.step(0, Some('r'), None, &['s'], &[]);
        assert_eq!(game.due(), ['t'], "a third message may be late");
    }

    #[test]
    fn of_two_questions_the_slower_one_is_waited_for_as_well() {
        let mut game = Game::new(Some(10));
        game.step(0, None, None, &['q', 'p'], &[TimerChange::Set(of('t'), TWICE)]);
        game.step(1, Some('q'), None, &['r'], &[]).step(0, Some('r'), None, &[], &[]);
        assert_eq!(game.due(), [], "the other question");
        game.step(1, Some('p'), None, &['s'], &[]);
        assert_eq!(game.due(), [], "its answer");
        game.step(0, Some('s'), None, &[], &[]);
        assert_eq!(game.due(), ['t']);
    }

    #[test]
    fn a_message_of_unknown_age_is_not_waited_for() {
        let mut game = Game::new(Some(10));
        game.set(0, 't', TWICE).step(1, None, None, &['m'], &[]);
        assert_eq!(game.due(), ['t'], "sent nobody knows how long after the timer was set");
        let mut game = Game::new(None);
        game.step(0, None, None, &['q'], &[TimerChange::Set(of('t'), TWICE)]);
        assert_eq!(game.due(), ['t'], "messages may take for ever");
    }

    #[test]
    fn a_chain_of_short_timers_ends_before_a_long_one_unless_nodes_may_be_slow() {
        let long = TimerChange::Set(of('l'), Delay::exactly(Duration::from_millis(25)));
        let short = TimerChange::Set(of('s'), SHORT);
        let mut game = Game::new(Some(10));
        game.step(0, None, None, &[], &[long, short]);
        assert_eq!(game.due(), ['s']);
        game.step(0, None, Some('s'), &[], &[short]);
        assert_eq!(game.due(), ['s'], "20 of 25");
        game.step(0, None, Some('s'), &[], &[short]);
        assert_eq!(game.due().len(), 2, "30 of 25");

        let mut game = Game::new(None);
        game.step(0, None, None, &[], &[long, short]);
        assert_eq!(game.due(), ['s']);
        game.step(0, None, Some('s'), &[], &[short]);
        assert_eq!(game.due().len(), 2, "nobody knows how late the first was");
    }
}
