//! The states known, by fingerprint: each with the state that it was first reached from.
//!
//! The table is cut into shards by the fingerprint's upper bits, each behind a lock of its own, so
//! that threads rarely meet. Within a shard, states of the level being built are kept apart from
//! older ones. Most states that are reached twice are reached twice from one level, so the small
//! table answers most questions; and of two ways to a new state the one from the smaller
//! fingerprint is kept, whichever thread came first.

use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use crate::fingerprint::Print;
use crate::state_hash::StateHash;

/// All states known.
#[derive(Debug)]
pub(crate) struct Table<T> {
    shards: Vec<Mutex<Shard<T>>>,
    bytes: AtomicU64,
}

/// Enough that threads rarely want the same one, few enough to visit after every level.
const SHARD_BITS: u32 = 6;

const STATES_WORTH_A_THREAD: usize = 4096;

impl<T: StateHash> Table<T> {
    pub(crate) fn new() -> Self {
        let shards: Vec<Mutex<Shard<T>>> = (0..1 << SHARD_BITS).map(|_| Mutex::default()).collect();
        let bytes = shards.iter().map(|it| lock(it).bytes()).sum::<u64>().into();
        Self { shards, bytes }
    }

    /// Notes that a state was reached from `parent`; true if it was not known.
    pub(crate) fn insert(&self, state: T, parent: T) -> bool {
        let mut shard = lock(self.shard(state));
        let bytes = shard.fresh.bytes();
        let news = shard.insert(state, parent);
        self.account(bytes, shard.fresh.bytes());
        news == News::New
    }

    /// Notes many at once, which spares most of the locking and lets the machine look up several
    /// at a time. False if not all could be, since the table would have grown beyond `room`.
    pub(crate) fn insert_all(&self, batch: &mut Batch<T>, room: u64) -> bool {
        let mut is_done = true;
        batch.sort_by_shard();
        // Threads that begin at the same shard would go on to meet at every one.
        let start = batch.reached.first().map_or(0, |it| it.0.first().0 as usize);
        for shard in (0..self.shards.len()).map(|it| (start + it) % self.shards.len()) {
            let mutex = &self.shards[shard];
            let range = batch.starts[shard]..batch.starts[shard + 1];
            if range.is_empty() {
                continue;
            }
            let mut shard = lock(mutex);
            let bytes = shard.fresh.bytes();
            if !self.has_room(&shard.fresh, range.len(), room) {
                is_done = false;
                continue;
            }
            let of_shard = &batch.by_shard[range];
            shard.look_ahead(of_shard.iter().map(|&index| batch.reached[index as usize].0));
            for &index in of_shard {
                let (state, parent) = batch.reached[index as usize];
                batch.news[index as usize] = shard.insert(state, parent);
            }
            self.account(bytes, shard.fresh.bytes());
        }
        is_done
    }

    /// Whether so many more fit in; to grow, a table takes the old room and the new at once.
    fn has_room(&self, slots: &Slots<T>, more: usize, room: u64) -> bool {
        let needed = slots.needed(more);
        let more = if needed == slots.slots.len() { 0 } else { Slots::<T>::bytes_of(needed) };
        self.bytes().saturating_add(more) <= room
    }

    /// Ends a level: all states known are now older ones. False if the table would have to grow
    /// beyond `room`; then no level can follow.
    pub(crate) fn end_level(&self, threads: usize, room: u64) -> bool {
        // For few states, to start a thread takes longer than to do its work.
        let fresh: usize = self.shards.iter().map(|it| lock(it).fresh.len).sum();
        let threads = threads.min(1 + fresh / STATES_WORTH_A_THREAD);
        thread::scope(|scope| {
            let mut parts = self.shards.chunks(self.shards.len().div_ceil(threads));
            let own = parts.next();
            let others: Vec<_> =
                parts.map(|part| scope.spawn(move || self.end_level_of(part, room))).collect();
            let is_done = self.end_level_of(own.unwrap_or_default(), room);
            others.into_iter().all(|it| it.join().unwrap_or(false)) && is_done
        })
    }

    fn end_level_of(&self, shards: &[Mutex<Shard<T>>], room: u64) -> bool {
        shards.iter().all(|shard| {
            let mut shard = lock(shard);
            let (bytes, fresh) = (shard.bytes(), shard.fresh.len);
            let is_done = self.has_room(&shard.seen, fresh, room) && shard.seen.reserve(fresh);
            if is_done {
                shard.end_level();
            }
            self.account(bytes, shard.bytes());
            is_done
        })
    }

    /// Where a known state was reached from; an initial state, from itself.
    pub(crate) fn parent(&self, state: T) -> T {
        let shard = lock(self.shard(state));
        let found = shard.fresh.get(state).or_else(|| shard.seen.get(state));
        found.expect("only states that were inserted are looked up")
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn shard(&self, state: T) -> &Mutex<Shard<T>> {
        &self.shards[shard_of(state)]
    }

    fn account(&self, before: u64, after: u64) {
        if before != after {
            self.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }
}

fn shard_of<T: StateHash>(state: T) -> usize {
    (state.first().0 >> (u64::BITS - SHARD_BITS)) as usize
}

/// Whether a reached state is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// Nothing.
    New,
    /// That it belongs to the level being built.
    Fresh,
    /// That it belongs to an earlier level. Every cycle has a step to such a state: steps lead one
    /// level down at most, and what goes round comes up again.
    Old,
}

/// States that were reached, to be noted together.
#[derive(Debug, Default)]
pub(crate) struct Batch<T> {
    /// States, each with the one that it was reached from.
    reached: Vec<(T, T)>,
    news: Vec<News>,
    /// All of them, shard after shard.
    by_shard: Vec<u32>,
    /// Where each shard begins there, and the end.
    starts: Vec<usize>,
}

impl<T: StateHash> Batch<T> {
    pub(crate) fn clear(&mut self) {
        self.reached.clear();
    }

    pub(crate) fn push(&mut self, state: T, parent: T) {
        self.reached.push((state, parent));
    }

    /// The result for each state, in the order of pushing.
    pub(crate) fn news(&self) -> &[News] {
        &self.news
    }

    fn sort_by_shard(&mut self) {
        let Self { reached, news, by_shard, starts } = self;
        starts.clear();
        starts.resize((1 << SHARD_BITS) + 1, 0);
        for (state, _) in &*reached {
            starts[shard_of(*state) + 1] += 1;
        }
        for shard in 1..starts.len() {
            starts[shard] += starts[shard - 1];
        }
        let mut next = [0; 1 << SHARD_BITS];
        next.copy_from_slice(&starts[..1 << SHARD_BITS]);
        by_shard.resize(reached.len(), 0);
        for ((state, _), index) in reached.iter().zip(0..) {
            let place = &mut next[shard_of(*state)];
            by_shard[*place] = index;
            *place += 1;
        }
        news.clear();
        news.resize(reached.len(), News::Fresh);
    }
}

fn lock<T>(shard: &Mutex<Shard<T>>) -> MutexGuard<'_, Shard<T>> {
    shard.lock().expect("no thread panics while it holds a shard")
}

/// Alone on its lines of the cache, and on those that are fetched along with them: threads that are
/// at different shards do not take them from each other.
#[derive(Debug)]
#[repr(align(128))]
struct Shard<T> {
    /// States of earlier levels.
    seen: Slots<T>,
    /// States of the level being built.
    fresh: Slots<T>,
}

impl<T: StateHash> Default for Shard<T> {
    fn default() -> Self {
        Self { seen: Slots::default(), fresh: Slots::default() }
    }
}

impl<T: StateHash> Shard<T> {
    fn insert(&mut self, state: T, parent: T) -> News {
        match self.fresh.find(state) {
            Ok(place) => {
                let known = &mut self.fresh.slots[place].parent;
                *known = parent.min(*known);
                News::Fresh
            }
            Err(_) if self.seen.find(state).is_ok() => News::Old,
            Err(place) => {
                self.fresh.put(place, state, parent);
                News::New
            }
        }
    }

    /// Reads the places where these states are looked for first, and does nothing with them: so
    /// the machine waits for many of them at once, and not anew for each that is looked up.
    fn look_ahead(&self, states: impl Iterator<Item = T>) {
        let read = |slots: &Slots<T>, state| slots.slots[slots.home(state)].state.first().0;
        black_box(states.fold(0, |sum, it| sum ^ read(&self.fresh, it) ^ read(&self.seen, it)));
    }

    fn end_level(&mut self) {
        if self.fresh.len == 0 {
            return;
        }
        for slot in self.fresh.slots.iter().filter(|slot| !slot.is_free()) {
            if let Err(place) = self.seen.find(slot.state) {
                self.seen.put(place, slot.state, slot.parent);
            }
        }
        self.fresh.clear();
    }

    fn bytes(&self) -> u64 {
        self.seen.bytes() + self.fresh.bytes()
    }
}

/// An open hash table with linear probing; fingerprints are hashes already.
#[derive(Debug)]
struct Slots<T> {
    /// A power of two of them, never all taken.
    slots: Vec<Slot<T>>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    state: T,
    parent: T,
}

const FEWEST_SLOTS: usize = 16;

impl<T: StateHash> Slot<T> {
    /// With the one fingerprint that the table cannot hold; see [`key`].
    fn free() -> Self {
        Self { state: T::default(), parent: T::default() }
    }

    fn is_free(self) -> bool {
        self.state == T::default()
    }
}

/// A fingerprint of 0 is put down as 1: one more pair among all that might collide.
fn key<T: StateHash>(state: T) -> T {
    if state == T::default() { T::with(Print(1), Print::default) } else { state }
}

impl<T: StateHash> Slots<T> {
    /// The place of a state, or else the free one where it belongs.
    fn find(&self, state: T) -> Result<usize, usize> {
        let state = key(state);
        let mask = self.slots.len() - 1;
        let mut place = self.home(state);
        loop {
            let slot = self.slots[place];
            if slot.state == state {
                return Ok(place);
            }
            if slot.is_free() {
                return Err(place);
            }
            place = (place + 1) & mask;
        }
    }

    /// Where a state is looked for first.
    #[inline]
    fn home(&self, state: T) -> usize {
        state.first().0 as usize & (self.slots.len() - 1)
    }

    fn get(&self, state: T) -> Option<T> {
        self.find(state).ok().map(|place| self.slots[place].parent)
    }

    /// Fills the free place that `find` gave.
    fn put(&mut self, place: usize, state: T, parent: T) {
        let state = key(state);
        self.slots[place] = Slot { state, parent };
        self.len += 1;
        if self.is_full(self.len) {
            assert!(
                self.grow(2 * self.slots.len()),
                "the system has no memory left for the states known"
            );
        }
    }

    /// How many slots it takes if so many more are put in.
    fn needed(&self, more: usize) -> usize {
        let mut slots = self.slots.len();
        while (self.len + more) * 3 >= slots * 2 {
            slots *= 2;
        }
        slots
    }

    /// Makes room for so many more at once; false if the system has no memory left.
    fn reserve(&mut self, more: usize) -> bool {
        let needed = self.needed(more);
        needed == self.slots.len() || self.grow(needed)
    }

    /// Two thirds: fuller, and probing for a state that is not there takes long.
    fn is_full(&self, len: usize) -> bool {
        len * 3 >= self.slots.len() * 2
    }

    /// False if the system has no memory left.
    fn grow(&mut self, slots: usize) -> bool {
        let mut new = Vec::new();
        if new.try_reserve_exact(slots).is_err() {
            return false;
        }
        new.resize(slots, Slot::free());
        let old = mem::replace(&mut self.slots, new);
        for slot in old.into_iter().filter(|slot| !slot.is_free()) {
            if let Err(place) = self.find(slot.state) {
                self.slots[place] = slot;
            }
        }
        true
    }

    /// Forgets all. Much more room than was needed is given back, for levels grow and then shrink.
    fn clear(&mut self) {
        if self.slots.len() > 8 * self.len.max(FEWEST_SLOTS) {
            *self = Self::default();
        } else {
            self.slots.fill(Slot::free());
            self.len = 0;
        }
    }

    fn bytes(&self) -> u64 {
        Self::bytes_of(self.slots.len())
    }

    const fn bytes_of(slots: usize) -> u64 {
        (slots * size_of::<Slot<T>>()) as u64
    }
}

impl<T: StateHash> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: vec![Slot::free(); FEWEST_SLOTS], len: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that fall into all shards and, within one, near each other.
    fn prints() -> impl Iterator<Item = Print> {
        (0..5000_u64).map(|number| Print(number.rotate_right(6)))
    }

    #[test]
    fn every_state_is_new_once_and_remembers_its_parent() {
        let table = Table::new();
        for state in prints().filter(|it| it.0 > 1) {
            assert!(table.insert(state, Print(!state.0)));
            assert!(!table.insert(state, Print(u64::MAX)));
        }
        table.end_level(1, u64::MAX);
        for state in prints().filter(|it| it.0 > 1) {
            assert!(!table.insert(state, Print(0)), "older states are known too");
            assert_eq!(table.parent(state), Print(!state.0));
        }
    }

    #[test]
    fn within_a_level_the_smaller_parent_is_kept_and_later_none() {
        let table = Table::new();
        let state = Print(77);
        for parent in [5, 3, 4] {
            table.insert(state, Print(parent));
        }
        assert_eq!(table.parent(state), Print(3));
        table.end_level(1, u64::MAX);
        table.insert(state, Print(1));
        assert_eq!(table.parent(state), Print(3));
    }

    #[test]
    fn the_fingerprint_zero_is_a_fingerprint() {
        let table = Table::new();
        assert!(table.insert(Print(0), Print(9)));
        assert!(!table.insert(Print(0), Print(9)));
        table.end_level(1, u64::MAX);
        assert!(!table.insert(Print(0), Print(9)));
        assert_eq!(table.parent(Print(0)), Print(9));
    }

    #[test]
    fn its_size_is_the_size_of_its_slots() {
        let table = Table::new();
        let empty = table.bytes();
        let slots =
            |table: &Table<Print>| table.shards.iter().map(|it| lock(it).bytes()).sum::<u64>();
        assert_eq!(empty, slots(&table));
        for state in prints() {
            table.insert(state, Print(0));
        }
        assert_eq!(table.bytes(), slots(&table));
        assert!(table.bytes() > empty);
        table.end_level(1, u64::MAX);
        table.end_level(1, u64::MAX);
        assert_eq!(table.bytes(), slots(&table));
    }

    #[test]
    fn a_table_never_outgrows_its_room() {
        let table = Table::new();
        let mut batch = Batch::default();
        prints().for_each(|state| batch.push(state, Print(0)));
        let room = table.bytes() + 10_000;
        assert!(!table.insert_all(&mut batch, room));
        assert!(table.bytes() <= room);
        assert!(batch.news().iter().any(|it| *it != News::New));
        assert!(table.insert_all(&mut batch, u64::MAX));
        let bytes = table.bytes();
        assert!(!table.end_level(2, bytes), "old and new room at once");
        assert_eq!(table.bytes(), table.shards.iter().map(|it| lock(it).bytes()).sum());
        assert!(table.end_level(2, u64::MAX));
    }

    #[test]
    fn room_that_a_large_level_needed_is_given_back() {
        let mut slots = Slots::default();
        for number in 1..1000 {
            let place = slots.find(Print(number)).unwrap_err();
            slots.put(place, Print(number), Print(0));
        }
        let large = slots.bytes();
        slots.clear();
        assert_eq!(slots.bytes(), large, "the next level is likely as large");
        slots.clear();
        assert_eq!(slots.bytes(), Slots::<Print>::default().bytes());
        assert_eq!(slots.find(Print(5)), Err(5));
    }
}
