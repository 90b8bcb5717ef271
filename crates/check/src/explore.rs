//! The search: breadth first, level by level, on any number of threads.
//!
//! All states of a level are as many steps from the start. Threads take them in chunks; the states
//! that they find make the next level. Since a level is finished before the next begins, the first
//! violation found is a shortest one, and what is counted does not depend on the threads.

use std::num::NonZeroUsize;

use vorrang_protocol::{Monitor, NodeId, Protocol, Violation};

use crate::level::{Chunks, Clock, Context, Counts, Found, Level, Tally};
use crate::parts::Parts;
use crate::report::{Bound, Bounds, Outcome, Progress, Report};
use crate::retrace::{Initial, describe_start, retrace};
use crate::run::Run;
use crate::state::State;
use crate::step::{Action, Stepper};
use crate::system::System;
use crate::table::Table;

/// Explores every run of a system, up to the bounds.
///
/// `progress` is called on the calling thread, about ten times a second.
///
/// # Panics
///
/// If the system has no nodes or its plan does not fit them, or if a node is found out not to be
/// deterministic or sends to a node that is not there.
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
    assert!(!system.nodes.is_empty(), "a system has at least one node");
    system.plan.assert_fits(system.nodes.len());
    let parts = Parts::new();
    let initial = match start(system, &parts) {
        Ok(initial) => initial,
        Err((violation, run)) => {
            return Report {
                outcome: Outcome::Violated { violation, run },
                states: 0,
                steps: 0,
                depth: 0,
            };
        }
    };
    let mut search = Search {
        bounds,
        parts: &parts,
        steppers: (0..threads.get()).map(|_| Stepper::new(system, &parts)).collect(),
        table: Table::new(),
        counts: Counts::default(),
        clock: Clock::new(&mut progress),
    };
    let (depth, end) = search.run(&initial);
    let outcome = match end {
        End::Exhausted => Outcome::Verified,
        End::Bounded(by) => Outcome::Bounded { by },
        End::Found(found) => Outcome::Violated {
            violation: found.violation,
            run: retrace(system, initial, &parts, &search.table, found.state, found.ending),
        },
    };
    Report { outcome, states: search.counts.states(), steps: search.counts.steps(), depth }
}

/// Starts all nodes, in the order of their numbers and with every answer to their choices.
fn start<P, M>(
    system: &System<P, M>,
    parts: &Parts<P, M>,
) -> Result<Vec<Initial<P>>, (Violation, Run<P>)>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let mut stepper = Stepper::new(system, parts);
    let mut all = vec![Initial { state: State::before_start(system, parts), starts: Vec::new() }];
    for at in (0..system.nodes.len() as u32).map(NodeId) {
        let mut violated = None;
        let mut next = Vec::new();
        for Initial { state, starts } in &all {
            stepper.try_one(state, Action::Start(at), &mut |trial| {
                let mut starts = starts.clone();
                starts.push(describe_start(parts, state, &trial));
                if let Some(violation) = trial.handled.violation.clone() {
                    let moves = Vec::new();
                    violated.get_or_insert((violation, Run { starts, moves }));
                } else {
                    let state = trial.build(None);
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

/// The whole search.
struct Search<'a, P: Protocol, M: Monitor> {
    bounds: &'a Bounds,
    parts: &'a Parts<P, M>,
    /// One for every thread.
    steppers: Vec<Stepper<'a, P, M>>,
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

impl<P, M> Search<'_, P, M>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    /// Explores level after level; returns how far the farthest state is, and why no more follow.
    fn run(&mut self, initial: &[Initial<P>]) -> (u32, End) {
        let mut found = self.insert_initial(initial);
        let mut depth = 0;
        loop {
            self.table.end_level(self.steppers.len());
            let context = Context {
                parts: self.parts,
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

    fn insert_initial(&self, initial: &[Initial<P>]) -> Chunks<P::Timer> {
        let mut first = Chunks::default();
        let mut tally = Tally::default();
        for Initial { state, .. } in initial {
            if self.table.insert(state.print, state.print) {
                tally.note(state);
                first.push(state.clone());
            }
        }
        self.counts.add(&tally);
        first
    }
}
