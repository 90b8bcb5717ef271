//! The search: breadth first, level by level, on any number of threads.
//!
//! All states of a level are as many steps from the start. Threads take them in chunks; the states
//! that they find make the next level. Since a level is finished before the next begins, the first
//! violation found is a shortest one, and what is counted does not depend on the threads.

use std::num::NonZeroUsize;

use vorrang_protocol::{Monitor, NodeId, Protocol, Violation};

use crate::level::{Chunks, Clock, Context, Counts, Found, Level};
use crate::machine::Typed;
use crate::parts::Shelf;
use crate::report::{Bound, Bounds, Outcome, Progress, Report};
use crate::retrace::{Initial, Leg, Way, retrace};
use crate::run::Run;
use crate::state::{Down, States};
use crate::step::{Action, Model, Stepper};
use crate::system::System;
use crate::table::Table;
use crate::timers::Pace;

/// Explores every run of a system, up to the bounds.
///
/// `progress` is called on the calling thread, about ten times a second.
///
/// # Panics
///
/// If the system has no nodes or its plan does not fit them, if it has more than 64 nodes and they
/// may crash, or if a node is found out not to be deterministic or sends to a node that is not
/// there.
pub fn explore<P, M>(
    system: &System<P, M>,
    bounds: &Bounds,
    threads: NonZeroUsize,
    mut progress: impl FnMut(Progress),
) -> Report<P>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let size = system.nodes.len();
    assert!(size > 0, "a system has at least one node");
    assert!(
        size <= Down::MOST_NODES || system.faults.crashes == 0,
        "a system in which nodes crash has at most {} nodes, not {size}",
        Down::MOST_NODES
    );
    system.plan.assert_fits(size);
    let machine = Typed::new(system);
    let (nodes, monitor) = machine.first();
    let agenda = system.plan.agenda();
    let order = system.links.order;
    let first = States::before_start(nodes, monitor, &agenda, system.faults, order);
    let slips = Shelf::default();
    let within_ns = system.links.within.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX));
    let pace = Pace { within_ns, order, slips: &slips };
    let model = Model { machine: &machine, agenda: &agenda, pace };
    let (ending, Counted { states, steps, depth }) =
        search(model, first, bounds, threads, &mut progress);
    let outcome = match ending {
        Ended::Verified => Outcome::Verified,
        Ended::Bounded(by) => Outcome::Bounded { by },
        Ended::Violated(violation, way) => Outcome::Violated {
            violation,
            run: Run {
                starts: way.starts.iter().map(|leg| machine.describe_start(leg)).collect(),
                moves: way.legs.iter().map(|leg| machine.describe(leg)).collect(),
            },
        },
    };
    Report { outcome, states, steps, depth }
}

/// What a search comes to.
enum Ended {
    Verified,
    Bounded(Bound),
    Violated(Violation, Way),
}

struct Counted {
    states: u64,
    steps: u64,
    depth: u32,
}

/// The whole search, which knows no type of what it searches.
fn search(
    model: Model<'_>,
    first: States,
    bounds: &Bounds,
    threads: NonZeroUsize,
    progress: &mut dyn FnMut(Progress),
) -> (Ended, Counted) {
    let initial = match start(model, first) {
        Ok(initial) => initial,
        Err((violation, starts)) => {
            let way = Way { starts, legs: Vec::new() };
            return (Ended::Violated(violation, way), Counted { states: 0, steps: 0, depth: 0 });
        }
    };
    let mut search = Search {
        bounds,
        model,
        steppers: (0..threads.get()).map(|_| Stepper::new(model)).collect(),
        table: Table::new(),
        counts: Counts::default(),
        clock: Clock::new(progress),
    };
    let (depth, end) = search.run(&initial);
    let ended = match end {
        End::Exhausted => Ended::Verified,
        End::Bounded(by) => Ended::Bounded(by),
        End::Found(found) => {
            let way = retrace(model, initial, &search.table, found.state, found.ending);
            Ended::Violated(found.violation, way)
        }
    };
    let (states, steps) = (search.counts.states(), search.counts.steps());
    (ended, Counted { states, steps, depth })
}

/// Starts all nodes, in the order of their numbers and with every answer to their choices.
fn start(model: Model<'_>, first: States) -> Result<Vec<Initial>, (Violation, Vec<Leg>)> {
    let mut stepper = Stepper::new(model);
    let size = first.at(0).nodes.len() as u32;
    let mut all = vec![Initial { state: first, starts: Vec::new() }];
    for at in (0..size).map(NodeId) {
        let mut violated = None;
        let mut next = Vec::new();
        for Initial { state, starts } in &all {
            let state = state.at(0);
            stepper.try_one(&state, Action::Start(at), &mut |trial| {
                let mut starts = starts.clone();
                starts.push(Leg::of(model, &state, &trial));
                if let Some(violation) = trial.handled.violation() {
                    violated.get_or_insert((violation.clone(), starts));
                } else {
                    let mut state = States::default();
                    trial.build(&mut state);
                    next.push(Initial { state, starts });
                }
            });
        }
        if let Some(violated) = violated {
            return Err(violated);
        }
        all = next;
    }
    Ok(all)
}

/// A search under way.
struct Search<'a> {
    bounds: &'a Bounds,
    model: Model<'a>,
    /// One for every thread.
    steppers: Vec<Stepper<'a>>,
    table: Table,
    counts: Counts,
    clock: Clock<'a>,
}

/// How a search ends.
enum End {
    Exhausted,
    Bounded(Bound),
    Found(Found),
}

impl Search<'_> {
    /// Explores level after level; returns how far the farthest state is, and why no more follow.
    fn run(&mut self, initial: &[Initial]) -> (u32, End) {
        let mut found = self.insert_initial(initial);
        let mut depth = 0;
        loop {
            self.table.end_level(self.steppers.len());
            let context = Context {
                model: self.model,
                table: &self.table,
                counts: &self.counts,
                bounds: self.bounds,
            };
            let level = Level::new(context, depth, found);
            let findings = level.explore(&mut self.steppers, &mut self.clock);
            let farthest = depth + u32::from(!findings.next.is_empty());
            if let Some(found) = findings.found {
                return (farthest, End::Found(found));
            }
            if let Some(bound) = findings.bound {
                return (farthest, End::Bounded(bound));
            }
            if findings.next.is_empty() {
                return (farthest, End::Exhausted);
            }
            if self.bounds.states.is_some_and(|bound| self.counts.states() > bound) {
                return (farthest, End::Bounded(Bound::States));
            }
            found = findings.next;
            depth = farthest;
        }
    }

    fn insert_initial(&self, initial: &[Initial]) -> Chunks {
        let mut first = Chunks::default();
        let mut states = 0;
        for Initial { state, .. } in initial {
            let print = state.at(0).print;
            if self.table.insert(print, print) {
                states += 1;
                first.add(state.clone());
            }
        }
        self.counts.add(states, 0, first.bytes());
        first
    }
}
