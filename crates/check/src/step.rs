//! The steps of a system: which can be taken in a state. Where each leads, its [`Trial`] knows.

use vorrang_protocol::{NodeId, Violation};

use crate::fingerprint::{Part, Print, Three};
use crate::handler::{Asked, Handlers, Shared};
use crate::model::{Action, Cut, EventKind, Handled, Model, NodeEvent};
use crate::plan::{Agenda, Beats, Item, Pause, Place};
use crate::state::{Down, Extra, State};
use crate::state_hash::StateHash;
use crate::system::Faults;
use crate::trial::{Parked, Trial};

/// Tries steps, and remembers what handlers did.
pub(crate) struct Stepper<'a, T> {
    model: Model<'a>,
    handlers: Handlers<'a, T>,
}

impl<'a, T: StateHash> Stepper<'a, T> {
    pub(crate) fn new(model: Model<'a>) -> Self {
        Self { model, handlers: Handlers::new(model.machine, None) }
    }

    /// One of several that tell each other what handlers did.
    pub(crate) fn sharing(model: Model<'a>, shared: &'a Shared) -> Self {
        Self { model, handlers: Handlers::new(model.machine, Some(shared)) }
    }

    /// Tries every step of a state, in an order that depends on the state alone.
    ///
    /// If a bound is hit on the way, only some were tried.
    pub(crate) fn try_all(
        &mut self,
        state: &State<'_, T>,
        mut visit: impl FnMut(Trial<'_, T>),
    ) -> Result<(), Cut> {
        let Model { agenda, pace, .. } = self.model;
        for list in commands(agenda, state) {
            self.try_one(state, Action::Command { list }, &mut visit)?;
        }
        for place in state.flight.deliverable(pace.order) {
            self.try_one(state, Action::Deliver { place }, &mut visit)?;
        }
        if state.has_extra() {
            self.try_extra(state, &mut visit)?;
        }
        Ok(())
    }

    /// Actions that are possible only in a state with timers or faults.
    #[inline(never)]
    fn try_extra(
        &mut self,
        state: &State<'_, T>,
        visit: &mut impl FnMut(Trial<'_, T>),
    ) -> Result<(), Cut> {
        let Extra { timers, down, faults } = state.extra();
        for (at, timer) in self.model.pace.due(timers, state.flight) {
            self.try_one(state, Action::Fire { at, timer }, visit)?;
        }
        let Faults { crashes: _, restarts, losses, duplicates, severing: _, spared: _ } = *faults;
        if *faults == Faults::NONE {
            return Ok(());
        }
        for at in (0..state.nodes.len() as u32).map(NodeId) {
            let action = match down.has(at) {
                false if faults.may_strike(at) => Action::Crash(at),
                true if restarts > 0 => Action::Restart(at),
                true | false => continue,
            };
            self.try_one(state, action, visit)?;
        }
        let order = self.model.pace.order;
        for place in state.flight.deliverable(order) {
            if losses > 0 || state.is_severed(place, order) {
                self.try_one(state, Action::Lose { place }, visit)?;
            }
            if duplicates > 0 {
                self.try_one(state, Action::Duplicate { place }, visit)?;
            }
        }
        // Of a queue a crash takes along the end: message by message, the last first.
        for place in state.flight.ends_of_queues(order) {
            if state.is_severed(place, order) {
                self.try_one(state, Action::Lose { place }, visit)?;
            }
        }
        Ok(())
    }

    /// Whether nothing is bound to happen in a state any more: only commands that the applications
    /// may just as well never give, and what goes wrong.
    pub(crate) fn is_at_rest(&self, state: &State<'_, T>) -> bool {
        // One of the messages in flight can always arrive, and one of the armed timers can always
        // run out.
        let agenda = self.model.agenda;
        is_quiet(state) && !commands(agenda, state).any(|list| is_bound(agenda, state, list))
    }

    /// Whether the plan has a command to give.
    pub(crate) fn can_go_on(&self, state: &State<'_, T>) -> bool {
        commands(self.model.agenda, state).next().is_some()
    }

    /// Whether something may go wrong in a state that is at rest, so that it is not for ever.
    pub(crate) fn can_go_wrong(state: &State<'_, T>) -> bool {
        let Extra { down, faults, .. } = state.extra();
        let mut nodes = (0..state.nodes.len() as u32).map(NodeId);
        let may_crash = nodes.any(|at| !down.has(at) && faults.may_strike(at));
        may_crash || faults.restarts > 0 && *down != Down::NOBODY
    }

    /// Tries one step, with every answer to the choices in it.
    #[inline]
    pub(crate) fn try_one(
        &mut self,
        state: &State<'_, T>,
        action: Action,
        visit: &mut impl FnMut(Trial<'_, T>),
    ) -> Result<(), Cut> {
        let model = self.model;
        let (at, event) = what_happens(model, state, action);
        let key = Three(state.nodes[at.index()], state.monitor, event);
        let outcomes = self.handlers.handle(key, || {
            let (state, happening) = (state.print, happening(model, state, action));
            Asked { state, action, happening }
        })?;
        for index in outcomes.indices() {
            let handled = self.handlers.outcome(index);
            visit(Trial::new(model, state, action, at, index, handled));
        }
        Ok(())
    }

    /// Forgets what handlers did, if that has become much; then nothing that is parked can be
    /// taken up again.
    pub(crate) fn make_room(&mut self) {
        self.handlers.make_room();
    }

    /// The cached handler results.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (&Asked<T>, &[Handled])> {
        self.handlers.asked()
    }

    /// The memory that it takes to remember what handlers did.
    pub(crate) fn bytes(&self) -> u64 {
        self.handlers.bytes()
    }

    /// Takes up a step again that was tried in this state.
    pub(crate) fn take_up<'s>(
        &'s self,
        state: &'s State<'s, T>,
        parked: Parked<T>,
    ) -> Trial<'s, T> {
        let handled = self.handlers.outcome(parked.index);
        Trial::take_up(self.model, state, handled, parked)
    }
}

/// Whether the invariants hold, if there are any.
pub(crate) fn judge<T: StateHash>(model: Model<'_>, state: &State<'_, T>) -> Result<(), Violation> {
    if !model.machine.is_guarded() {
        return Ok(());
    }
    let letters: Vec<Print> =
        state.flight.iter().map(|it| letter(model, state, it.print)).collect();
    model.machine.judge(state.nodes, state.extra().down, &letters)
}

/// Whether no message is in flight and no timer armed.
pub(crate) fn is_quiet<T: StateHash>(state: &State<'_, T>) -> bool {
    state.flight.is_empty() && state.extra().timers.is_empty()
}

/// Whether the command that this list is at is bound to be given, the plan allowing it.
///
/// That an application asks for something does not mean that it will ask again: a plan says what
/// applications may do, and only a command that goes on with something begun is one that they
/// must. Of a script, all are: it is one story, told to its end.
pub(crate) fn is_bound<T: StateHash>(agenda: &Agenda, state: &State<'_, T>, list: usize) -> bool {
    let is_beat = agenda.beats(list).is_some();
    is_beat || agenda.is_script() || agenda.goes_on(list, state.places[list])
}

/// Whether a script waits for the pause in which it gives its next command.
pub(crate) fn holds_back<T: StateHash>(agenda: &Agenda, state: &State<'_, T>) -> bool {
    agenda.waits_for.is_some_and(|pause| match pause {
        Pause::Rest => !is_quiet(state),
        Pause::Lull => !state.flight.is_empty(),
    })
}

/// The lists of which the plan allows a command now.
fn commands<T: StateHash>(agenda: &Agenda, state: &State<'_, T>) -> impl Iterator<Item = usize> {
    let is_allowed = !holds_back(agenda, state);
    let places = if is_allowed { state.places } else { &[] };
    let may_ask =
        !agenda.one_at_a_time || state.flight.is_empty() && agenda.are_all_done(state.places);
    let is_next = move |list, place| {
        let next = agenda.next(list, place).filter(|it| !state.is_down(it.at));
        next.is_some() && (may_ask || agenda.goes_on(list, place))
    };
    let places = places.iter().enumerate();
    let lists = places.filter(move |&(list, &place)| is_next(list, place)).map(|(list, _)| list);
    lists.chain(beats(agenda, state))
}

/// The lists by which nodes are told to beat now: all that are up, if nothing else is bound to
/// happen.
fn beats<T: StateHash>(agenda: &Agenda, state: &State<'_, T>) -> impl Iterator<Item = usize> {
    let goes_on = |(list, &place): (usize, &Place)| {
        let next = agenda.next(list, place).filter(|it| !state.is_down(it.at));
        next.is_some() && (agenda.is_script() || agenda.goes_on(list, place))
    };
    let are_due = agenda.beats.is_some_and(|beats| {
        let has_come_back = state.extra().faults.restarts < beats.restarts;
        has_come_back && is_quiet(state) && !state.places.iter().enumerate().any(goes_on)
    });
    let nodes = if are_due { state.nodes.len() as u32 } else { 0 };
    let up = (0..nodes).map(NodeId).filter(|&node| !state.is_down(node));
    up.map(|node| agenda.list_of_beats(node))
}

/// To which node something happens, and the print of what does.
#[inline]
fn what_happens<T: StateHash>(
    model: Model<'_>,
    state: &State<'_, T>,
    action: Action,
) -> (NodeId, Print) {
    match action {
        Action::Command { list } => {
            let item = command(model, state, list);
            (item.at, item.print)
        }
        Action::Deliver { place } | Action::Duplicate { place } => {
            let message = state.flight.at(place);
            if state.is_down(message.to) {
                return (message.to, Print::of(Part::Nothing, &()));
            }
            (message.to, letter(model, state, message.print))
        }
        Action::Lose { place } => (state.flight.at(place).to, Print::of(Part::Nothing, &())),
        Action::Fire { at, timer } => (at, timer),
        Action::Start(at) => (at, Print::of(Part::Start, &())),
        Action::Crash(at) => (at, Print::of(Part::Crash, &())),
        Action::Restart(at) => (at, Print::of(Part::Restart, &())),
    }
}

/// The same, with all that it takes to let it happen.
pub(crate) fn happening<T: StateHash>(
    model: Model<'_>,
    state: &State<'_, T>,
    action: Action,
) -> NodeEvent {
    let (at, print) = what_happens(model, state, action);
    let what = match action {
        Action::Start(_) => EventKind::Start,
        Action::Crash(_) => EventKind::Crash,
        Action::Restart(_) => EventKind::Restart,
        Action::Command { list } => {
            let given = state.places.get(list).map_or(0, |place| place.given);
            EventKind::Command { list, given }
        }
        Action::Deliver { .. } | Action::Duplicate { .. } if state.is_down(at) => {
            EventKind::Nothing
        }
        Action::Deliver { .. } | Action::Duplicate { .. } => EventKind::Envelope(print),
        Action::Fire { .. } => EventKind::Timer(print),
        Action::Lose { .. } => EventKind::Nothing,
    };
    NodeEvent { at, node: state.nodes[at.index()], monitor: state.monitor, what }
}

/// The message itself, without what timers have to do with it.
pub(crate) fn letter<T: StateHash>(model: Model<'_>, state: &State<'_, T>, print: Print) -> Print {
    if state.has_extra() { model.pace.letter(print) } else { print }
}

fn command<T: StateHash>(model: Model<'_>, state: &State<'_, T>, list: usize) -> Item {
    if let (Some(at), Some(Beats { print, .. })) = (model.agenda.beats(list), model.agenda.beats) {
        return Item::at_once(at, print);
    }
    let next = model.agenda.next(list, state.places[list]);
    next.expect("a command is an action only where the plan has one")
}
