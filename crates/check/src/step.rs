//! One step of a system: which can be taken, and where each leads.
//!
//! A step is first only tried: the successor's fingerprint is worked out from the parts that
//! change. Most successors turn out to be known; only a new one is built.

use std::hash::Hash;

use vorrang_protocol::{Data, Event, Monitor, NodeId, Order, Protocol};

use crate::fingerprint::{Part, Print};
use crate::handler::{Handled, Handlers, Happening};
use crate::parts::Parts;
use crate::state::{State, print_of_place};
use crate::system::{Place, Plan, System};
use crate::timers::Timers;

/// Something that can happen in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action<T> {
    /// A node comes up. Not a step of a run: it makes the initial states.
    Start(NodeId),
    /// The next command of this list of the plan is given.
    Command { list: usize },
    /// The message at this place in flight arrives.
    Deliver { place: usize },
    /// A timer runs out.
    Fire { at: NodeId, timer: T },
}

/// Tries steps, and remembers what handlers did.
#[derive(Debug)]
pub(crate) struct Stepper<'a, P: Protocol, M: Monitor> {
    plan: &'a Plan<P::Command>,
    order: Order,
    handlers: Handlers<'a, P, M>,
}

impl<'a, P, M> Stepper<'a, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    pub(crate) fn new(system: &'a System<P, M>, parts: &'a Parts<P, M>) -> Self {
        Self {
            plan: &system.plan,
            order: system.order,
            handlers: Handlers::new(parts, system.nodes.len()),
        }
    }

    /// Tries every step of a state, in an order that depends on the state alone.
    pub(crate) fn try_all(
        &mut self,
        state: &State<P::Timer>,
        mut visit: impl FnMut(Trial<'_, P::Timer>),
    ) {
        let (plan, order) = (self.plan, self.order);
        for action in commands(plan, state) {
            self.try_one(state, action, &mut visit);
        }
        for place in state.flight.deliverable(order) {
            self.try_one(state, Action::Deliver { place }, &mut visit);
        }
        for due in state.timers.due() {
            let (at, timer) = (due.at, due.timer);
            self.try_one(state, Action::Fire { at, timer }, &mut visit);
        }
    }

    /// Whether a state has no steps: `try_all` would visit nothing.
    pub(crate) fn is_at_rest(&self, state: &State<P::Timer>) -> bool {
        // Of messages in flight one can always arrive, of armed timers one can always run out.
        state.flight.is_empty()
            && state.timers.is_empty()
            && commands(self.plan, state).next().is_none()
    }

    /// Tries one step, with every answer to the choices in it.
    pub(crate) fn try_one(
        &mut self,
        state: &State<P::Timer>,
        action: Action<P::Timer>,
        visit: &mut impl FnMut(Trial<'_, P::Timer>),
    ) {
        let (plan, order) = (self.plan, self.order);
        let (at, event) = what_happens(plan, state, action);
        let happening =
            Happening { at, node: state.nodes[at.index()], monitor: state.monitor, event };
        let event = |parts: &Parts<P, M>| event_of(plan, state, action, parts);
        for handled in self.handlers.handle(&happening, event) {
            visit(Trial::new(plan, order, state, action, at, handled));
        }
    }
}

/// The commands that the plan allows now.
fn commands<C, T: Data + Copy>(
    plan: &Plan<C>,
    state: &State<T>,
) -> impl Iterator<Item = Action<T>> {
    let is_allowed = match plan {
        Plan::PerNode(_) => true,
        Plan::Script(_) => state.flight.is_empty() && state.timers.is_empty(),
    };
    let places = state.places.iter().enumerate().filter(move |_| is_allowed);
    places
        .filter(|&(list, &place)| plan.next(list, place).is_some())
        .map(|(list, _)| Action::Command { list })
}

/// The node that it happens to, and the print of what happens.
fn what_happens<C: Hash, T: Data + Copy>(
    plan: &Plan<C>,
    state: &State<T>,
    action: Action<T>,
) -> (NodeId, Print) {
    match action {
        Action::Start(at) => (at, Print::of(Part::Start, &())),
        Action::Command { list } => {
            let (at, command) = command(plan, state.places[list], list);
            (at, Print::of(Part::Command, command))
        }
        Action::Deliver { place } => {
            let message = state.flight.at(place);
            (message.to, message.print)
        }
        Action::Fire { at, timer } => (at, Print::of(Part::Timer, &timer)),
    }
}

/// What happens, and the tag of the message if one arrives.
fn event_of<P: Protocol, M: Monitor>(
    plan: &Plan<P::Command>,
    state: &State<P::Timer>,
    action: Action<P::Timer>,
    parts: &Parts<P, M>,
) -> (Event<P>, M::Tag) {
    let event = match action {
        Action::Start(_) => Event::Start,
        Action::Command { list } => {
            let (_, command) = command(plan, state.places[list], list);
            Event::Command(command.clone())
        }
        Action::Deliver { place } => {
            let letter = parts.letters.get(state.flight.at(place).print);
            let event = Event::Message { from: letter.from, message: letter.message.clone() };
            return (event, letter.tag.clone());
        }
        Action::Fire { timer, .. } => Event::Timer(timer),
    };
    (event, M::Tag::default())
}

/// The command that a list of the plan is at.
pub(crate) fn command<C>(plan: &Plan<C>, place: Place, list: usize) -> (NodeId, &C) {
    let next = plan.next(list, place);
    next.expect("a command is an action only where the plan has one")
}

/// A step that was tried, and what it would change.
#[derive(Debug)]
pub(crate) struct Trial<'s, T> {
    state: &'s State<T>,
    order: Order,
    pub(crate) action: Action<T>,
    pub(crate) at: NodeId,
    pub(crate) handled: &'s Handled<T>,
    place: (usize, Place),
    timers: Option<Timers<T>>,
    /// The successor's.
    pub(crate) print: Print,
}

impl<'s, T: Data + Copy> Trial<'s, T> {
    fn new<C>(
        plan: &Plan<C>,
        order: Order,
        state: &'s State<T>,
        action: Action<T>,
        at: NodeId,
        handled: &'s Handled<T>,
    ) -> Self {
        let commanded = matches!(action, Action::Command { .. });
        let mut trial = Self {
            state,
            order,
            action,
            at,
            handled,
            place: plan.advance(at, &state.places, commanded, handled.heard),
            timers: timers_after(state, action, at, handled),
            print: Print::NONE,
        };
        trial.print = trial.print_by_change();
        trial
    }

    fn print_by_change(&self) -> Print {
        let (state, handled) = (self.state, self.handled);
        let mut print = state.print - state.nodes[self.at.index()] - state.monitor
            + handled.node
            + handled.monitor
            + state.flight.change(self.taken(), &handled.sent, self.order);
        if let Some(timers) = &self.timers {
            print += timers.print() - state.timers.print();
        }
        let (list, place) = self.place;
        if place != state.places[list] {
            print += print_of_place(list, place) - print_of_place(list, state.places[list]);
        }
        print
    }

    /// The state that the step leads to, in the room of one that is no longer needed.
    pub(crate) fn build(self, room: Option<State<T>>) -> State<T> {
        let (old, handled) = (self.state, self.handled);
        let mut state = room.unwrap_or_else(State::empty);
        state.nodes.clone_from(&old.nodes);
        state.nodes[self.at.index()] = handled.node;
        state.flight.become_successor(&old.flight, self.taken(), &handled.sent, self.order);
        match &self.timers {
            Some(timers) => state.timers.clone_from(timers),
            None => state.timers.clone_from(&old.timers),
        }
        state.places.clone_from(&old.places);
        state.places[self.place.0] = self.place.1;
        state.monitor = handled.monitor;
        state.print = self.print;
        debug_assert_eq!(
            state.print,
            state.print_from_scratch(self.order),
            "the print of the changes is the print of the successor"
        );
        state
    }

    const fn taken(&self) -> Option<usize> {
        match self.action {
            Action::Deliver { place } => Some(place),
            Action::Start(_) | Action::Command { .. } | Action::Fire { .. } => None,
        }
    }
}

/// The timers, if the step changes them.
fn timers_after<T: Data + Copy>(
    state: &State<T>,
    action: Action<T>,
    at: NodeId,
    handled: &Handled<T>,
) -> Option<Timers<T>> {
    let fired = match action {
        Action::Fire { timer, .. } => Some(timer),
        Action::Start(_) | Action::Command { .. } | Action::Deliver { .. } => None,
    };
    if fired.is_none() && handled.timers.is_empty() {
        return None;
    }
    let mut timers = state.timers.clone();
    if let Some(timer) = fired {
        timers.cancel(at, timer);
    }
    for &change in &handled.timers {
        timers.apply(at, change);
    }
    Some(timers)
}
