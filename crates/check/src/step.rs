//! One step of a system: which can be taken, and where each leads.
//!
//! A step is first only tried: the successor's fingerprint is worked out from the parts that
//! change. Most successors turn out to be known; only a new one is built.

use vorrang_protocol::{NodeId, Order};

use crate::channels::{Flight, Flying};
use crate::fingerprint::Print;
use crate::handler::Handlers;
use crate::machine::{Handled, Happening, Machine, Occasion};
use crate::state::{Down, State, print_of_faults, print_of_place};
use crate::system::{Agenda, Faults, Place};
use crate::timers::{Change, Pace, Timers};

/// Something that can happen in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// A node comes up. Not a step of a run: it makes the initial states.
    Start(NodeId),
    /// The next command of this list of the plan is given.
    Command { list: usize },
    /// The message at this place in flight arrives.
    Deliver { place: usize },
    /// A timer runs out.
    Fire { at: NodeId, timer: Print },
    /// A node crashes.
    Crash(NodeId),
    /// A node comes up again.
    Restart(NodeId),
    /// The message at this place is lost.
    Lose { place: usize },
    /// The message at this place arrives, and will arrive again.
    Duplicate { place: usize },
}

/// What a search is a search of, without any type of it.
#[derive(Clone, Copy)]
pub(crate) struct Model<'a> {
    pub(crate) machine: &'a dyn Machine,
    pub(crate) agenda: &'a Agenda,
    pub(crate) pace: Pace<'a>,
}

/// Tries steps, and remembers what handlers did.
pub(crate) struct Stepper<'a> {
    model: Model<'a>,
    handlers: Handlers<'a>,
}

impl<'a> Stepper<'a> {
    pub(crate) fn new(model: Model<'a>) -> Self {
        Self { model, handlers: Handlers::new(model.machine) }
    }

    /// Tries every step of a state, in an order that depends on the state alone.
    pub(crate) fn try_all(&mut self, state: &State, mut visit: impl FnMut(Trial<'_>)) {
        let Model { agenda, pace, .. } = self.model;
        for action in commands(agenda, state) {
            self.try_one(state, action, &mut visit);
        }
        for place in state.flight.deliverable(pace.order) {
            self.try_one(state, Action::Deliver { place }, &mut visit);
        }
        for (at, timer) in pace.due(&state.timers, &state.flight) {
            self.try_one(state, Action::Fire { at, timer }, &mut visit);
        }
        if !state.faults.is_spent() || state.down != Down::default() {
            self.try_faults(state, &mut visit);
        }
    }

    #[cold]
    fn try_faults(&mut self, state: &State, visit: &mut impl FnMut(Trial<'_>)) {
        let Faults { crashes, restarts, losses, duplicates, severing } = state.faults;
        for at in (0..state.nodes.len() as u32).map(NodeId) {
            let action = match state.down.has(at) {
                false if crashes > 0 => Action::Crash(at),
                true if restarts > 0 => Action::Restart(at),
                true | false => continue,
            };
            self.try_one(state, action, visit);
        }
        for place in state.flight.deliverable(self.model.pace.order) {
            if losses > 0 || severing && state.down.has(state.flight.at(place).from) {
                self.try_one(state, Action::Lose { place }, visit);
            }
            if duplicates > 0 {
                self.try_one(state, Action::Duplicate { place }, visit);
            }
        }
    }

    /// Whether nothing happens in a state any more, unless something goes wrong.
    pub(crate) fn is_at_rest(&self, state: &State) -> bool {
        // Of messages in flight one can always arrive, of armed timers one can always run out.
        state.flight.is_empty()
            && state.timers.is_empty()
            && commands(self.model.agenda, state).next().is_none()
    }

    /// Tries one step, with every answer to the choices in it.
    pub(crate) fn try_one(
        &mut self,
        state: &State,
        action: Action,
        visit: &mut impl FnMut(Trial<'_>),
    ) {
        let model = self.model;
        let Some(happening) = happening(model, state, action) else {
            let nothing = nothing_happens(state, state.flight.at(place_of(action)).to);
            visit(Trial::new(model, state, action, &nothing.0, &nothing.1));
            return;
        };
        for handled in self.handlers.handle(&happening) {
            visit(Trial::new(model, state, action, &happening, handled));
        }
    }
}

/// The commands that the plan allows now.
fn commands(agenda: &Agenda, state: &State) -> impl Iterator<Item = Action> {
    let is_allowed = !agenda.is_script || state.flight.is_empty() && state.timers.is_empty();
    let places = state.places.iter().enumerate().filter(move |_| is_allowed);
    let next = move |list, place| agenda.next(list, place);
    places
        .filter(move |&(list, &place)| next(list, place).is_some_and(|it| !state.down.has(it.at)))
        .map(|(list, _)| Action::Command { list })
}

/// What happens to which node; none if no node notices.
fn happening(model: Model<'_>, state: &State, action: Action) -> Option<Happening> {
    let (at, what) = match action {
        Action::Start(at) => (at, Occasion::Start),
        Action::Crash(at) => (at, Occasion::Crash),
        Action::Restart(at) => (at, Occasion::Restart),
        Action::Command { list } => {
            let place = state.places[list];
            let item = model.agenda.next(list, place).expect("the plan has a command here");
            (item.at, Occasion::Command { list, given: place.given, print: item.print })
        }
        Action::Deliver { place } | Action::Duplicate { place } => {
            let message = state.flight.at(place);
            if state.down.has(message.to) {
                return None;
            }
            (message.to, Occasion::Letter(model.pace.letter(message.print)))
        }
        Action::Fire { at, timer } => (at, Occasion::Timer(timer)),
        Action::Lose { .. } => return None,
    };
    Some(Happening { at, node: state.nodes[at.index()], monitor: state.monitor, what })
}

const fn place_of(action: Action) -> usize {
    match action {
        Action::Deliver { place } | Action::Duplicate { place } | Action::Lose { place } => place,
        Action::Start(_)
        | Action::Command { .. }
        | Action::Fire { .. }
        | Action::Crash(_)
        | Action::Restart(_) => panic!("something happens to a node"),
    }
}

/// A step that no node notices.
fn nothing_happens(state: &State, at: NodeId) -> (Happening, Handled) {
    let (node, monitor) = (state.nodes[at.index()], state.monitor);
    let handled = Handled {
        choices: Vec::new(),
        node,
        monitor,
        sent: Vec::new(),
        timers: Vec::new(),
        heard: false,
        violation: None,
    };
    (Happening { at, node, monitor, what: Occasion::Crash }, handled)
}

/// A step that was tried, and what it would change.
#[derive(Debug)]
pub(crate) struct Trial<'s> {
    state: &'s State,
    order: Order,
    pub(crate) action: Action,
    pub(crate) happening: &'s Happening,
    pub(crate) handled: &'s Handled,
    place: (usize, Place),
    /// What most steps do not change, if this one does.
    rare: Option<Box<Rare>>,
    /// The successor's.
    pub(crate) print: Print,
}

/// What only timers and faults change.
#[derive(Debug)]
struct Rare {
    timers: Option<Timers>,
    /// The messages, unless they only lose the one and gain the others.
    flight: Option<Flight>,
    /// Those sent that may arrive.
    sent: Vec<Flying>,
    down: Down,
    faults: Faults,
}

impl<'s> Trial<'s> {
    fn new(
        model: Model<'s>,
        state: &'s State,
        action: Action,
        happening: &'s Happening,
        handled: &'s Handled,
    ) -> Self {
        let (at, agenda) = (happening.at, model.agenda);
        let (place, is_rare) = match action {
            Action::Crash(at) => (agenda.skip(at, &state.places), true),
            Action::Fire { .. }
            | Action::Restart(_)
            | Action::Lose { .. }
            | Action::Duplicate { .. } => {
                (agenda.advance(at, &state.places, false, handled.heard), true)
            }
            Action::Start(_) | Action::Command { .. } | Action::Deliver { .. } => {
                let commanded = matches!(action, Action::Command { .. });
                let is_rare = !state.timers.is_empty()
                    || !handled.timers.is_empty()
                    || state.down != Down::default();
                (agenda.advance(at, &state.places, commanded, handled.heard), is_rare)
            }
        };
        let rare = is_rare.then(|| Box::new(Rare::new(model, state, action, at, handled)));
        let order = model.pace.order;
        let mut trial =
            Self { state, order, action, happening, handled, place, rare, print: Print::NONE };
        trial.print = trial.print_by_change();
        trial
    }

    fn print_by_change(&self) -> Print {
        let (state, handled) = (self.state, self.handled);
        let mut print = state.print - state.nodes[self.happening.at.index()] - state.monitor
            + handled.node
            + handled.monitor;
        print += match &self.rare {
            Some(rare) => rare.change(state, taken(self.action), self.order),
            None => state.flight.change(taken(self.action), &handled.sent, self.order),
        };
        let (list, place) = self.place;
        if place != state.places[list] {
            print += print_of_place(list, place) - print_of_place(list, state.places[list]);
        }
        print
    }

    /// The state that the step leads to, in the room of one that is no longer needed.
    pub(crate) fn build(self, room: Option<State>) -> State {
        let (old, handled, order) = (self.state, self.handled, self.order);
        let taken = taken(self.action);
        let mut state = room.unwrap_or_else(State::empty);
        state.nodes.clone_from(&old.nodes);
        state.nodes[self.happening.at.index()] = handled.node;
        state.places.clone_from(&old.places);
        state.places[self.place.0] = self.place.1;
        state.monitor = handled.monitor;
        state.timers.clone_from(&old.timers);
        state.down = old.down;
        state.faults = old.faults;
        match self.rare {
            None => state.flight.become_successor(&old.flight, taken, &handled.sent, order),
            Some(rare) => rare.apply(old, &mut state, taken, order),
        }
        state.print = self.print;
        debug_assert_eq!(
            state.print,
            state.print_from_scratch(order),
            "the print of the changes is the print of the successor"
        );
        state
    }
}

impl Rare {
    #[cold]
    fn new(model: Model<'_>, state: &State, action: Action, at: NodeId, handled: &Handled) -> Self {
        let pace = model.pace;
        let (down, faults) = after_fault(state, action);
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
        let timers = &handled.timers[..];
        let change = Change { at, taken: taken(action), fired, crashes, sent: &sent, timers };
        let (timers, mut flight) = pace.after(&state.timers, &state.flight, &change);
        if crashes && faults.restarts == 0 {
            // Nobody will ever see what is on its way to the dead.
            let all = flight.as_ref().unwrap_or(&state.flight);
            flight = Some(Flight::of(all.iter().filter(|it| it.to != at).collect(), pace.order));
        }
        Self { timers, flight, sent, down, faults }
    }

    /// By how much the print changes.
    fn change(&self, state: &State, taken: Option<usize>, order: Order) -> Print {
        let mut print = match &self.flight {
            Some(flight) => flight.print(order) - state.flight.print(order),
            None => state.flight.change(taken, &self.sent, order),
        };
        if let Some(timers) = &self.timers {
            print += timers.print() - state.timers.print();
        }
        if self.faults != state.faults {
            print += print_of_faults(self.faults) - print_of_faults(state.faults);
        }
        if self.down != state.down {
            print += self.down.print() - state.down.print();
        }
        print
    }

    fn apply(self, old: &State, state: &mut State, taken: Option<usize>, order: Order) {
        match self.flight {
            Some(flight) => state.flight = flight,
            None => state.flight.become_successor(&old.flight, taken, &self.sent, order),
        }
        if let Some(timers) = self.timers {
            state.timers = timers;
        }
        state.down = self.down;
        state.faults = self.faults;
    }
}

/// The place of the message that is gone after the step.
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

/// Who is down after a step, and what may go wrong then.
fn after_fault(state: &State, action: Action) -> (Down, Faults) {
    let (mut down, mut faults) = (state.down, state.faults);
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
        // What the dead have sent may be lost without it being an accident of its own.
        Action::Lose { place } if faults.severing && down.has(state.flight.at(place).from) => {}
        Action::Lose { .. } => faults.losses -= 1,
        Action::Duplicate { .. } => faults.duplicates -= 1,
    }
    (down, faults)
}
