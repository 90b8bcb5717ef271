//! Following a given run before the search begins.
//!
//! A state is more than its nodes and messages: timers depend on those set before them, and
//! monitors have a history. So a state is not described but reached again, step by step. A timer
//! may run out sooner than any clock allows: a run stepped by hand has no clock.
//!
//! Two messages may be equal and yet not the same to a monitor, which has tagged them. A step does
//! not say which of them arrives, so all states are kept that the steps can have led to.

use std::cell::Cell;
use std::fmt;

use vorrang_protocol::{NodeId, Violation};

use crate::model::{Action, Cut, Model};
use crate::report::Bound;
use crate::retrace::{Initial, Leg};
use crate::state::{State, States};
use crate::state_hash::StateHash;
use crate::step::Stepper;
use crate::trial::Trial;

/// The first thing in the beginning of a run that cannot have happened there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stray {
    /// A node does not come up so.
    Start {
        /// The node.
        at: NodeId,
    },
    /// A step cannot be taken where it stands.
    Step {
        /// Its place among the steps.
        place: usize,
    },
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { at } => write!(f, "node {at} of the run cannot come up so"),
            Self::Step { place } => {
                write!(f, "step {} of the run cannot be taken there", place + 1)
            }
        }
    }
}

impl std::error::Error for Stray {}

/// How a run begins, for a search that knows no types.
pub(crate) struct Beginning<'a> {
    /// The answers that each node got to its choices as it came up; none if any will do.
    pub(crate) starts: Option<&'a [Vec<u32>]>,
    /// How many steps are taken before the search begins.
    pub(crate) count: usize,
    /// Whether a step is the one at this place.
    pub(crate) is_at: &'a dyn Fn(usize, &Leg) -> bool,
    /// Whose message the step at this place is about, if it is about one.
    pub(crate) addressee: &'a dyn Fn(usize) -> Option<NodeId>,
    /// Where the first timer runs out that could not have yet.
    pub(crate) early: Cell<Option<usize>>,
}

impl Beginning<'_> {
    /// Whether a node may come up with these choices.
    pub(crate) fn starts_so(&self, at: NodeId, choices: &[u32]) -> bool {
        self.starts.is_none_or(|all| all.get(at.index()).is_some_and(|it| it == choices))
    }
}

/// How a beginning ends that does not lead anywhere.
pub(crate) enum Astray {
    Stray(Stray),
    /// A bound was hit on the way.
    Bounded(Bound),
    /// The last step of it violates something.
    Violated(Violation, Vec<Leg>),
}

impl From<Cut> for Astray {
    fn from(Cut(by): Cut) -> Self {
        Self::Bounded(by)
    }
}

/// The states after all steps.
pub(crate) fn follow<T: StateHash>(
    model: Model<'_>,
    initial: Vec<Initial<T>>,
    before: &Beginning<'_>,
) -> Result<Vec<Initial<T>>, Astray> {
    let mut states = initial;
    let mut stepper = Stepper::new(model);
    for place in 0..before.count {
        let is_it = |leg: &Leg| (before.is_at)(place, leg);
        let mut next = Successors { model, is_it: &is_it, states: Vec::new(), violated: None };
        for from in &states {
            let now = from.state.at(0);
            stepper.try_all(&now, |trial| next.consider(from, &now, trial))?;
        }
        if next.is_empty() {
            for from in &states {
                let now = from.state.at(0);
                for (at, timer) in now.extra().timers.all() {
                    let fire = Action::Fire { at, timer };
                    stepper.try_one(&now, fire, &mut |trial| next.consider(from, &now, trial))?;
                }
            }
            if !next.is_empty() && before.early.get().is_none() {
                before.early.set(Some(place));
            }
        }
        if let Some((violation, starts)) = next.violated {
            return Err(Astray::Violated(violation, starts));
        }
        if !next.states.is_empty() {
            states = next.states;
            continue;
        }
        // Messages to a node that stays down are not part of a state.
        let is_for_dead = |state: &State<'_, T>| {
            (before.addressee)(place).is_some_and(|receiver| state.is_down(receiver))
        };
        states.retain(|it| is_for_dead(&it.state.at(0)));
        if states.is_empty() {
            return Err(Astray::Stray(Stray::Step { place }));
        }
    }
    Ok(states)
}

/// Where one step leads from all states in which it can be taken.
struct Successors<'a, T> {
    model: Model<'a>,
    is_it: &'a dyn Fn(&Leg) -> bool,
    states: Vec<Initial<T>>,
    /// The first violation, with how nodes came up.
    violated: Option<(Violation, Vec<Leg>)>,
}

impl<T: StateHash> Successors<'_, T> {
    fn is_empty(&self) -> bool {
        self.states.is_empty() && self.violated.is_none()
    }

    /// Takes the step that was tried, if it is the one.
    fn consider(&mut self, from: &Initial<T>, now: &State<'_, T>, trial: Trial<'_, T>) {
        if !(self.is_it)(&Leg::of(self.model, now, &trial)) {
            return;
        }
        if let Some(violation) = trial.handled.violation() {
            self.violated.get_or_insert_with(|| (violation.clone(), from.starts.clone()));
            return;
        }
        let is_known = self.states.iter().any(|it| it.state.at(0).print == trial.print);
        if !is_known {
            let mut state = States::default();
            trial.build(&mut state);
            self.states.push(Initial { state, starts: from.starts.clone() });
        }
    }
}
