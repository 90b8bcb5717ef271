//! The search: breadth first, level by level, on any number of threads.
//!
//! All states of a level are as many steps from the start. Threads take them in chunks; the states
//! that they find make the next level. Since a level is finished before the next begins, the first
//! violation found is a shortest one, and counts do not depend on the number of threads.

use std::cell::Cell;
use std::num::NonZeroUsize;

use vorrang_protocol::{Monitor, NodeId, Prefix, Protocol, Violation};

use crate::determinism::{RecheckFailure, recheck_handlers};
use crate::ended::{Counted, Ended};
use crate::fingerprint::Print;
use crate::follow::{Astray, Beginning, Stray, follow};
use crate::handler::{Asked, Shared};
use crate::level::{Chunks, Clock, Context, Counts, Found, Level, Tell};
use crate::liveness::{self, Graph, Watch};
use crate::machine::Typed;
use crate::model::{Action, Model};
use crate::parts::Parts;
use crate::plan::{Agenda, Beats};
use crate::report::{Answer, Bound, Bounds, Fingerprint, Outcome, Progress, Report};
use crate::retrace::{Initial, Leg, Way, retrace};
use crate::run::Run;
use crate::state::{Down, First, States};
use crate::state_hash::{StateHash, Wide};
use crate::step::Stepper;
use crate::system::System;
use crate::table::Table;
use crate::timers::{Pace, longest_ns};
use crate::walk::{self, Walks};

/// Explores every run of a system, up to the bounds.
///
/// `progress` is called on the calling thread, about ten times a second. It may return nothing, or
/// [`ControlFlow::Break`](std::ops::ControlFlow::Break) to end the search.
///
/// # Panics
///
/// If the system has no nodes or its plan does not fit them, or if it has more than 64 nodes and
/// they may crash. A panic of a node or of the monitor is caught: see [`Outcome::Violated`].
pub fn explore<P, M, A: Answer>(
    system: &System<P, M>,
    bounds: &Bounds,
    threads: NonZeroUsize,
    mut progress: impl FnMut(Progress) -> A,
) -> Report<P>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let any = Prefix::default();
    let explored =
        explore_from(system, &any, bounds, How::Exhaust(threads), &mut |it| progress(it).flow());
    explored.unwrap_or_else(|stray| unreachable!("{stray}")).0
}

/// Explores every run that begins so.
///
/// The plan and the faults of the system must allow its steps: what they ask for and what goes
/// wrong in them counts. The run of a violation is what comes after them; distances are counted
/// from there. A step may be a timer that runs out sooner than any clock allows; the place of the
/// first such step is returned with the report.
///
/// # Errors
///
/// If no run of the system begins so.
///
/// # Panics
///
/// As [`explore()`].
pub fn explore_after<P, M, A: Answer>(
    system: &System<P, M>,
    before: &Prefix<P>,
    bounds: &Bounds,
    threads: NonZeroUsize,
    mut progress: impl FnMut(Progress) -> A,
) -> Result<(Report<P>, Option<usize>), Stray>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    explore_from(system, before, bounds, How::Exhaust(threads), &mut |it| progress(it).flow())
}

/// Takes random walks through a system that is too large to be explored, and judges all that it
/// comes by: every state on the way, every step from there, and every end.
///
/// The outcome is never [`Outcome::Verified`]: a walk that finds nothing proves nothing, and the
/// search ends as bounded by [`Bound::Walks`] if not by another of the bounds. The run of a
/// violation has no detours among the states seen, but need not be a shortest one. Counted are
/// the distinct states seen and the steps tried; [`Progress::frontier`] is the number of walks
/// left. Walks are taken on the calling thread.
///
/// # Panics
///
/// As [`explore()`].
pub fn walk<P, M, A: Answer>(
    system: &System<P, M>,
    walks: &Walks,
    bounds: &Bounds,
    mut progress: impl FnMut(Progress) -> A,
) -> Report<P>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let any = Prefix::default();
    let how = How::Walks(walks);
    let explored = explore_from(system, &any, bounds, how, &mut |it| progress(it).flow());
    explored.unwrap_or_else(|stray| unreachable!("{stray}")).0
}

/// How a system is searched.
#[derive(Clone, Copy)]
pub(crate) enum How<'a> {
    /// Everything, on so many threads.
    Exhaust(NonZeroUsize),
    Walks(&'a Walks),
}

fn explore_from<P, M>(
    system: &System<P, M>,
    before: &Prefix<P>,
    bounds: &Bounds,
    how: How<'_>,
    progress: Tell<'_>,
) -> Result<(Report<P>, Option<usize>), Stray>
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
    let machine = Typed::new(system, bounds);
    let (nodes, monitor) = machine.first();
    let beats = system.demands.beat.as_ref().map(|beat| Beats {
        print: machine.keep_command(beat),
        restarts: system.faults.within_reach(0).restarts,
    });
    let agenda = system.plan.agenda(|command| machine.keep_command(command));
    let agenda = Agenda { beats, ..agenda };
    let order = system.links.order;
    let first = First { nodes, monitor, faults: system.faults };
    let slips = Parts::default();
    let within_ns = system.links.within.map(longest_ns);
    let pace = Pace { within_ns, order, slips: &slips };
    let liveness = system.demands.liveness;
    let shifts = system.shifts();
    let model = Model { machine: &machine, agenda: &agenda, pace, liveness, shifts };
    let is_at = |place: usize, leg: &Leg| machine.step(leg) == before.steps[place];
    let addressee = |place: usize| {
        let what = &before.steps[place].what;
        what.is_of_message().then(|| what.at())
    };
    let before = Beginning {
        starts: before.starts.as_deref(),
        count: before.steps.len(),
        is_at: &is_at,
        addressee: &addressee,
        early: Cell::new(None),
    };
    let fingerprint = bounds.fingerprint;
    let searched = match fingerprint {
        Fingerprint::Bits64 => search::<Print>(model, first, &before, bounds, how, progress),
        Fingerprint::Bits128 => search::<Wide<Print>>(model, first, &before, bounds, how, progress),
    };
    let (ending, counted) = searched?;
    let Counted { states, steps, depth, memory_bytes, has_unjudged_loops } = counted;
    let outcome = match ending {
        Ended::Verified => Outcome::Verified,
        Ended::Bounded(by) => Outcome::Bounded { by },
        Ended::Violated(violation, way) => Outcome::Violated {
            violation,
            run: Run {
                starts: way.starts.iter().map(|leg| machine.describe_start(leg)).collect(),
                moves: way.legs.iter().map(|leg| machine.describe(leg)).collect(),
                repeats_from: way.repeats_from,
            },
        },
    };
    let report =
        Report { outcome, states, steps, depth, memory_bytes, fingerprint, has_unjudged_loops };
    Ok((report, before.early.get()))
}

/// The whole search, which knows no type of what it searches.
pub(crate) fn search<T: StateHash>(
    model: Model<'_>,
    first: First,
    before: &Beginning<'_>,
    bounds: &Bounds,
    how: How<'_>,
    progress: Tell<'_>,
) -> Result<(Ended, Counted), Stray> {
    let started = start::<T>(model, first, before);
    let initial = match started.and_then(|initial| follow(model, initial, before)) {
        Ok(initial) => initial,
        Err(Astray::Stray(stray)) => return Err(stray),
        Err(Astray::Bounded(by)) => return Ok((Ended::Bounded(by), Counted::NONE)),
        Err(Astray::Violated(violation, starts)) => {
            let way = Way { starts, legs: Vec::new(), repeats_from: None };
            return Ok((Ended::Violated(violation, way), Counted::NONE));
        }
    };
    let mut clock = Clock::new(progress, bounds.time);
    let threads = match how {
        How::Exhaust(threads) => threads,
        How::Walks(walks) => return Ok(walk::walk(model, initial, walks, bounds, &mut clock)),
    };
    let shared = Shared::default();
    let stepper = || match threads.get() {
        1 => Stepper::new(model),
        _ => Stepper::sharing(model, &shared),
    };
    let mut search = Search {
        bounds,
        model,
        steppers: (0..threads.get()).map(|_| stepper()).collect(),
        shared: &shared,
        table: Table::new(),
        counts: Counts::default(),
        clock,
    };
    let (depth, end) = search.run(&initial);
    let ended = match end {
        End::Exhausted => match search.recheck_handlers(depth) {
            None => search.go_round(initial, None).unwrap_or(Ended::Verified),
            Some(RecheckFailure::Bounded(by)) => Ended::Bounded(by),
            Some(RecheckFailure::Changed(thread, asked, violation)) => {
                Ended::Violated(violation, search.way_to_change(thread, &asked, initial))
            }
        },
        End::Bounded(by @ (Bound::Depth | Bound::States)) => {
            search.go_round(initial, Some(depth)).unwrap_or(Ended::Bounded(by))
        }
        End::Bounded(
            by @ (Bound::Memory
            | Bound::Time
            | Bound::Interruption
            | Bound::Walks
            | Bound::Clocks
            | Bound::Counters),
        ) => Ended::Bounded(by),
        End::Found(Found { violation, state, last, .. }) => {
            model.machine.lift_bounds();
            search.violated(violation, initial, (state, last))
        }
    };
    let (states, steps) = (search.counts.states(), search.counts.steps());
    let memory_bytes = model.machine.gauge().peak();
    let has_unjudged_loops = search.has_unjudged_loops(&ended);
    Ok((ended, Counted { states, steps, depth, memory_bytes, has_unjudged_loops }))
}

/// A violation whose run cannot be found again.
fn unrepeatable(violation: &Violation) -> Violation {
    let what = format!(
        "a node or the monitor is not deterministic: the run to this cannot be followed again \
         beyond the steps shown: {violation}"
    );
    Violation { property: "determinism", what }
}

/// Starts all nodes, in the order of their numbers and with every answer to their choices that the
/// beginning of the run leaves open.
fn start<T: StateHash>(
    model: Model<'_>,
    first: First,
    before: &Beginning<'_>,
) -> Result<Vec<Initial<T>>, Astray> {
    let first = States::<T>::before_start(first, model.agenda, model.pace.order);
    let mut stepper = Stepper::new(model);
    let size = first.at(0).nodes.len() as u32;
    let mut all = vec![Initial { state: first, starts: Vec::new() }];
    for at in (0..size).map(NodeId) {
        let mut violated = None;
        let mut next = Vec::new();
        for Initial { state, starts } in &all {
            let state = state.at(0);
            let tried = stepper.try_one(&state, Action::Start(at), &mut |trial| {
                if !before.starts_so(at, trial.handled.choices()) {
                    return;
                }
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
            if let (Err(cut), None) = (tried, &violated) {
                return Err(cut.into());
            }
        }
        if let Some((violation, starts)) = violated {
            return Err(Astray::Violated(violation, starts));
        }
        // Without memory or time not every start is tried, and that is no stray.
        if next.is_empty() && before.starts.is_some() {
            return Err(Astray::Stray(Stray::Start { at }));
        }
        all = next;
    }
    Ok(all)
}

/// A search under way.
struct Search<'a, T> {
    bounds: &'a Bounds,
    model: Model<'a>,
    /// One for every thread.
    steppers: Vec<Stepper<'a, T>>,
    table: Table<T>,
    counts: Counts,
    clock: Clock<'a>,
    shared: &'a Shared,
}

/// How a search ends.
enum End<T> {
    Exhausted,
    Bounded(Bound),
    Found(Found<T>),
}

impl<T: StateHash> Search<'_, T> {
    /// Explores level after level; returns how far the farthest state is, and why no more follow.
    fn run(&mut self, initial: &[Initial<T>]) -> (u32, End<T>) {
        let mut found = self.insert_initial(initial);
        let mut depth = 0;
        loop {
            let context = Context {
                model: self.model,
                table: &self.table,
                counts: &self.counts,
                bounds: self.bounds,
                shared: self.shared,
            };
            if !self.table.end_level(self.steppers.len(), context.room_of_table()) {
                return (depth, End::Bounded(Bound::Memory));
            }
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

    /// Whether handlers would still do what they did.
    fn recheck_handlers(&mut self, depth: u32) -> Option<RecheckFailure<T>> {
        let progress = self.progress(depth);
        recheck_handlers(self.model, &self.steppers, &mut self.clock, || progress)
    }

    /// The run to a violation, which the last step leads to if it is not the state itself.
    fn violated(
        &mut self,
        violation: Violation,
        initial: Vec<Initial<T>>,
        (state, last): (T, Option<Leg>),
    ) -> Ended {
        let (stepper, table) = (&mut self.steppers[0], &self.table);
        match retrace(self.model, stepper, initial, &|it| table.parent(it), state, last) {
            Ok(way) => Ended::Violated(violation, way),
            Err(way) => Ended::Violated(unrepeatable(&violation), way),
        }
    }

    /// The run to what a handler did in another way on this thread.
    fn way_to_change(&mut self, thread: usize, asked: &Asked<T>, initial: Vec<Initial<T>>) -> Way {
        self.model.machine.lift_bounds();
        let (last, table) = (Some(Leg::of_asked(asked)), &self.table);
        let stepper = &mut self.steppers[thread];
        let parent = |it| table.parent(it);
        let way = retrace(self.model, stepper, initial, &parent, asked.state, last);
        way.unwrap_or_else(|way| way)
    }

    /// Judges what goes on for ever, if anything may.
    ///
    /// States that are `unexplored` steps from the start were not explored.
    fn go_round(&mut self, initial: Vec<Initial<T>>, unexplored: Option<u32>) -> Option<Ended> {
        if !self.counts.may_go_round() {
            return None;
        }
        let mut progress = self.progress(0);
        let (model, table) = (self.model, &self.table);
        progress.memory_bytes = table.bytes() + model.machine.bytes() + model.pace.slips.bytes();
        let (gauge, most_bytes) = (model.machine.gauge(), self.bounds.memory_bytes);
        let mut watch = Watch::new(&mut self.clock, gauge, most_bytes, progress);
        let judged = Graph::build(model, &initial, unexplored, &mut watch).and_then(|graph| {
            let graph = (&graph, unexplored.is_none());
            liveness::judge(model, initial, table, graph, &mut watch)
        });
        match judged {
            Ok(found) => found.map(|(violation, way)| Ended::Violated(violation, way)),
            Err(by) => Some(Ended::Bounded(by)),
        }
    }

    /// Whether loops were seen, and the search ended before it had judged them: loops are searched
    /// last, and only among levels that are complete.
    fn has_unjudged_loops(&self, ended: &Ended) -> bool {
        let is_before = match ended {
            Ended::Verified | Ended::Violated(..) => false,
            Ended::Bounded(by) => match by {
                Bound::Memory | Bound::Time | Bound::Interruption => true,
                // Walks count for themselves; the others are what the search for loops came to.
                Bound::Depth | Bound::States | Bound::Walks | Bound::Clocks | Bound::Counters => {
                    false
                }
            },
        };
        is_before && self.counts.may_go_round()
    }

    fn progress(&self, depth: u32) -> Progress {
        let (states, steps) = (self.counts.states(), self.counts.steps());
        let memory_bytes = self.model.machine.gauge().peak();
        Progress { states, steps, depth, frontier: 0, memory_bytes }
    }

    fn insert_initial(&self, initial: &[Initial<T>]) -> Chunks<T> {
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
