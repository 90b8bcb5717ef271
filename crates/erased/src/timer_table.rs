//! Which timers are set, each with a number.

use vorrang_protocol::NodeId;

pub(crate) struct TimerTable<T> {
    /// For each node the timers that are set, in order, and their numbers.
    of: Vec<Vec<(T, u32)>>,
    /// Whose it is, and which.
    slots: Vec<Option<(NodeId, T)>>,
    free: Vec<u32>,
}

impl<T: Ord + Copy> TimerTable<T> {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { of: (0..nodes).map(|_| Vec::new()).collect(), slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn get(&self, place: u32) -> T {
        self.slots[place as usize].expect("a timer that is set is there").1
    }

    /// Sets a timer, or sets it again: its number.
    pub(crate) fn set(&mut self, at: NodeId, timer: T) -> u32 {
        let of = &mut self.of[at.index()];
        match of.binary_search_by(|(it, _)| it.cmp(&timer)) {
            Ok(found) => of[found].1,
            Err(missing) => {
                let slot = Some((at, timer));
                let place = if let Some(place) = self.free.pop() {
                    self.slots[place as usize] = slot;
                    place
                } else {
                    self.slots.push(slot);
                    u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 timers are set")
                };
                of.insert(missing, (timer, place));
                place
            }
        }
    }

    /// Cancels a timer, if it is set: its number, which is free again.
    pub(crate) fn cancel(&mut self, at: NodeId, timer: T) -> Option<u32> {
        let of = &mut self.of[at.index()];
        let found = of.binary_search_by(|(it, _)| it.cmp(&timer)).ok()?;
        let (_, place) = of.remove(found);
        self.slots[place as usize] = None;
        self.free.push(place);
        Some(place)
    }

    /// The timer runs out.
    pub(crate) fn take(&mut self, place: u32) -> T {
        let (at, timer) = self.slots[place as usize].expect("a timer that is set is there");
        self.cancel(at, timer);
        timer
    }

    /// A node loses all its timers; their numbers.
    pub(crate) fn clear(&mut self, at: NodeId) -> impl Iterator<Item = u32> {
        for (_, place) in &self.of[at.index()] {
            self.slots[*place as usize] = None;
            self.free.push(*place);
        }
        self.of[at.index()].drain(..).map(|(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_has_one_number_while_it_is_set() {
        let mut table = TimerTable::new(2);
        let (one, other) = (NodeId(0), NodeId(1));
        let first = table.set(one, 'b');
        let second = table.set(one, 'a');
        let third = table.set(other, 'b');
        assert_eq!((table.set(one, 'b'), table.get(second)), (first, 'a'));
        assert_eq!(table.cancel(one, 'a'), Some(second));
        assert_eq!(table.cancel(one, 'a'), None);
        assert_eq!(table.take(first), 'b');
        assert_eq!(table.set(other, 'c'), first, "numbers are used again");
        let mut cleared: Vec<u32> = table.clear(other).collect();
        cleared.sort_unstable();
        assert_eq!(cleared, [first, third]);
        assert_eq!(table.cancel(other, 'b'), None);
    }
}
