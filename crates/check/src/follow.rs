//! Following a given run before the search begins.
//!
//! A state is more than its nodes and messages: timers depend on those set before them, and
//! monitors have a history. So a state is not described but reached again, step by step. A timer
//! may run out sooner than any clock allows: a run stepped by hand has no clock.

use std::cell::Cell;
use std::fmt;

use vorrang_protocol::{NodeId, Violation};

use crate::model::{Action, Cut, Model};
use crate::report::Bound;
use crate::retrace::{Initial, Leg};
use crate::state::States;
use crate::state_hash::StateHash;
use crate::step::Stepper;
use crate::trial::Trial;

/// A step that cannot be taken where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stray {
    /// Its place among the steps.
    pub place: usize,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} of the run cannot be taken there", self.place + 1)
    }
}

impl std::error::Error for Stray {}

/// Steps to be taken before the search begins.
pub(crate) struct Steps<'a> {
    pub(crate) count: usize,
    /// Whether a step is the one at this place.
    pub(crate) is_at: &'a dyn Fn(usize, &Leg) -> bool,
    /// Whose message the step at this place is about, if it is about one.
    pub(crate) addressee: &'a dyn Fn(usize) -> Option<NodeId>,
    /// Where the first timer runs out that could not have yet.
    pub(crate) early: Cell<Option<usize>>,
}

/// How steps end that do not lead anywhere.
pub(crate) enum Astray {
    Stray(Stray),
    /// A bound was hit on the way.
    Bounded(Bound),
    /// The last of them violates something.
    Violated(Violation, Vec<Leg>),
}

impl From<Cut> for Astray {
    fn from(Cut(by): Cut) -> Self {
        Self::Bounded(by)
    }
}

/// The state after all steps, the nodes having come up without any choice but 0.
pub(crate) fn follow<T: StateHash>(
    model: Model<'_>,
    initial: Vec<Initial<T>>,
    steps: &Steps<'_>,
) -> Result<Vec<Initial<T>>, Astray> {
    if steps.count == 0 {
        return Ok(initial);
    }
    let Initial { mut state, starts } = initial
        .into_iter()
        .find(|it| it.starts.iter().all(Leg::chose_nothing))
        .expect("the first answer to every choice is 0");
    let mut stepper = Stepper::new(model);
    for place in 0..steps.count {
        let (mut found, now) = (None, state.at(0));
        let consider = |found: &mut Option<_>, trial: Trial<'_, T>| {
            if found.is_some() || !(steps.is_at)(place, &Leg::of(model, &now, &trial)) {
                return;
            }
            *found = Some(if let Some(violation) = trial.handled.violation() {
                Err(violation.clone())
            } else {
                let mut successor = States::default();
                trial.build(&mut successor);
                Ok(successor)
            });
        };
        stepper.try_all(&now, |trial| consider(&mut found, trial))?;
        if found.is_none() {
            for (at, timer) in now.extra().timers.all() {
                let fire = Action::Fire { at, timer };
                stepper.try_one(&now, fire, &mut |trial| consider(&mut found, trial))?;
            }
            if found.is_some() && steps.early.get().is_none() {
                steps.early.set(Some(place));
            }
        }
        match found {
            Some(Ok(successor)) => state = successor,
            Some(Err(violation)) => return Err(Astray::Violated(violation, starts)),
            // Messages to a node that stays down are not part of a state.
            None if (steps.addressee)(place).is_some_and(|it| state.at(0).is_down(it)) => {}
            None => return Err(Astray::Stray(Stray { place })),
        }
    }
    Ok(vec![Initial { state, starts }])
}

/// The receiver of the message of a step, as [`What`](crate::What) writes it.
pub(crate) fn addressee(step: &str) -> Option<NodeId> {
    let (word, rest) = step.split_once(' ')?;
    let (link, _) = rest.split_once(' ')?;
    let (_, to) = link.split_once("->")?;
    let is_about_a_message = ["deliver", "lose", "duplicate"].contains(&word);
    to.parse().ok().filter(|_| is_about_a_message).map(NodeId)
}
