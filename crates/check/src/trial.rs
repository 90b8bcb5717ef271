//! One step of a system: where it leads.
//!
//! A step is first only tried: the successor's fingerprint is worked out from the parts that
//! change. Most successors turn out to be known; only a new one is built.

use vorrang_protocol::{NodeId, Order};

use crate::channels::{Flight, Flying, sum_again};
use crate::fingerprint::Print;
use crate::lowest::lowest;
use crate::model::{Action, Handled, Model};
use crate::plan::{Agenda, Place};
use crate::state::{Down, Extra, Fresh, State, States, boxed, print_of_faults, print_of_place};
use crate::state_hash::StateHash;
use crate::system::Faults;
use crate::timers::{Change, Pace, Timers};

/// A step that was tried, and what it would change.
#[derive(Debug)]
pub(crate) struct Trial<'s, T> {
    state: &'s State<'s, T>,
    agenda: &'s Agenda,
    order: Order,
    pub(crate) action: Action,
    pub(crate) at: NodeId,
    /// Which outcome of all that are known.
    index: u32,
    pub(crate) handled: &'s Handled,
    /// The rare changes of this step, if any.
    rare: Option<Box<Rare>>,
    /// The successor's.
    pub(crate) print: T,
    /// The successor, where states are the same up to a shift of counters: the lowest.
    lowest: Option<Box<States<T>>>,
}

/// A step that was tried, without what it takes to build the successor at once.
#[derive(Debug)]
pub(crate) struct Parked<T> {
    action: Action,
    at: NodeId,
    pub(crate) index: u32,
    rare: Option<Box<Rare>>,
    print: T,
    lowest: Option<Box<States<T>>>,
}

/// Changes by timers and faults only.
#[derive(Debug)]
struct Rare {
    timers: Option<Timers>,
    /// The messages, unless they only lose the one and gain the others.
    flight: Option<Vec<Flying>>,
    /// Those sent that may arrive.
    sent: Vec<Flying>,
    down: Down,
    faults: Faults,
}

impl<'s, T: StateHash> Trial<'s, T> {
    #[inline]
    pub(crate) fn new(
        model: Model<'s>,
        state: &'s State<'s, T>,
        action: Action,
        at: NodeId,
        index: u32,
        handled: &'s Handled,
    ) -> Self {
        // Faults are in no state without extra.
        let is_rare =
            state.has_extra() && is_rare(state.extra(), action) || !handled.timers().is_empty();
        let rare = is_rare.then(|| Box::new(Rare::new(model, state, action, at, handled)));
        let Model { agenda, pace, .. } = model;
        let (order, print, lowest) = (pace.order, T::default(), None);
        let mut trial =
            Self { state, agenda, order, action, at, index, handled, rare, print, lowest };
        trial.print = trial.print_by_change();
        if model.shifts { trial.lower(model) } else { trial }
    }

    /// The same with the lowest of the successors that differ in a shift alone.
    #[inline(never)]
    fn lower(self, model: Model<'_>) -> Self {
        let Self { state, agenda, order, action, at, index, handled, .. } = self;
        let mut successor = States::default();
        self.build(&mut successor);
        let successor = lowest(model, &successor.at(0)).unwrap_or(successor);
        let (print, rare) = (successor.at(0).print, None);
        let lowest = Some(Box::new(successor));
        Self { state, agenda, order, action, at, index, handled, rare, print, lowest }
    }

    pub(crate) fn take_up(
        model: Model<'s>,
        state: &'s State<'s, T>,
        handled: &'s Handled,
        parked: Parked<T>,
    ) -> Self {
        let Parked { action, at, index, rare, print, lowest } = parked;
        let Model { agenda, pace: Pace { order, .. }, .. } = model;
        Self { state, agenda, order, action, at, index, handled, rare, print, lowest }
    }

    /// Puts it aside.
    #[inline]
    pub(crate) fn park(self) -> Parked<T> {
        let Self { action, at, index, rare, print, lowest, .. } = self;
        Parked { action, at, index, rare, print, lowest }
    }

    #[inline]
    fn print_by_change(&self) -> T {
        let (state, handled) = (self.state, self.handled);
        let mut print = state.print + T::with(handled.gain, || self.gain_again());
        print += match (&self.rare, self.order) {
            (Some(rare), _) => rare.change(state, taken(self.action), self.order),
            (None, Order::Any) => {
                let gone = taken(self.action).map(|it| T::of_part(state.flight.at(it).print));
                T::with(handled.sum, || sum_again(&handled.sent)) - gone.unwrap_or_default()
            }
            (None, Order::Fifo) => {
                state.flight.change(taken(self.action), &handled.sent, self.order)
            }
        };
        let (list, place) = self.place();
        if place != state.places[list] {
            print += print_of_place::<T>(list, place) - print_of_place(list, state.places[list]);
        }
        print
    }

    /// By how much node and monitor change a second lane.
    fn gain_again(&self) -> Print {
        let (state, handled) = (self.state, self.handled);
        let before = state.nodes[self.at.index()].again() + state.monitor.again();
        handled.node.again() + handled.monitor.again() - before
    }

    /// The list of the plan that it moves on, and how far.
    #[inline]
    fn place(&self) -> (usize, Place) {
        let (places, heard) = (self.state.places, self.handled.heard);
        match self.action {
            Action::Crash(at) => self.agenda.skip(at, places),
            Action::Command { list } => {
                let is_of_plan = self.agenda.beats(list).is_none();
                self.agenda.advance(self.at, places, is_of_plan, heard)
            }
            Action::Start(_)
            | Action::Deliver { .. }
            | Action::Fire { .. }
            | Action::Restart(_)
            | Action::Lose { .. }
            | Action::Duplicate { .. } => self.agenda.advance(self.at, places, false, heard),
        }
    }

    /// Adds the state that the step leads to.
    pub(crate) fn build(self, states: &mut States<T>) {
        if let Some(lowest) = &self.lowest {
            states.push_copy(&lowest.at(0));
            return;
        }
        let place = self.place();
        let Self { state: old, order, action, at, handled, rare, print, .. } = self;
        let (node, monitor) = (handled.node, handled.monitor);
        let taken = taken(action);
        match rare {
            None => {
                let extra = old.has_extra().then(|| Box::new(old.extra().clone()));
                let fresh = Fresh { at, node, place, monitor, extra, print };
                let flights = states.push(old, fresh);
                old.flight.push_successor(taken, &handled.sent, order, flights);
            }
            Some(rare) => {
                let Rare { timers, flight, sent, down, faults } = *rare;
                let timers = timers.unwrap_or_else(|| old.extra().timers.clone());
                let extra = boxed(Extra { timers, down, faults });
                let flights = states.push(old, Fresh { at, node, place, monitor, extra, print });
                match flight {
                    Some(flight) => flights.extend(flight),
                    None => old.flight.push_successor(taken, &sent, order, flights),
                }
            }
        }
        debug_assert_eq!(
            print,
            states.at(states.len() - 1).print_from_scratch(order),
            "the print of the changes is the print of the successor"
        );
    }
}

/// Whether a step changes more than it does without timers and faults.
fn is_rare(extra: &Extra, action: Action) -> bool {
    match action {
        Action::Start(_) | Action::Command { .. } | Action::Deliver { .. } => {
            !extra.timers.is_empty() || extra.down != Down::NOBODY
        }
        Action::Fire { .. }
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::Lose { .. }
        | Action::Duplicate { .. } => true,
    }
}

impl Rare {
    #[inline(never)]
    fn new<T: StateHash>(
        model: Model<'_>,
        state: &State<'_, T>,
        action: Action,
        at: NodeId,
        handled: &Handled,
    ) -> Self {
        let pace = model.pace;
        let (down, faults) = after_fault(state, action, pace.order);
        let arrives = |it: &Flying| faults.restarts > 0 || !down.has(it.to);
        let sent: Vec<Flying> = handled.sent.iter().copied().filter(arrives).collect();
        let (fired, crashes) = match action {
            Action::Fire { timer, .. } => (Some(timer), false),
            Action::Crash(_) => (None, true),
            Action::Start(_)
            | Action::Command { .. }
            | Action::Deliver { .. }
            | Action::Restart(_)
            | Action::Lose { .. }
            | Action::Duplicate { .. } => (None, false),
        };
        let timers = handled.timers();
        let change = Change { at, taken: taken(action), fired, crashes, sent: &sent, timers };
        let (timers, mut flight) = pace.after(&state.extra().timers, state.flight, &change);
        let is_hope_gone = crashes || state.extra().faults.restarts > 0;
        if faults.restarts == 0 && is_hope_gone && down != Down::NOBODY {
            // Messages to a crashed node are never delivered.
            let all = flight.get_or_insert_with(|| {
                let mut all = Vec::new();
                state.flight.push_successor(taken(action), &sent, pace.order, &mut all);
                all
            });
            all.retain(|it| !down.has(it.to));
        }
        Self { timers, flight, sent, down, faults }
    }

    /// By how much the print changes.
    fn change<T: StateHash>(&self, state: &State<'_, T>, taken: Option<usize>, order: Order) -> T {
        let mut print = match &self.flight {
            Some(flight) => Flight::of(flight).print::<T>(order) - state.flight.print(order),
            None => state.flight.change(taken, &self.sent, order),
        };
        let old = state.extra();
        if let Some(timers) = &self.timers {
            print += timers.print::<T>() - old.timers.print();
        }
        if self.faults != old.faults {
            print += print_of_faults::<T>(self.faults) - print_of_faults(old.faults);
        }
        if self.down != old.down {
            print += self.down.print::<T>() - old.down.print();
        }
        print
    }
}

/// The place of the message that is gone after the step.
#[inline]
const fn taken(action: Action) -> Option<usize> {
    match action {
        Action::Deliver { place } | Action::Lose { place } => Some(place),
        Action::Start(_)
        | Action::Command { .. }
        | Action::Fire { .. }
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::Duplicate { .. } => None,
    }
}

/// The crashed nodes after a step, and the remaining budget of faults.
fn after_fault<T: StateHash>(state: &State<'_, T>, action: Action, order: Order) -> (Down, Faults) {
    let Extra { mut down, mut faults, .. } = *state.extra();
    match action {
        Action::Start(_)
        | Action::Command { .. }
        | Action::Deliver { .. }
        | Action::Fire { .. } => {}
        Action::Crash(at) => {
            down = down.with(at);
            faults.crashes -= 1;
        }
        Action::Restart(at) => {
            down = down.without(at);
            faults.restarts -= 1;
        }
        // Messages of a crashed node may be lost without counting as another fault.
        Action::Lose { place } if state.is_severed(place, order) => {}
        Action::Lose { .. } => faults.losses -= 1,
        Action::Duplicate { .. } => faults.duplicates -= 1,
    }
    (down, faults.within_reach(down.count()))
}
