//! From fingerprints back to a run.
//!
//! The search keeps of every state only its fingerprint and its parent's. A run is found again by
//! going from the initial state along those fingerprints and taking, at each, the first step that
//! leads to the next.

use std::{mem, vec};

use vorrang_protocol::{Monitor, Occurrence, Order, Protocol, Transition};

use crate::fingerprint::Print;
use crate::handler::Asked;
use crate::lowest::lowest_print;
use crate::machine::Typed;
use crate::model::{Action, EventKind, Model, NodeEvent};
use crate::obligations::{Label, label};
use crate::run::{Move, Start};
use crate::state::{State, States};
use crate::state_hash::StateHash;
use crate::step::{Stepper, happening, letter};
use crate::trial::Trial;

/// A state before its first step, with how its nodes came up.
pub(crate) struct Initial<T> {
    /// One state.
    pub(crate) state: States<T>,
    pub(crate) starts: Vec<Leg>,
}

/// One step of a run, by prints.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    action: Action,
    happening: NodeEvent,
    choices: Vec<u32>,
    /// The message that is lost or arrives, if one does.
    letter: Option<Print>,
}

impl Leg {
    /// The step that was tried.
    pub(crate) fn of<T: StateHash>(
        model: Model<'_>,
        state: &State<'_, T>,
        trial: &Trial<'_, T>,
    ) -> Self {
        let letter = match trial.action {
            Action::Deliver { place } | Action::Lose { place } | Action::Duplicate { place } => {
                Some(letter(model, state, state.flight.at(place).print))
            }
            Action::Start(_)
            | Action::Command { .. }
            | Action::Fire { .. }
            | Action::Crash(_)
            | Action::Restart(_) => None,
        };
        let choices = trial.handled.choices().to_vec();
        let happening = happening(model, state, trial.action);
        Self { action: trial.action, happening, choices, letter }
    }

    /// The step in which a handler was run, without its choices.
    pub(crate) fn of_asked<T>(asked: &Asked<T>) -> Self {
        let Asked { action, happening, .. } = *asked;
        let letter = match happening.what {
            EventKind::Envelope(print) => Some(print),
            EventKind::Nothing
            | EventKind::Start
            | EventKind::Restart
            | EventKind::Crash
            | EventKind::Command { .. }
            | EventKind::Timer(_) => None,
        };
        Self { action, happening, choices: Vec::new(), letter }
    }
}

/// The last step of a run, from a state that is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Ending {
    /// None: the run ends in the state itself.
    Here,
    /// The step that comes so manieth when all of the state's are tried.
    Step(u64),
}

/// A run, by prints.
pub(crate) struct Way {
    pub(crate) starts: Vec<Leg>,
    pub(crate) legs: Vec<Leg>,
    /// The leg from which on they repeat for ever, if they do.
    pub(crate) repeats_from: Option<usize>,
}

/// The run to `state`, and then its last step, if it is not the state itself that is wrong. If the
/// run cannot be followed again, because a handler does not do what it did, as far as it can be.
pub(crate) fn retrace<'a, T: StateHash>(
    model: Model<'a>,
    stepper: &mut Stepper<'a, T>,
    initial: Vec<Initial<T>>,
    parent: &dyn Fn(T) -> T,
    state: T,
    last: Option<Leg>,
) -> Result<Way, Way> {
    let mut plain = Stepper::new(Model { shifts: false, ..model });
    let stepper = if model.shifts { &mut plain } else { stepper };
    let (mut walk, starts, arrived) = Walk::to(model, stepper, initial, parent, state);
    if arrived && let Some(last) = last {
        let last = walk.in_its_numbers(model, last);
        walk.legs.push(last);
    }
    let way = Way { starts, legs: walk.legs, repeats_from: None };
    if arrived { Ok(way) } else { Err(way) }
}

/// Where a step leads, and what kind of step it is, if only one will do.
pub(crate) type Next<T> = (T, Option<Label>);

/// The run to `state`, on along a stem, and once round; or as far as it can be followed again.
pub(crate) fn retrace_round<'a, T: StateHash>(
    model: Model<'a>,
    stepper: &mut Stepper<'a, T>,
    initial: Vec<Initial<T>>,
    parent: &dyn Fn(T) -> T,
    state: T,
    (stem, around): (&[Next<T>], &[Next<T>]),
) -> Result<Way, Way> {
    let mut plain = Stepper::new(Model { shifts: false, ..model });
    let stepper = if model.shifts { &mut plain } else { stepper };
    let (mut walk, starts, mut arrived) = Walk::to(model, stepper, initial, parent, state);
    arrived = arrived && stem.iter().all(|next| walk.go(model, next));
    let repeats_from = (!around.is_empty()).then_some(walk.legs.len());
    let mut ignored = walk.letters();
    for next in around {
        arrived = arrived && walk.go(model, next);
        let (now, taken) = (walk.letters(), walk.legs.last().and_then(|leg| leg.letter));
        ignored.retain(|it| now.contains(it) && taken != Some(*it));
    }
    // Up to a shift, messages are told apart only by what is the same in all their shifts; so one
    // of them may have been ignored all the way round.
    arrived &= !model.shifts || model.pace.order == Order::Fifo || ignored.is_empty();
    let way = Way { starts, legs: walk.legs, repeats_from: repeats_from.filter(|_| arrived) };
    if arrived { Ok(way) } else { Err(way) }
}

/// A run that is being gone again.
struct Walk<'a, 's, T> {
    stepper: &'s mut Stepper<'a, T>,
    /// Where it has come.
    state: States<T>,
    legs: Vec<Leg>,
}

impl<'a, 's, T: StateHash> Walk<'a, 's, T> {
    /// Goes to a state that is known; returns how the nodes came up as well, and whether it got
    /// there.
    fn to(
        model: Model<'a>,
        stepper: &'s mut Stepper<'a, T>,
        initial: Vec<Initial<T>>,
        parent: &dyn Fn(T) -> T,
        state: T,
    ) -> (Self, Vec<Leg>, bool) {
        let mut prints = way_to(state, parent);
        let root = prints.next();
        let Initial { state, starts } = initial
            .into_iter()
            .find(|it| Some(it.state.at(0).print) == root)
            .expect("every way begins in an initial state");
        let mut walk = Self { stepper, state, legs: Vec::new() };
        let arrived = prints.all(|next| walk.go(model, &(next, None)));
        (walk, starts, arrived)
    }

    /// The messages in flight.
    fn letters(&self) -> Vec<Print> {
        self.state.at(0).flight.iter().map(|it| it.print).collect()
    }

    /// The last step of a run that ends in a violation, which was taken from the lowest of the
    /// states that differ in a shift, as it is taken here.
    fn in_its_numbers(&mut self, model: Model<'_>, last: Leg) -> Leg {
        if !model.shifts {
            return last;
        }
        let (mut found, now) = (None, self.state.at(0));
        let tried = self.stepper.try_all(&now, |trial| {
            let leg = Leg::of(model, &now, &trial);
            let is_it = leg.happening.at == last.happening.at
                && leg.choices == last.choices
                && mem::discriminant(&leg.action) == mem::discriminant(&last.action);
            if found.is_none() && is_it && trial.handled.violation().is_some() {
                found = Some(leg);
            }
        });
        found.filter(|_| tried.is_ok()).unwrap_or(last)
    }

    /// Takes the first step that leads there, if there is one.
    fn go(&mut self, model: Model<'_>, (next, wanted): &Next<T>) -> bool {
        let (mut found, now) = (None, self.state.at(0));
        let is_wanted = |trial: &Trial<'_, T>| {
            wanted.is_none_or(|wanted| label(model, &now, trial.action) == Some(wanted))
        };
        let tried = self.stepper.try_all(&now, |trial| {
            let is_fine = trial.handled.violation().is_none();
            let may_be_it = is_fine && (model.shifts || trial.print == *next);
            if found.is_none() && may_be_it && is_wanted(&trial) {
                let mut successor = States::default();
                let leg = Leg::of(model, &now, &trial);
                trial.build(&mut successor);
                // The run is told in the numbers that it has, and found by those without shifts.
                if !model.shifts || lowest_print(model, &successor.at(0)) == *next {
                    found = Some((leg, successor));
                }
            }
        });
        // Nothing is cut any more when a run is gone again.
        let Some((leg, successor)) = found.filter(|_| tried.is_ok()) else { return false };
        self.legs.push(leg);
        self.state = successor;
        true
    }
}

/// The fingerprints of all states up to this one, the initial one first.
fn way_to<T: StateHash>(state: T, parent: &dyn Fn(T) -> T) -> vec::IntoIter<T> {
    let mut prints = vec![state];
    let mut last = state;
    loop {
        let before = parent(last);
        if before == last {
            break;
        }
        prints.push(before);
        last = before;
    }
    prints.reverse();
    prints.into_iter()
}

impl<P, M> Typed<'_, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    /// A step as data, with its effects.
    pub(crate) fn describe(&self, leg: &Leg) -> Move<P> {
        let effects = self.effects(&leg.happening, &leg.choices);
        Move { step: self.step(leg), effects }
    }

    /// A step as data.
    pub(crate) fn step(&self, leg: &Leg) -> Transition<P> {
        let at = leg.happening.at;
        let letter = || self.letter(leg.letter.expect("a message is in it"));
        let what = match (leg.action, leg.happening.what) {
            (Action::Start(_), _) => unreachable!("a start is no step of a run"),
            (Action::Command { .. }, EventKind::Command { list, given }) => {
                Occurrence::Command { at, command: self.command(list, given) }
            }
            (Action::Command { .. }, _) => unreachable!("a command is given"),
            (Action::Deliver { .. }, _) => {
                let (from, to, message) = letter();
                Occurrence::Deliver { from, to, message }
            }
            (Action::Lose { .. }, _) => {
                let (from, to, message) = letter();
                Occurrence::Lose { from, to, message }
            }
            (Action::Duplicate { .. }, _) => {
                let (from, to, message) = letter();
                Occurrence::Duplicate { from, to, message }
            }
            (Action::Fire { timer, .. }, _) => Occurrence::Timer { at, timer: self.timer(timer) },
            (Action::Crash(_), _) => Occurrence::Crash { at },
            (Action::Restart(_), _) => Occurrence::Restart { at },
        };
        Transition { what, choices: leg.choices.clone() }
    }

    /// A start as data.
    pub(crate) fn describe_start(&self, leg: &Leg) -> Start<P> {
        Start { choices: leg.choices.clone(), effects: self.effects(&leg.happening, &leg.choices) }
    }
}
