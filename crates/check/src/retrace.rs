//! From fingerprints back to a run.
//!
//! The search keeps of every state only its fingerprint and its parent's. A run is found again by
//! going from the initial state along those fingerprints and taking, at each, the first step that
//! leads to the next.

use std::vec;

use vorrang_protocol::{Effect, Event, Monitor, Outbox, Protocol, Refused};

use crate::fingerprint::Print;
use crate::parts::Parts;
use crate::run::{Move, Run, Start, What};
use crate::state::State;
use crate::step::{Action, Stepper, Trial, command};
use crate::system::System;
use crate::table::Table;

/// A state before its first step, with how its nodes came up.
pub(crate) struct Initial<P: Protocol> {
    pub(crate) state: State<P::Timer>,
    pub(crate) starts: Vec<Start<P>>,
}

/// The last step of a run, from a state that is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Ending {
    /// None: the run ends in the state itself.
    Here,
    /// The step that comes so manieth when all of the state's are tried.
    Step(u64),
}

/// The run to `state`, and on to its ending.
pub(crate) fn retrace<P, M>(
    system: &System<P, M>,
    initial: Vec<Initial<P>>,
    parts: &Parts<P, M>,
    table: &Table,
    state: Print,
    ending: Ending,
) -> Run<P>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let mut prints = way_to(state, table);
    let root = prints.next();
    let Initial { mut state, starts } = initial
        .into_iter()
        .find(|it| Some(it.state.print) == root)
        .expect("every way begins in an initial state");
    let mut stepper = Stepper::new(system, parts);
    let mut moves = Vec::new();
    for next in prints {
        let mut found = None;
        stepper.try_all(&state, |trial| {
            if found.is_none() && trial.handled.violation.is_none() && trial.print == next {
                found = Some((describe(system, parts, &state, &trial), trial.build(None)));
            }
        });
        let (step, successor) = found.expect("a state's parent has a step to it");
        moves.push(step);
        state = successor;
    }
    if let Ending::Step(wanted) = ending {
        let mut count = 0;
        stepper.try_all(&state, |trial| {
            if count == wanted {
                moves.push(describe(system, parts, &state, &trial));
            }
            count += 1;
        });
    }
    Run { starts, moves }
}

/// The fingerprints of all states up to this one, the initial one first.
fn way_to(state: Print, table: &Table) -> vec::IntoIter<Print> {
    let mut prints = vec![state];
    let mut last = state;
    loop {
        let parent = table.parent(last);
        if parent == last {
            break;
        }
        prints.push(parent);
        last = parent;
    }
    prints.reverse();
    prints.into_iter()
}

/// The step that was tried, as data.
fn describe<P: Protocol, M: Monitor>(
    system: &System<P, M>,
    parts: &Parts<P, M>,
    state: &State<P::Timer>,
    trial: &Trial<'_, P::Timer>,
) -> Move<P> {
    let (what, event) = match trial.action {
        Action::Start(_) => unreachable!("a start is no step of a run"),
        Action::Command { list } => {
            let (at, command) = command(&system.plan, state.places[list], list);
            let command = command.clone();
            let event = Event::Command(command.clone());
            (What::Command { at, command }, event)
        }
        Action::Deliver { place } => {
            let letter = parts.letters.get(state.flight.at(place).print);
            let (from, to, message) = (letter.from, letter.to, letter.message.clone());
            let event = Event::Message { from, message: message.clone() };
            (What::Deliver { from, to, message }, event)
        }
        Action::Fire { at, timer } => (What::Timer { at, timer }, Event::Timer(timer)),
    };
    Move {
        what,
        choices: trial.handled.choices.clone(),
        effects: effects(parts, state, trial, event),
    }
}

/// The start that was tried, as data.
pub(crate) fn describe_start<P: Protocol, M: Monitor>(
    parts: &Parts<P, M>,
    state: &State<P::Timer>,
    trial: &Trial<'_, P::Timer>,
) -> Start<P> {
    Start {
        choices: trial.handled.choices.clone(),
        effects: effects(parts, state, trial, Event::Start),
    }
}

/// What the node does: its handler is run once more, with the same answers.
fn effects<P: Protocol, M: Monitor>(
    parts: &Parts<P, M>,
    state: &State<P::Timer>,
    trial: &Trial<'_, P::Timer>,
    event: Event<P>,
) -> Vec<Effect<P>> {
    let mut node = P::clone(&parts.nodes.get(state.nodes[trial.at.index()]));
    let mut answers = trial.handled.choices.iter().copied();
    let mut outbox =
        Outbox::new(|_| answers.next().expect("the handler asks what it asked before"));
    // A refusal has no effects; the violation tells of it.
    match node.handle(event, &mut outbox) {
        Ok(()) => outbox.take(),
        Err(Refused(_)) => Vec::new(),
    }
}
