//! One level of the search: all states that are as many steps from the start.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vorrang_protocol::Violation;

use crate::fingerprint::Print;
use crate::machine::Machine;
use crate::report::{Bound, Bounds, Progress};
use crate::retrace::Ending;
use crate::state::State;
use crate::step::Stepper;
use crate::table::Table;

/// A level that is being explored.
pub(crate) struct Level<'a> {
    context: Context<'a>,
    depth: u32,
    /// How many states it had at first.
    size: u64,
    /// Whether its states are as far as runs are followed.
    is_last: bool,
    is_out_of_memory: AtomicBool,
    /// What is left of it.
    chunks: Mutex<Vec<Chunk>>,
}

/// What all levels share.
pub(crate) struct Context<'a> {
    pub(crate) machine: &'a dyn Machine,
    pub(crate) table: &'a Table,
    pub(crate) counts: &'a Counts,
    pub(crate) bounds: &'a Bounds,
}

/// What one thread, or all of them, have found in a level.
pub(crate) struct Findings {
    /// The states of the next level.
    pub(crate) next: Chunks,
    /// The first violation, in an order that does not depend on the threads.
    pub(crate) found: Option<Found>,
    /// Why the level was not explored to the end, if it was not.
    pub(crate) bound: Option<Bound>,
    /// States already explored, for their room.
    spare: Vec<State>,
}

/// A violation and where it happened.
pub(crate) struct Found {
    pub(crate) violation: Violation,
    pub(crate) state: Print,
    pub(crate) ending: Ending,
}

impl<'a> Level<'a> {
    pub(crate) fn new(context: Context<'a>, depth: u32, states: Chunks) -> Self {
        Self {
            depth,
            size: states.size(),
            is_last: context.bounds.depth.is_some_and(|bound| bound <= depth),
            is_out_of_memory: AtomicBool::new(false),
            chunks: Mutex::new(states.chunks),
            context,
        }
    }

    /// Explores the level, with a thread for every stepper; the calling one is the first.
    pub(crate) fn explore(&self, steppers: &mut [Stepper<'_>], clock: &mut Clock<'_>) -> Findings {
        let worth_starting = self.size.div_ceil(CHUNK as u64) as usize;
        let (own, helpers) = steppers.split_first_mut().expect("there is at least one thread");
        thread::scope(|scope| {
            let helpers = helpers.iter_mut().take(worth_starting.saturating_sub(1));
            let helpers: Vec<_> =
                helpers.map(|stepper| scope.spawn(|| self.work(stepper, None))).collect();
            let mut findings = self.work(own, Some(clock));
            for helper in helpers {
                match helper.join() {
                    Ok(theirs) => findings.merge(theirs),
                    Err(panic) => resume_unwind(panic),
                }
            }
            findings
        })
    }

    fn work(&self, stepper: &mut Stepper<'_>, mut clock: Option<&mut Clock<'_>>) -> Findings {
        let counts = self.context.counts;
        let mut findings = Findings::default();
        while let Some(chunk) = self.take_chunk() {
            let mut tally = Tally::default();
            for state in &chunk.states {
                if stepper.is_at_rest(state) {
                    self.judge_rest(state, &mut findings);
                    if state.faults.is_spent() {
                        continue;
                    }
                }
                if self.is_last {
                    findings.bound = Some(Bound::Depth);
                } else {
                    self.expand(state, stepper, &mut findings, &mut tally);
                }
            }
            findings.spare.extend(chunk.states);
            findings.spare.truncate(CHUNK);
            counts.add(&tally);
            counts.frontier_bytes.fetch_sub(chunk.bytes, Ordering::Relaxed);
            if self.context.bounds.memory_bytes.is_some_and(|bound| self.memory_bytes() > bound) {
                self.is_out_of_memory.store(true, Ordering::Relaxed);
                findings.bound = Some(Bound::Memory);
            }
            if let Some(clock) = &mut clock {
                clock.tick(|| self.progress());
            }
        }
        findings
    }

    fn take_chunk(&self) -> Option<Chunk> {
        if self.is_out_of_memory.load(Ordering::Relaxed) {
            return None;
        }
        let mut chunks = self.chunks.lock().expect("no thread panics while it takes a chunk");
        chunks.pop()
    }

    fn expand(
        &self,
        state: &State,
        stepper: &mut Stepper<'_>,
        findings: &mut Findings,
        tally: &mut Tally,
    ) {
        let mut step = 0;
        stepper.try_all(state, |trial| {
            if let Some(violation) = trial.handled.violation.clone() {
                findings.report(Found {
                    violation,
                    state: state.print,
                    ending: Ending::Step(step),
                });
            } else if self.context.table.insert(trial.print, state.print) {
                let next = trial.build(findings.spare.pop());
                tally.note(&next);
                findings.next.push(next);
            }
            step += 1;
        });
        tally.steps += step;
    }

    /// Asks whether a state in which nothing can happen may be left like that.
    fn judge_rest(&self, state: &State, findings: &mut Findings) {
        if let Err(violation) = self.context.machine.at_rest(state.monitor) {
            findings.report(Found { violation, state: state.print, ending: Ending::Here });
        }
    }

    fn memory_bytes(&self) -> u64 {
        let Context { machine, table, counts, .. } = self.context;
        table.bytes() + machine.bytes() + counts.frontier_bytes.load(Ordering::Relaxed)
    }

    fn progress(&self) -> Progress {
        Progress {
            states: self.context.counts.states(),
            steps: self.context.counts.steps(),
            depth: self.depth,
            frontier: self.size,
            memory_bytes: self.memory_bytes(),
        }
    }
}

impl Default for Findings {
    fn default() -> Self {
        Self { next: Chunks::default(), found: None, bound: None, spare: Vec::new() }
    }
}

impl Findings {
    /// Keeps the one with the shorter run or else from the smaller fingerprint.
    fn report(&mut self, new: Found) {
        if self.found.as_ref().is_none_or(|old| new.rank() < old.rank()) {
            self.found = Some(new);
        }
    }

    fn merge(&mut self, theirs: Self) {
        self.next.chunks.extend(theirs.next.chunks);
        self.bound = self.bound.max(theirs.bound);
        if let Some(found) = theirs.found {
            self.report(found);
        }
    }
}

impl Found {
    const fn rank(&self) -> (bool, u64, u64) {
        match self.ending {
            Ending::Here => (false, self.state.0, 0),
            Ending::Step(step) => (true, self.state.0, step),
        }
    }
}

/// States of a level, in portions that one thread explores at a go.
#[derive(Default)]
pub(crate) struct Chunks {
    chunks: Vec<Chunk>,
}

struct Chunk {
    states: Vec<State>,
    bytes: u64,
}

/// Small enough that all threads finish a level at about the same time.
const CHUNK: usize = 128;

impl Chunks {
    pub(crate) fn push(&mut self, state: State) {
        let bytes = state.bytes();
        match self.chunks.last_mut() {
            Some(chunk) if chunk.states.len() < CHUNK => {
                chunk.states.push(state);
                chunk.bytes += bytes;
            }
            Some(_) | None => self.chunks.push(Chunk { states: vec![state], bytes }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    fn size(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.states.len() as u64).sum()
    }
}

/// Totals of the search, which threads add to when they have done a chunk.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    states: AtomicU64,
    steps: AtomicU64,
    /// The memory that the states waiting to be explored take.
    frontier_bytes: AtomicU64,
}

/// What one thread has yet to add to the totals.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    states: u64,
    steps: u64,
    bytes: u64,
}

impl Counts {
    pub(crate) fn add(&self, tally: &Tally) {
        self.states.fetch_add(tally.states, Ordering::Relaxed);
        self.steps.fetch_add(tally.steps, Ordering::Relaxed);
        self.frontier_bytes.fetch_add(tally.bytes, Ordering::Relaxed);
    }

    pub(crate) fn states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

impl Tally {
    /// Counts a new state.
    pub(crate) fn note(&mut self, state: &State) {
        self.states += 1;
        self.bytes += state.bytes();
    }
}

/// Tells of the progress when it is time to.
pub(crate) struct Clock<'a> {
    last: Instant,
    tell: &'a mut dyn FnMut(Progress),
}

const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

impl<'a> Clock<'a> {
    pub(crate) fn new(tell: &'a mut dyn FnMut(Progress)) -> Self {
        let last = Instant::now();
        Self { last, tell }
    }

    fn tick(&mut self, progress: impl FnOnce() -> Progress) {
        if self.last.elapsed() >= BETWEEN_REPORTS {
            (self.tell)(progress());
            self.last = Instant::now();
        }
    }
}
