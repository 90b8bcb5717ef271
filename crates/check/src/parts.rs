//! The parts of states, each kept once.
//!
//! Millions of states are made of a few thousand different nodes, messages and monitors. So a state
//! holds only their fingerprints, and the parts themselves lie here.

use std::any::Any;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::fingerprint::{ByPrint, Print};

/// Values of any type by fingerprint. Which type lies behind a print is for the caller to know;
/// so the tables behind it are compiled once, and not once for every algorithm.
#[derive(Debug)]
pub(crate) struct Shelf {
    boards: Vec<RwLock<ByPrint<Arc<Part>>>>,
    bytes: AtomicU64,
}

type Part = dyn Any + Send + Sync;

/// So that threads rarely wait for each other when every step makes a new part.
const BOARD_BITS: u32 = 4;

impl Shelf {
    /// Puts a value where its print finds it.
    pub(crate) fn keep<T>(&self, print: Print, value: T) -> Print
    where
        T: Eq + Debug + Send + Sync + 'static,
    {
        if !cfg!(debug_assertions) && self.has(print) {
            return print;
        }
        let size = size_of::<T>() + size_of::<(Print, Arc<Part>)>();
        if let Some(kept) = self.put(print, Arc::new(value), size as u64) {
            let (kept, value) = kept;
            debug_assert_eq!(kept.downcast_ref::<T>(), value.downcast_ref::<T>(), "a collision");
        }
        print
    }

    /// The value with this print.
    pub(crate) fn get<T: Send + Sync + 'static>(&self, print: Print) -> Arc<T> {
        self.find(print).expect("what is looked up was kept")
    }

    /// The value with this print, if there is one.
    pub(crate) fn find<T: Send + Sync + 'static>(&self, print: Print) -> Option<Arc<T>> {
        self.look_up(print).map(|kept| kept.downcast().expect("a print stands for one type"))
    }

    /// Whether there is a value with this print: cheaper than to find it or to keep it once more.
    fn has(&self, print: Print) -> bool {
        let board = self.board(print).read().expect("no thread panics while it writes");
        board.contains_key(&print)
    }

    /// The memory that all parts take, without what they themselves keep on the heap.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Both values, if there was one already.
    fn put(&self, print: Print, value: Arc<Part>, size: u64) -> Option<(Arc<Part>, Arc<Part>)> {
        let mut board = self.board(print).write().expect("no thread panics while it writes");
        match board.entry(print) {
            Entry::Occupied(kept) => Some((Arc::clone(kept.get()), value)),
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

impl Default for Shelf {
    fn default() -> Self {
        let boards = (0..1 << BOARD_BITS).map(|_| RwLock::default()).collect();
        Self { boards, bytes: AtomicU64::new(0) }
    }
}
