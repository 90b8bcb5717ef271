//! The parts of states, each kept once.
//!
//! Millions of states are made of a few thousand different nodes, messages and monitors. So a state
//! holds only their fingerprints, and the parts themselves lie here.
//!
//! A `Hash` may leave out what its type's `Eq` looks at; Rust allows it, and even a constant. So a
//! part is compared with the one that has its print already, and if they differ it gets another
//! print: no two different parts are ever taken for one, however they are hashed. (Which of them
//! keeps the first print hangs on which came first, and with several threads on chance. Nothing
//! that is counted does; of several shortest runs, another may then be reported.)

use std::any::Any;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::fingerprint::{ByPrint, Part as Place, Print};

/// Values of any type by fingerprint. Which type lies behind a print is for the caller to know;
/// so the tables behind it are compiled once, and not once for every algorithm.
#[derive(Debug)]
pub(crate) struct Parts {
    boards: Vec<RwLock<ByPrint<Arc<Part>>>>,
    bytes: AtomicU64,
}

type Part = dyn Any + Send + Sync;

/// The reference counts of an [`Arc`].
const ARC: usize = 2 * size_of::<usize>();

/// So that threads rarely wait for each other when every step makes a new part.
const BOARD_BITS: u32 = 4;

impl Parts {
    /// Keeps a value, and returns the print to find it by: this one, unless something else has it.
    pub(crate) fn keep<T>(&self, print: Print, value: T) -> Print
    where
        T: Eq + Debug + Send + Sync + 'static,
    {
        if self.is(print, &value) {
            return print;
        }
        let value = Arc::new(value);
        let size = size_of::<T>() + size_of::<(Print, Arc<Part>)>() + ARC;
        let mut place = print;
        for attempt in 0.. {
            let Some(kept) = self.put(place, Arc::clone(&value) as Arc<Part>, size as u64) else {
                break;
            };
            if kept.downcast_ref() == Some(&*value) {
                break;
            }
            place = place.then(match attempt {
                // Most likely this tells them apart at once, and in the same way in every run.
                0 => Print::of(Place::Nothing, &format!("{value:?}")),
                _ => Print::of(Place::Nothing, &attempt),
            });
        }
        place
    }

    /// The value with this print.
    pub(crate) fn get<T: Send + Sync + 'static>(&self, print: Print) -> Arc<T> {
        self.find(print).expect("what is looked up was kept")
    }

    /// The value with this print, if there is one.
    pub(crate) fn find<T: Send + Sync + 'static>(&self, print: Print) -> Option<Arc<T>> {
        self.look_up(print).map(|kept| kept.downcast().expect("a print stands for one type"))
    }

    /// Whether this very value has this print.
    fn is<T: Eq + 'static>(&self, print: Print, value: &T) -> bool {
        let board = self.board(print).read().expect("no thread panics while it writes");
        board.get(&print).is_some_and(|kept| kept.downcast_ref() == Some(value))
    }

    /// The memory that all parts take, without what they themselves keep on the heap.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The value that has this print already, if there is one.
    fn put(&self, print: Print, value: Arc<Part>, size: u64) -> Option<Arc<Part>> {
        let mut board = self.board(print).write().expect("no thread panics while it writes");
        match board.entry(print) {
            Entry::Occupied(kept) => Some(Arc::clone(kept.get())),
            Entry::Vacant(place) => {
                place.insert(value);
                self.bytes.fetch_add(size, Ordering::Relaxed);
                None
            }
        }
    }

    fn look_up(&self, print: Print) -> Option<Arc<Part>> {
        let board = self.board(print).read().expect("no thread panics while it writes");
        board.get(&print).map(Arc::clone)
    }

    fn board(&self, print: Print) -> &RwLock<ByPrint<Arc<Part>>> {
        &self.boards[(print.0 >> (u64::BITS - BOARD_BITS)) as usize]
    }
}

impl Default for Parts {
    fn default() -> Self {
        let boards = (0..1 << BOARD_BITS).map(|_| RwLock::default()).collect();
        Self { boards, bytes: AtomicU64::new(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAME: Print = Print(77);

    #[test]
    fn what_differs_is_kept_apart_and_found_again_though_its_print_is_the_same() {
        let shelf = Parts::default();
        let prints: Vec<Print> = (0..100).map(|it| shelf.keep(SAME, it)).collect();
        assert_eq!(prints[0], SAME);
        for (value, &print) in (0..100).zip(&prints) {
            assert_eq!(*shelf.get::<i32>(print), value);
            assert_eq!(shelf.keep(SAME, value), print);
        }
    }

    #[test]
    fn what_looks_the_same_when_shown_is_kept_apart_too() {
        #[derive(PartialEq, Eq)]
        struct Secret(u8);
        impl Debug for Secret {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("secret")
            }
        }
        let shelf = Parts::default();
        let mut prints: Vec<Print> = (0..100).map(|it| shelf.keep(SAME, Secret(it))).collect();
        assert!((0..100).all(|it| shelf.get::<Secret>(prints[usize::from(it)]).0 == it));
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), 100);
    }

    #[test]
    fn values_of_different_types_are_kept_apart() {
        let shelf = Parts::default();
        let (number, letter) = (shelf.keep(SAME, 1_u8), shelf.keep(SAME, 'a'));
        assert_eq!((*shelf.get::<u8>(number), *shelf.get::<char>(letter)), (1, 'a'));
    }
}
