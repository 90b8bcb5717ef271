//! The whole system at one instant.

use vorrang_protocol::{NodeId, Order};

use crate::channels::Flight;
use crate::fingerprint::{Part, Print};
use crate::system::{Agenda, Faults, Place};
use crate::timers::Timers;

/// Everything that decides the future; nodes, messages and monitor by their prints.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// A node that is down is what is left of it.
    pub(crate) nodes: Vec<Print>,
    pub(crate) down: Down,
    pub(crate) flight: Flight,
    pub(crate) timers: Timers,
    pub(crate) places: Vec<Place>,
    pub(crate) monitor: Print,
    /// What may still go wrong.
    pub(crate) faults: Faults,
    /// The sum of the prints of all parts.
    pub(crate) print: Print,
}

/// The nodes that are down, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Down(u64);

impl Down {
    /// Nodes that can be told apart here.
    pub(crate) const MOST_NODES: usize = 64;

    pub(crate) const fn has(self, node: NodeId) -> bool {
        self.0 & (1 << node.0) != 0
    }

    pub(crate) const fn with(self, node: NodeId) -> Self {
        Self(self.0 | 1 << node.0)
    }

    pub(crate) const fn without(self, node: NodeId) -> Self {
        Self(self.0 & !(1 << node.0))
    }

    pub(crate) fn print(self) -> Print {
        let nodes = (0..Self::MOST_NODES as u32).map(NodeId).filter(|&node| self.has(node));
        nodes.map(|node| Print::of(Part::Down(node.index()), &())).sum()
    }
}

impl State {
    /// A state of nothing.
    pub(crate) fn empty() -> Self {
        Self {
            nodes: Vec::new(),
            down: Down::default(),
            flight: Flight::EMPTY,
            timers: Timers::NONE,
            places: Vec::new(),
            monitor: Print::NONE,
            faults: Faults::NONE,
            print: Print::NONE,
        }
    }

    /// Before any node has started.
    pub(crate) fn before_start(
        nodes: Vec<Print>,
        monitor: Print,
        agenda: &Agenda,
        faults: Faults,
        order: Order,
    ) -> Self {
        let places = agenda.first_places();
        let mut state = Self { nodes, places, monitor, faults, ..Self::empty() };
        state.print = state.print_from_scratch(order);
        state
    }

    /// What [`print`](Self::print) must be, however the state came about.
    pub(crate) fn print_from_scratch(&self, order: Order) -> Print {
        let places = self.places.iter().enumerate();
        self.nodes.iter().copied().sum::<Print>()
            + places.map(|(list, &place)| print_of_place(list, place)).sum()
            + self.flight.print(order)
            + self.timers.print()
            + self.monitor
            + self.down.print()
            + print_of_faults(self.faults)
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let heap = self.nodes.capacity() * size_of::<Print>()
            + self.flight.heap_bytes()
            + self.timers.heap_bytes()
            + self.places.capacity() * size_of::<Place>();
        (size_of::<Self>() + heap) as u64
    }
}

/// The print of how far a list of the plan has come.
pub(crate) fn print_of_place(list: usize, place: Place) -> Print {
    Print::of(Part::Place(list), &place)
}

/// The print of what may still go wrong.
pub(crate) fn print_of_faults(faults: Faults) -> Print {
    Print::of(Part::Faults, &faults)
}
