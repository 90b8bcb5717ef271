//! Obligations of a state, and which steps may fulfil them.
//!
//! There are three kinds. A *debt* to a node, which the monitor lists. Any other violation that the
//! monitor would report at rest: a system that goes on for ever in such states violates the
//! property as one that stops there. And the next command of a script, which waits for rest or for
//! a pause in the traffic.

use vorrang_protocol::{NodeId, Obligation, Order};

use crate::fingerprint::Print;
use crate::lowest::lowest_letter;
use crate::model::{Action, Model};
use crate::state::State;
use crate::state_hash::StateHash;
use crate::step::{holds_back, is_bound, letter};
use crate::timers::TimerChange;
use crate::trial::Trial;

/// Whether a step to a known state may be part of a loop in which an obligation is open throughout.
///
/// Faults are part of no loop, and commands only if an application asks for ever: there are only so
/// many of each, and none is ever given back.
pub(crate) fn may_close_a_loop<T: StateHash>(
    model: Model<'_>,
    state: &State<'_, T>,
    trial: &Trial<'_, T>,
) -> bool {
    let can_repeat = match trial.action {
        Action::Deliver { .. } | Action::Fire { .. } => true,
        Action::Command { list } => model.agenda.is_endless(list),
        Action::Start(_)
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::Lose { .. }
        | Action::Duplicate { .. } => false,
    };
    let dues = |monitor| model.machine.dues(monitor);
    can_repeat
        && (waits_for_rest(model, state) || dues(state.monitor).share(&dues(trial.handled.monitor)))
}

/// Whether a script waits for the system to come to rest, or for a lull.
pub(crate) fn waits_for_rest<T: StateHash>(model: Model<'_>, state: &State<'_, T>) -> bool {
    let agenda = model.agenda;
    holds_back(agenda, state)
        && agenda.next(0, state.places[0]).is_some_and(|it| !state.is_down(it.at))
}

/// An open obligation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingObligation {
    /// A debt to a node, by the monitor.
    Obligation(Obligation),
    /// That the monitor has nothing to object to.
    Objection(&'static str),
    /// That the system comes to rest, since a script waits for it.
    Script,
}

/// Whether a step may fulfil an obligation: it is bound to be taken eventually.
fn counts_as_help<T: StateHash>(model: Model<'_>, state: &State<'_, T>, action: Action) -> bool {
    match action {
        Action::Deliver { .. } | Action::Fire { .. } => true,
        Action::Command { list } => is_bound(model.agenda, state, list),
        Action::Start(_)
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::Lose { .. }
        | Action::Duplicate { .. } => false,
    }
}

/// The fairness class of a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Label {
    /// The first message of a link that keeps its order.
    Link(NodeId, NodeId),
    /// A message on a link that does not.
    Envelope(Print),
    Timer(NodeId, Print),
    /// The next command of a list.
    Command(usize),
    /// The next command of a list that an application need not give: no help comes of it, and
    /// fairness does not ask for it.
    Wish(usize),
}

/// The fairness class of a step that may be part of a loop or fulfil obligations.
pub(crate) fn label<T: StateHash>(
    model: Model<'_>,
    state: &State<'_, T>,
    action: Action,
) -> Option<Label> {
    let is_help = counts_as_help(model, state, action);
    Some(match action {
        Action::Deliver { place } => {
            let message = state.flight.at(place);
            match model.pace.order {
                Order::Fifo => Label::Link(message.from, message.to),
                Order::Any if model.shifts => {
                    let letter = letter(model, state, message.print);
                    Label::Envelope(lowest_letter(model.machine, letter))
                }
                Order::Any => Label::Envelope(letter(model, state, message.print)),
            }
        }
        Action::Fire { at, timer } => Label::Timer(at, timer),
        Action::Command { list } if is_help => Label::Command(list),
        Action::Command { list } if model.agenda.is_endless(list) => Label::Wish(list),
        Action::Start(_)
        | Action::Command { .. }
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::Lose { .. }
        | Action::Duplicate { .. } => return None,
    })
}

/// The timers that a step sets again or cancels.
pub(crate) fn rearmed<T: StateHash>(trial: &Trial<'_, T>) -> impl Iterator<Item = Label> {
    let at = trial.at;
    trial.handled.timers().iter().map(move |change| match change {
        TimerChange::Set(timer, _) | TimerChange::Cancel(timer) => Label::Timer(at, *timer),
    })
}
