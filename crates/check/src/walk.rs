//! Random walks, for systems too large to exhaust.
//!
//! A walk begins at the start and takes one of the steps that can be taken, each as likely, and so
//! on. In every state on its way, all steps are tried and judged, not only the one taken. For every
//! state ever seen, the shortest path to it that was found is remembered; so a counterexample has
//! no detours, though it need not be a shortest one.

use vorrang_protocol::Violation;

use crate::ended::{Counted, Ended};
use crate::fingerprint::{ByTotal, stirred};
use crate::level::Clock;
use crate::model::{Cut, Model};
use crate::report::{Bound, Bounds, Progress};
use crate::retrace::{Initial, Leg, Way, retrace};
use crate::state::{State, States};
use crate::state_hash::StateHash;
use crate::step::{Stepper, judge};

/// How many random runs are taken, and which.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Walks {
    /// How many.
    pub count: u64,
    /// No walk has more steps than this.
    pub depth: u32,
    /// The same seed gives the same walks.
    pub seed: u64,
}

impl Walks {
    /// So many walks of at most so many steps.
    pub const fn new(count: u64, depth: u32, seed: u64) -> Self {
        Self { count, depth, seed }
    }
}

/// Takes the walks, each from one of these states.
pub(crate) fn walk<T: StateHash>(
    model: Model<'_>,
    initial: Vec<Initial<T>>,
    walks: &Walks,
    bounds: &Bounds,
    clock: &mut Clock<'_>,
) -> (Ended, Counted) {
    let mut walker = Walker {
        model,
        bounds,
        stepper: Stepper::new(model),
        seen: ByTotal::default(),
        random: Random(walks.seed),
        steps: 0,
        farthest: 0,
    };
    let depth = walks.depth.min(bounds.depth.unwrap_or(u32::MAX));
    let mut end = Stop::Bounded(Bound::Walks);
    for left in (0..walks.count).rev() {
        let start = walker.random.below(initial.len() as u64) as usize;
        if let Err(stop) = walker.take(&initial[start].state, depth, left, clock) {
            end = stop;
            break;
        }
    }
    let ended = match end {
        Stop::Bounded(by) => Ended::Bounded(by),
        Stop::Found(found) => {
            let Found { violation, state, last } = *found;
            Ended::Violated(violation, walker.way(initial, state, last))
        }
    };
    let counted = Counted {
        states: walker.seen.len() as u64,
        steps: walker.steps,
        depth: walker.farthest,
        memory_bytes: walker.memory_bytes(),
        has_unjudged_loops: matches!(ended, Ended::Bounded(_)),
    };
    (ended, counted)
}

struct Walker<'a, T> {
    model: Model<'a>,
    bounds: &'a Bounds,
    stepper: Stepper<'a, T>,
    /// Every state seen, with the one before it on the nearest way to it, and how far it is.
    seen: ByTotal<T, (T, u32)>,
    random: Random,
    steps: u64,
    farthest: u32,
}

/// Why no more walks are taken.
enum Stop<T> {
    Bounded(Bound),
    Found(Box<Found<T>>),
}

/// A violation, the state before it, and the step to it if it is not the state's own.
struct Found<T> {
    violation: Violation,
    state: T,
    last: Option<Leg>,
}

fn found<T: StateHash>(violation: Violation, state: &State<'_, T>, last: Option<Leg>) -> Stop<T> {
    Stop::Found(Box::new(Found { violation, state: state.print, last }))
}

impl<T: StateHash> Walker<'_, T> {
    /// Takes one walk.
    fn take(
        &mut self,
        start: &States<T>,
        depth: u32,
        left: u64,
        clock: &mut Clock<'_>,
    ) -> Result<(), Stop<T>> {
        let mut state = start.clone();
        let print = state.at(0).print;
        self.seen.insert(print, (print, 0));
        for taken in 0..=depth {
            let now = state.at(0);
            judge(self.model, &now).map_err(|violation| found(violation, &now, None))?;
            if self.stepper.is_at_rest(&now) {
                self.judge_rest(&now)?;
                if !self.stepper.can_go_on(&now) && !Stepper::can_go_wrong(&now) {
                    break;
                }
            }
            if taken == depth {
                break;
            }
            self.check_bounds(left, clock)?;
            let Some(next) = self.step(&now)? else { break };
            self.note(next.at(0).print, now.print);
            state = next;
        }
        Ok(())
    }

    /// Tries all steps, and takes one of them.
    fn step(&mut self, now: &State<'_, T>) -> Result<Option<States<T>>, Stop<T>> {
        let Self { model, stepper, random, steps, .. } = self;
        let (mut violated, mut picked, mut count) = (None, None, 0);
        stepper.make_room();
        let tried = stepper.try_all(now, |trial| {
            *steps += 1;
            if let Some(violation) = trial.handled.violation() {
                let last = || (violation.clone(), Leg::of(*model, now, &trial));
                violated.get_or_insert_with(last);
                return;
            }
            count += 1;
            // Each replaces the one before with odds that leave all as likely in the end.
            if random.below(count) == 0 {
                picked = Some(trial.park());
            }
        });
        if let Some((violation, last)) = violated {
            return Err(found(violation, now, Some(last)));
        }
        tried.map_err(|Cut(by)| Stop::Bounded(by))?;
        Ok(picked.map(|parked| {
            let mut next = States::default();
            stepper.take_up(now, parked).build(&mut next);
            next
        }))
    }

    fn note(&mut self, state: T, before: T) {
        let (_, far) = self.seen[&before];
        let known = self.seen.entry(state).or_insert((before, u32::MAX));
        if known.1 > far + 1 {
            *known = (before, far + 1);
        }
        self.farthest = self.farthest.max(far + 1);
    }

    fn judge_rest(&self, state: &State<'_, T>) -> Result<(), Stop<T>> {
        let judged = self.model.machine.at_rest(state.monitor);
        judged.map_err(|violation| found(violation, state, None))
    }

    fn check_bounds(&self, left: u64, clock: &mut Clock<'_>) -> Result<(), Stop<T>> {
        let machine = self.model.machine;
        machine.gauge().look();
        let (bytes, states) = (self.memory_bytes(), self.seen.len() as u64);
        if let Some(bound) = machine.cut() {
            return Err(Stop::Bounded(bound));
        }
        if self.bounds.memory_bytes.is_some_and(|bound| bytes > bound) {
            return Err(Stop::Bounded(Bound::Memory));
        }
        if self.bounds.states.is_some_and(|bound| states > bound) {
            return Err(Stop::Bounded(Bound::States));
        }
        let (steps, depth) = (self.steps, self.farthest);
        let progress = || Progress { states, steps, depth, frontier: left, memory_bytes: bytes };
        clock.tick(progress).map_or(Ok(()), |bound| Err(Stop::Bounded(bound)))
    }

    fn memory_bytes(&self) -> u64 {
        let machine = self.model.machine;
        let seen = self.seen.capacity() * size_of::<(T, T, u32, u8)>();
        let parts = machine.bytes() + self.model.pace.slips.bytes();
        machine.gauge().read(seen as u64 + parts + self.stepper.bytes())
    }

    /// The nearest way to a state that was seen, or as much of it as can be followed again.
    fn way(&mut self, initial: Vec<Initial<T>>, state: T, last: Option<Leg>) -> Way {
        let Self { model, stepper, seen, .. } = self;
        model.machine.lift_bounds();
        let way = retrace(*model, stepper, initial, &|it| seen[&it].0, state, last);
        way.unwrap_or_else(|way| way)
    }
}

/// `SplitMix64` (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// A number below the bound, each as likely but for a chance of at most bound / 2⁶⁴.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(stirred(self.0)) * u128::from(bound)) >> 64) as u64
    }
}
