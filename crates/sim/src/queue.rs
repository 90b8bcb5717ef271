//! The event queue, earliest first; of two events at one time, the one that was put in first.
//!
//! A plain binary heap of events moves whole events about at every step. Two things make it cheaper
//! (half as many events again in a second, measured with 64 nodes and constant latency and with
//! 1000 nodes and any): events that come in order of time, as all messages of constant latency do,
//! wait in a line instead of the heap; and for the others the heap holds only keys, while the
//! events stay where they are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Debug)]
pub(crate) struct Queue<E> {
    /// In order by themselves.
    line: VecDeque<(Key, E)>,
    heap: BinaryHeap<Reverse<(Key, u32)>>,
    /// The events whose keys are in the heap.
    slots: Vec<Option<E>>,
    free: Vec<u32>,
    pushed: u64,
}

/// Set in the numbers of what comes last in its instant.
const LAST: u64 = 1 << 63;

/// When, and as which of all events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) at_ns: u64,
    pub(crate) number: u64,
}

impl<E> Queue<E> {
    pub(crate) const fn new() -> Self {
        Self {
            line: VecDeque::new(),
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            pushed: 0,
        }
    }

    /// The number that the next event will have.
    pub(crate) const fn next_number(&self) -> u64 {
        self.pushed
    }

    pub(crate) fn push(&mut self, at_ns: u64, event: E) {
        self.put(Key { at_ns, number: self.pushed }, event);
    }

    /// Puts in something that comes after all else of the same instant; its number.
    pub(crate) fn push_last(&mut self, at_ns: u64, event: E) -> u64 {
        let number = self.pushed | LAST;
        self.put(Key { at_ns, number }, event);
        number
    }

    /// Uses up a number for something that will never happen.
    pub(crate) const fn skip(&mut self) {
        self.pushed += 1;
    }

    fn put(&mut self, key: Key, event: E) {
        self.pushed += 1;
        if self.line.back().is_none_or(|(last, _)| *last <= key) {
            self.line.push_back((key, event));
            return;
        }
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(event);
            slot
        } else {
            self.slots.push(Some(event));
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 events are under way")
        };
        self.heap.push(Reverse((key, slot)));
    }

    pub(crate) fn pop(&mut self) -> Option<(Key, E)> {
        let Some(Reverse((earliest, _))) = self.heap.peek() else {
            return self.line.pop_front();
        };
        if self.line.front().is_some_and(|(first, _)| first < earliest) {
            return self.line.pop_front();
        }
        let Reverse((key, slot)) = self.heap.pop()?;
        self.free.push(slot);
        let event = self.slots[slot as usize].take().expect("a key in the heap has its event");
        Some((key, event))
    }

    /// All that is under way, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let in_line = self.line.iter().map(|(_, event)| event);
        in_line.chain(self.slots.iter().flatten())
    }

    /// The event that [`pop`](Self::pop) would return.
    pub(crate) fn first(&self) -> Option<(Key, &E)> {
        let in_line = self.line.front().map(|(key, event)| (*key, event));
        let Some(Reverse((earliest, slot))) = self.heap.peek() else { return in_line };
        match in_line {
            Some((first, event)) if first < *earliest => Some((first, event)),
            Some(_) | None => Some((*earliest, self.slots[*slot as usize].as_ref()?)),
        }
    }

    /// When the next event is.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let in_line = self.line.front().map(|(key, _)| key.at_ns);
        let in_heap = self.heap.peek().map(|Reverse((key, _))| key.at_ns);
        in_line.into_iter().chain(in_heap).min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn what_is_first_is_what_comes_out() {
        let mut queue = Queue::new();
        for (index, at_ns) in [5, 3, 9, 3, 7, 5, 1].into_iter().enumerate() {
            queue.push(at_ns, index);
        }
        while let Some((key, &event)) = queue.first() {
            assert_eq!(queue.pop(), Some((key, event)));
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn gives_out_by_time_and_then_by_number() {
        let mut random = Random::new(5);
        let (mut queue, mut expected) = (Queue::new(), BinaryHeap::new());
        let mut now_ns = 0;
        for step in 0..20_000_u64 {
            if random.below(5) < 3 {
                let number = queue.next_number();
                let at_ns = now_ns + random.below(1 + step % 50);
                queue.push(at_ns, number);
                expected.push(Reverse((Key { at_ns, number }, number)));
            } else {
                let next_ns = queue.next_ns();
                let popped = queue.pop();
                assert_eq!(next_ns, popped.map(|(key, _)| key.at_ns));
                assert_eq!(popped, expected.pop().map(|Reverse(event)| event));
                assert_eq!(queue.is_empty(), expected.is_empty());
                now_ns = popped.map_or(now_ns, |(key, _)| key.at_ns);
            }
        }
        assert!(queue.slots.len() < 10_000, "room is used again");
    }

    #[test]
    fn what_comes_last_in_its_instant_comes_after_what_is_put_in_later() {
        let mut queue = Queue::new();
        queue.push_last(5, 'c');
        queue.push(5, 'a');
        queue.push_last(5, 'd');
        queue.push(6, 'e');
        queue.skip();
        queue.push(5, 'b');
        let order: String = std::iter::from_fn(|| queue.pop().map(|(_, event)| event)).collect();
        assert_eq!((order.as_str(), queue.next_number()), ("abcde", 6));
    }
}
