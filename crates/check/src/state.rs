//! The whole system at one instant, and many of them side by side.

use vorrang_protocol::{NodeId, Order};

use crate::channels::{Flight, Flying};
use crate::fingerprint::{Part, Print};
use crate::plan::{Agenda, Place};
use crate::state_hash::StateHash;
use crate::system::Faults;
use crate::timers::Timers;

/// Everything that decides the future; nodes, messages and monitor by their prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<'a, T> {
    /// A crashed node is stored as it would restart.
    pub(crate) nodes: &'a [Print],
    pub(crate) places: &'a [Place],
    pub(crate) flight: Flight<'a>,
    pub(crate) monitor: Print,
    /// None is as good as [`Extra::NONE`].
    extra: Option<&'a Extra>,
    /// The sum of the prints of all parts.
    pub(crate) print: T,
}

/// The parts of a state that most systems do not use, stored apart.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    pub(crate) timers: Timers,
    pub(crate) down: Down,
    /// The remaining budget of faults.
    pub(crate) faults: Faults,
}

static NO_EXTRA: Extra = Extra::NONE;

impl Extra {
    pub(crate) const NONE: Self =
        Self { timers: Timers::NONE, down: Down::NOBODY, faults: Faults::NONE };

    fn is_none(&self) -> bool {
        self.timers.is_empty() && self.down == Down::NOBODY && self.faults == Faults::NONE
    }

    fn print<T: StateHash>(&self) -> T {
        self.timers.print::<T>() + self.down.print() + print_of_faults(self.faults)
    }
}

/// The nodes that are down, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Down(u64);

impl Down {
    pub(crate) const NOBODY: Self = Self(0);

    /// Nodes that can be told apart here.
    pub(crate) const MOST_NODES: usize = u64::BITS as usize;

    pub(crate) const fn has(self, node: NodeId) -> bool {
        // Where no node can crash, there may be more nodes than bits.
        self.0 != 0 && self.0 & 1 << node.0 != 0
    }

    pub(crate) const fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(crate) const fn with(self, node: NodeId) -> Self {
        Self(self.0 | 1 << node.0)
    }

    pub(crate) const fn without(self, node: NodeId) -> Self {
        Self(self.0 & !(1 << node.0))
    }

    pub(crate) fn print<T: StateHash>(self) -> T {
        let nodes = (0..Self::MOST_NODES as u32).map(NodeId).filter(|&node| self.has(node));
        nodes.map(|node| T::of(Part::Down(node.index()), &())).sum()
    }
}

impl<'a, T: StateHash> State<'a, T> {
    pub(crate) fn extra(&self) -> &'a Extra {
        self.extra.unwrap_or(&NO_EXTRA)
    }

    /// Whether it has anything that most states have not.
    pub(crate) const fn has_extra(&self) -> bool {
        self.extra.is_some()
    }

    pub(crate) fn is_down(&self, node: NodeId) -> bool {
        self.extra.is_some_and(|it| it.down.has(node))
    }

    /// Whether a crash may have taken a message along: its sender is down, and on a queue what was
    /// sent after it has gone as well. A connection delivers nothing behind what it has lost.
    pub(crate) fn is_severed(&self, place: usize, order: Order) -> bool {
        let Extra { down, faults, .. } = self.extra();
        let Flying { from, .. } = self.flight.at(place);
        faults.severing && down.has(from) && self.flight.is_last(place, order)
    }

    /// The fingerprint, computed from scratch, to check [`print`](Self::print).
    pub(crate) fn print_from_scratch(&self, order: Order) -> T {
        let places = self.places.iter().enumerate();
        self.nodes.iter().map(|&it| T::of_part(it)).sum::<T>()
            + places.map(|(list, &place)| print_of_place(list, place)).sum()
            + self.flight.print(order)
            + T::of_part(self.monitor)
            + self.extra().print()
    }
}

/// States of one system, side by side: no state has an allocation of its own, and iterating over
/// them reads memory in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct States<T> {
    heads: Vec<Head<T>>,
    nodes: Vec<Print>,
    places: Vec<Place>,
    flights: Vec<Flying>,
    /// How many nodes and how many places each state has.
    each: (usize, usize),
    extra_bytes: usize,
}

#[derive(Clone, Debug)]
struct Head<T> {
    print: T,
    monitor: Print,
    /// Where its messages begin; they end where those of the next state begin.
    flight: usize,
    extra: Option<Box<Extra>>,
}

/// The state before any node has started.
pub(crate) struct First {
    pub(crate) nodes: Vec<Print>,
    pub(crate) monitor: Print,
    pub(crate) faults: Faults,
}

/// The changed parts of a state.
pub(crate) struct Fresh<T> {
    pub(crate) at: NodeId,
    pub(crate) node: Print,
    pub(crate) place: (usize, Place),
    pub(crate) monitor: Print,
    pub(crate) extra: Option<Box<Extra>>,
    pub(crate) print: T,
}

impl<T: StateHash> States<T> {
    /// The one state before any node has started.
    pub(crate) fn before_start(first: First, agenda: &Agenda, order: Order) -> Self {
        let First { nodes, monitor, faults } = first;
        let extra = boxed(Extra { faults: faults.within_reach(0), ..Extra::NONE });
        let head = Head { print: T::default(), monitor, flight: 0, extra };
        let places = agenda.first_places();
        let each = (nodes.len(), places.len());
        let mut states = Self { heads: vec![head], nodes, places, each, ..Self::default() };
        states.heads[0].print = states.at(0).print_from_scratch(order);
        states
    }

    pub(crate) const fn len(&self) -> usize {
        self.heads.len()
    }

    pub(crate) fn at(&self, index: usize) -> State<'_, T> {
        let head = &self.heads[index];
        let (nodes, places) = self.each;
        let end = self.heads.get(index + 1).map_or(self.flights.len(), |it| it.flight);
        State {
            nodes: &self.nodes[nodes * index..][..nodes],
            places: &self.places[places * index..][..places],
            flight: Flight::of(&self.flights[head.flight..end]),
            monitor: head.monitor,
            extra: head.extra.as_deref(),
            print: head.print,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = State<'_, T>> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Adds a copy of `old` with the changed parts, but without messages: the caller adds those.
    pub(crate) fn push(&mut self, old: &State<'_, T>, fresh: Fresh<T>) -> &mut Vec<Flying> {
        let Fresh { at, node, place, monitor, extra, print } = fresh;
        self.each = (old.nodes.len(), old.places.len());
        let start = self.nodes.len();
        self.nodes.extend_from_slice(old.nodes);
        self.nodes[start + at.index()] = node;
        let start = self.places.len();
        self.places.extend_from_slice(old.places);
        self.places[start + place.0] = place.1;
        self.extra_bytes += extra.as_deref().map_or(0, Extra::bytes);
        self.heads.push(Head { print, monitor, flight: self.flights.len(), extra });
        &mut self.flights
    }

    /// Adds a state that is just like this one.
    pub(crate) fn push_copy(&mut self, state: &State<'_, T>) {
        let State { nodes, places, flight, monitor, extra, print } = *state;
        self.each = (nodes.len(), places.len());
        self.nodes.extend_from_slice(nodes);
        self.places.extend_from_slice(places);
        self.extra_bytes += extra.map_or(0, Extra::bytes);
        let extra = extra.map(|it| Box::new(it.clone()));
        self.heads.push(Head { print, monitor, flight: self.flights.len(), extra });
        self.flights.extend(flight.iter());
    }

    /// One state that is like this one but for nodes and messages.
    pub(crate) fn like(
        state: &State<'_, T>,
        nodes: Vec<Print>,
        flights: Vec<Flying>,
        order: Order,
    ) -> Self {
        let mut states = Self::default();
        states.push_copy(state);
        (states.nodes, states.flights) = (nodes, flights);
        states.heads[0].print = states.at(0).print_from_scratch(order);
        states
    }

    /// Forgets all of them, and keeps their memory for others.
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.nodes.clear();
        self.places.clear();
        self.flights.clear();
        self.extra_bytes = 0;
    }

    /// The memory that they take, unused capacity included.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = self.heads.capacity() * size_of::<Head<T>>()
            + self.nodes.capacity() * size_of::<Print>()
            + self.places.capacity() * size_of::<Place>()
            + self.flights.capacity() * size_of::<Flying>()
            + self.extra_bytes;
        bytes as u64
    }
}

impl Extra {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.timers.heap_bytes()
    }
}

/// On the heap, unless there is nothing in it.
pub(crate) fn boxed(extra: Extra) -> Option<Box<Extra>> {
    (!extra.is_none()).then(|| Box::new(extra))
}

/// The print of how far a list of the plan has come.
pub(crate) fn print_of_place<T: StateHash>(list: usize, place: Place) -> T {
    T::of(Part::Place(list), &place)
}

/// The print of what may still go wrong.
pub(crate) fn print_of_faults<T: StateHash>(faults: Faults) -> T {
    T::of(Part::Faults, &faults)
}
