//! The parts of states, each kept once.
//!
//! Millions of states are made of a few thousand different nodes, messages and monitors. So a state
//! holds only their fingerprints, and the parts themselves lie here.

use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::sync::{Arc, RwLock};

use vorrang_protocol::{Monitor, NodeId, Protocol};

use crate::fingerprint::{ByPrint, Part, Print};

/// All parts that any state is made of.
#[derive(Debug)]
pub(crate) struct Parts<P: Protocol, M: Monitor> {
    pub(crate) nodes: Shelf<P>,
    pub(crate) letters: Shelf<Letter<P::Message, M::Tag>>,
    pub(crate) monitors: Shelf<M>,
}

/// A message and what surrounds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Letter<T, G> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) message: T,
    /// What rides along for the monitor.
    pub(crate) tag: G,
}

impl<P: Protocol, M: Monitor> Parts<P, M> {
    pub(crate) fn new() -> Self {
        Self { nodes: Shelf::default(), letters: Shelf::default(), monitors: Shelf::default() }
    }

    pub(crate) fn keep_node(&self, at: NodeId, node: P) -> Print {
        let print = Print::of(Part::Node(at.index()), &node);
        self.nodes.keep(print, node)
    }

    pub(crate) fn keep_letter(&self, letter: Letter<P::Message, M::Tag>) -> Print {
        let print = Print::of(Part::Message, &letter);
        self.letters.keep(print, letter)
    }

    pub(crate) fn keep_monitor(&self, monitor: M) -> Print {
        let print = Print::of(Part::Monitor, &monitor);
        self.monitors.keep(print, monitor)
    }

    /// The memory that all parts take, without what they themselves keep on the heap.
    pub(crate) fn bytes(&self) -> u64 {
        self.nodes.bytes() + self.letters.bytes() + self.monitors.bytes()
    }
}

/// Values by fingerprint.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    boards: Vec<RwLock<ByPrint<Arc<T>>>>,
}

/// So that threads rarely wait for each other when every step makes a new part.
const BOARD_BITS: u32 = 4;

impl<T: Eq + Debug> Shelf<T> {
    /// Puts a value where its print finds it.
    fn keep(&self, print: Print, value: T) -> Print {
        let mut board = self.board(print).write().expect("no thread panics while it writes");
        match board.entry(print) {
            Entry::Occupied(kept) => debug_assert_eq!(**kept.get(), value, "a collision"),
            Entry::Vacant(place) => {
                place.insert(Arc::new(value));
            }
        }
        print
    }

    /// The value with this print.
    pub(crate) fn get(&self, print: Print) -> Arc<T> {
        let board = self.board(print).read().expect("no thread panics while it writes");
        Arc::clone(&board[&print])
    }

    fn bytes(&self) -> u64 {
        let lens = self.boards.iter().map(|it| it.read().map_or(0, |board| board.len()));
        (lens.sum::<usize>() * (size_of::<T>() + size_of::<(Print, Arc<T>)>())) as u64
    }

    fn board(&self, print: Print) -> &RwLock<ByPrint<Arc<T>>> {
        &self.boards[(print.0 >> (u64::BITS - BOARD_BITS)) as usize]
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { boards: (0..1 << BOARD_BITS).map(|_| RwLock::default()).collect() }
    }
}
