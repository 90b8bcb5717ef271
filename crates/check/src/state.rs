//! The whole system at one instant.

use vorrang_protocol::{Data, Monitor, NodeId, Order, Protocol};

use crate::channels::Flight;
use crate::fingerprint::{Part, Print};
use crate::parts::Parts;
use crate::system::{Place, System};
use crate::timers::Timers;

/// Everything that decides the future; nodes, messages and monitor by their prints, see [`Parts`].
#[derive(Clone, Debug)]
pub(crate) struct State<T> {
    pub(crate) nodes: Vec<Print>,
    pub(crate) flight: Flight,
    pub(crate) timers: Timers<T>,
    pub(crate) places: Vec<Place>,
    pub(crate) monitor: Print,
    /// The sum of the prints of all parts.
    pub(crate) print: Print,
}

impl<T: Data + Copy> State<T> {
    /// A state of nothing.
    pub(crate) fn empty() -> Self {
        Self {
            nodes: Vec::new(),
            flight: Flight::EMPTY,
            timers: Timers::NONE,
            places: Vec::new(),
            monitor: Print::NONE,
            print: Print::NONE,
        }
    }

    /// Before any node has started.
    pub(crate) fn before_start<P, M>(system: &System<P, M>, parts: &Parts<P, M>) -> Self
    where
        P: Protocol<Timer = T>,
        M: Monitor,
    {
        let nodes = (0..).map(NodeId).zip(&system.nodes);
        let mut state = Self {
            nodes: nodes.map(|(at, node)| parts.keep_node(at, node.clone())).collect(),
            places: system.plan.first_places(),
            monitor: parts.keep_monitor(system.monitor.clone()),
            ..Self::empty()
        };
        state.print = state.print_from_scratch(system.order);
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
