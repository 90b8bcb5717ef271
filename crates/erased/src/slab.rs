//! Values in numbered places, each kept as long as it has an owner.

pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    /// The first free place: each free place names the next.
    free: u32,
    len: usize,
}

enum Slot<T> {
    Free { next: u32 },
    Full { owners: u32, value: T },
}

const NONE: u32 = u32::MAX;
const GONE: &str = "a message that has an owner is there";

impl<T: Clone> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: NONE, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn put(&mut self, value: T, owners: u32) -> u32 {
        self.len += 1;
        let full = Slot::Full { owners, value };
        let place = self.free;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            if let Slot::Free { next } = *slot {
                self.free = next;
            }
            *slot = full;
            place
        } else {
            self.slots.push(full);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 messages are in flight")
        }
    }

    pub(crate) fn get(&self, place: u32) -> &T {
        match &self.slots[place as usize] {
            Slot::Full { value, .. } => value,
            Slot::Free { .. } => panic!("{GONE}"),
        }
    }

    /// One owner takes it: the last gets the value itself, any other a copy.
    pub(crate) fn take(&mut self, place: u32) -> T {
        let slot = &mut self.slots[place as usize];
        match slot {
            Slot::Full { owners, value } if *owners > 1 => {
                *owners -= 1;
                value.clone()
            }
            Slot::Full { .. } | Slot::Free { .. } => {
                let next = self.free;
                match std::mem::replace(slot, Slot::Free { next }) {
                    Slot::Full { value, .. } => {
                        self.free = place;
                        self.len -= 1;
                        value
                    }
                    Slot::Free { .. } => panic!("{GONE}"),
                }
            }
        }
    }

    /// One owner more.
    pub(crate) fn share(&mut self, place: u32) {
        match &mut self.slots[place as usize] {
            Slot::Full { owners, .. } => *owners += 1,
            Slot::Free { .. } => panic!("{GONE}"),
        }
    }

    /// So many owners fewer.
    pub(crate) fn release(&mut self, place: u32, by: u32) {
        match &mut self.slots[place as usize] {
            Slot::Full { owners, .. } if *owners > by => *owners -= by,
            slot @ Slot::Full { .. } => {
                *slot = Slot::Free { next: self.free };
                self.free = place;
                self.len -= 1;
            }
            Slot::Free { .. } => panic!("{GONE}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_as_long_as_it_has_an_owner() {
        let mut slab = Slab::new();
        let (one, two) = (slab.put("one", 1), slab.put("two", 2));
        assert_eq!((slab.len(), *slab.get(one), *slab.get(two)), (2, "one", "two"));
        slab.share(one);
        assert_eq!((slab.take(one), slab.len()), ("one", 2));
        assert_eq!((slab.take(one), slab.len()), ("one", 1));
        slab.release(two, 1);
        assert_eq!(*slab.get(two), "two");
        slab.release(two, 1);
        assert_eq!(slab.len(), 0);
        assert_eq!([slab.put("three", 1), slab.put("four", 1)], [two, one], "places are reused");
    }

    #[test]
    #[should_panic(expected = "a message that has an owner is there")]
    fn what_is_gone_cannot_be_taken_again() {
        let mut slab = Slab::new();
        let place = slab.put('x', 1);
        slab.take(place);
        slab.take(place);
    }
}
