//! One level of the search: all states that are as many steps from the start.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vorrang_protocol::Violation;

use crate::handler::Shared;
use crate::model::{Cut, Model};
use crate::obligations::may_close_a_loop;
use crate::report::{Bound, Bounds, Progress};
use crate::retrace::{Ending, Leg};
use crate::state::{State, States};
use crate::state_hash::StateHash;
use crate::step::{Stepper, judge};
use crate::table::{Batch, News, Table};
use crate::trial::{Parked, Trial};

/// A level that is being explored.
pub(crate) struct Level<'a, T> {
    context: Context<'a, T>,
    depth: u32,
    /// How many states it had at first.
    size: u64,
    /// Whether its states are as far as runs are followed.
    is_last: bool,
    /// Whether there are invariants to judge them by.
    is_guarded: bool,
    /// Whether it is not explored to the end.
    is_stopped: AtomicBool,
    /// The rest of the level.
    chunks: Mutex<Vec<States<T>>>,
}

/// The context of all levels.
pub(crate) struct Context<'a, T> {
    pub(crate) model: Model<'a>,
    pub(crate) table: &'a Table<T>,
    pub(crate) counts: &'a Counts,
    pub(crate) bounds: &'a Bounds,
    pub(crate) shared: &'a Shared,
}

impl<T: StateHash> Context<'_, T> {
    /// The memory limit of the table of known states.
    pub(crate) fn room_of_table(&self) -> u64 {
        let bound = self.bounds.memory_bytes.unwrap_or(u64::MAX);
        bound.saturating_sub(self.bytes_besides_table())
    }

    fn bytes_besides_table(&self) -> u64 {
        let Self { model, counts, shared, .. } = self;
        let parts = model.machine.bytes() + model.pace.slips.bytes() + shared.bytes();
        parts + counts.frontier_bytes.load(Ordering::Relaxed) + counts.memo_bytes()
    }

    fn memory_bytes(&self) -> u64 {
        self.model.machine.gauge().read(self.table.bytes() + self.bytes_besides_table())
    }

    fn is_out_of_memory(&self) -> bool {
        let bytes = self.memory_bytes();
        self.bounds.memory_bytes.is_some_and(|bound| bytes > bound)
    }
}

/// The findings of one thread, or of all, in a level.
pub(crate) struct Findings<T> {
    /// The states of the next level.
    pub(crate) next: Chunks<T>,
    /// The first violation, in an order that does not depend on the threads.
    pub(crate) found: Option<Found<T>>,
    /// Why the level was not explored to the end, if it was not.
    pub(crate) bound: Option<Bound>,
    /// A chunk already explored, for its memory.
    spare: Option<States<T>>,
    desk: PendingSteps<T>,
}

/// A violation and where it happened.
pub(crate) struct Found<T> {
    pub(crate) violation: Violation,
    pub(crate) state: T,
    pub(crate) ending: Ending,
    /// The step of the ending, as it was taken: a node that is not deterministic may not take it
    /// again.
    pub(crate) last: Option<Leg>,
}

impl<'a, T: StateHash> Level<'a, T> {
    pub(crate) fn new(context: Context<'a, T>, depth: u32, states: Chunks<T>) -> Self {
        Self {
            depth,
            size: states.size(),
            // Steps are counted in 32 bits.
            is_last: context.bounds.depth.unwrap_or(u32::MAX) <= depth,
            is_guarded: context.model.machine.is_guarded(),
            is_stopped: AtomicBool::new(false),
            chunks: Mutex::new(states.chunks),
            context,
        }
    }

    /// Explores the level, with a thread for every stepper; the calling one is the first.
    pub(crate) fn explore(
        &self,
        steppers: &mut [Stepper<'_, T>],
        clock: &mut Clock<'_>,
    ) -> Findings<T> {
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

    fn work(&self, stepper: &mut Stepper<'_, T>, mut clock: Option<&mut Clock<'_>>) -> Findings<T> {
        let Context { counts, model, .. } = self.context;
        let mut findings = Findings::default();
        while let Some(mut chunk) = self.take_chunk() {
            let (bytes, remembered) = (chunk.bytes(), stepper.bytes());
            stepper.make_room();
            let mut next = 0;
            while next < chunk.len() && !self.is_stopped() {
                let steps;
                (next, steps) = self.try_chunk(&chunk, next, stepper, &mut findings);
                let (new, new_bytes) = self.keep_new(&chunk, stepper, &mut findings);
                counts.add(new, steps, new_bytes);
                if let Some(bound) = model.machine.cut() {
                    self.stop(&mut findings, bound);
                }
            }
            chunk.clear();
            findings.spare = Some(chunk);
            counts.frontier_bytes.fetch_sub(bytes, Ordering::Relaxed);
            counts.remember(remembered, stepper.bytes());
            model.machine.gauge().look();
            if self.context.is_out_of_memory() {
                self.stop(&mut findings, Bound::Memory);
            }
            if let Some(bound) = clock.as_mut().and_then(|it| it.tick(|| self.progress())) {
                self.stop(&mut findings, bound);
            }
        }
        findings
    }

    /// Ends the level for all threads.
    fn stop(&self, findings: &mut Findings<T>, bound: Bound) {
        self.is_stopped.store(true, Ordering::Relaxed);
        findings.bound = findings.bound.max(Some(bound));
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn take_chunk(&self) -> Option<States<T>> {
        if self.is_stopped() {
            return None;
        }
        let mut chunks = self.chunks.lock().expect("no thread panics while it takes a chunk");
        chunks.pop()
    }

    /// Tries all steps of all states from this one on, or of as many as the desk has room for, and
    /// puts them there; returns the first state left, and how many steps.
    fn try_chunk(
        &self,
        chunk: &States<T>,
        from: usize,
        stepper: &mut Stepper<'_, T>,
        findings: &mut Findings<T>,
    ) -> (usize, u64) {
        findings.desk.clear();
        let mut steps = 0;
        for (index, state) in chunk.iter().enumerate().skip(from) {
            if findings.desk.is_full() || self.context.model.machine.cut().is_some() {
                return (index, steps);
            }
            if self.is_guarded {
                self.judge(&state, findings);
            }
            if stepper.is_at_rest(&state) {
                self.judge_rest(&state, findings);
                if !stepper.can_go_on(&state) && !Stepper::can_go_wrong(&state) {
                    continue;
                }
            }
            if self.is_last {
                findings.bound = findings.bound.max(Some(Bound::Depth));
                continue;
            }
            let first = steps;
            let tried = stepper.try_all(&state, |trial| {
                match trial.handled.violation() {
                    None => findings.desk.put(index as u32, state.print, trial),
                    Some(violation) => findings.report(Found {
                        violation: violation.clone(),
                        state: state.print,
                        ending: Ending::Step(steps - first),
                        last: Some(Leg::of(self.context.model, &state, &trial)),
                    }),
                }
                steps += 1;
            });
            if let Err(Cut(bound)) = tried {
                self.stop(findings, bound);
                return (index, steps);
            }
        }
        (chunk.len(), steps)
    }

    /// Builds the new states of all pending steps; returns how many, and their memory.
    fn keep_new(
        &self,
        chunk: &States<T>,
        stepper: &Stepper<'_, T>,
        findings: &mut Findings<T>,
    ) -> (u64, u64) {
        let Findings { next, desk, spare, .. } = findings;
        let PendingSteps { batch, parked } = desk;
        let room = self.context.room_of_table();
        let mut is_cut = !self.context.table.insert_all(batch, room);
        let room = room.saturating_sub(self.context.table.bytes());
        let (mut count, mut bytes) = (0, 0);
        for ((index, parked), news) in parked.drain(..).zip(batch.news()) {
            match news {
                News::New if bytes <= room => {
                    let state = chunk.at(index as usize);
                    bytes += next.build(stepper.take_up(&state, parked), spare);
                    count += 1;
                }
                News::New | News::Fresh => {}
                News::Old => {
                    let state = chunk.at(index as usize);
                    self.note_return(&state, &stepper.take_up(&state, parked));
                }
            }
            is_cut |= bytes > room;
        }
        if is_cut {
            self.stop(findings, Bound::Memory);
        }
        (count, bytes)
    }

    /// Notes that a step may close a loop in which something is owed throughout.
    fn note_return(&self, state: &State<'_, T>, trial: &Trial<'_, T>) {
        let Context { model, counts, .. } = self.context;
        if !counts.returns.load(Ordering::Relaxed) && may_close_a_loop(model, state, trial) {
            counts.returns.store(true, Ordering::Relaxed);
        }
    }

    /// Asks whether the invariants hold.
    fn judge(&self, state: &State<'_, T>, findings: &mut Findings<T>) {
        if let Err(violation) = judge(self.context.model, state) {
            let (state, ending) = (state.print, Ending::Here);
            findings.report(Found { violation, state, ending, last: None });
        }
    }

    /// Asks whether a state in which nothing is bound to happen may be left like that.
    fn judge_rest(&self, state: &State<'_, T>, findings: &mut Findings<T>) {
        if let Err(violation) = self.context.model.machine.at_rest(state.monitor) {
            let (state, ending) = (state.print, Ending::Here);
            findings.report(Found { violation, state, ending, last: None });
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            states: self.context.counts.states(),
            steps: self.context.counts.steps(),
            depth: self.depth,
            frontier: self.size,
            memory_bytes: self.context.memory_bytes(),
        }
    }
}

impl<T: StateHash> Default for Findings<T> {
    fn default() -> Self {
        let desk = PendingSteps::default();
        Self { next: Chunks::default(), found: None, bound: None, spare: None, desk }
    }
}

impl<T: StateHash> Findings<T> {
    /// Keeps the one with the shorter run or else from the smaller fingerprint.
    fn report(&mut self, new: Found<T>) {
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

impl<T: StateHash> Found<T> {
    fn rank(&self) -> (bool, T, u64) {
        match self.ending {
            Ending::Here => (false, self.state, 0),
            Ending::Step(step) => (true, self.state, step),
        }
    }
}

/// Steps that were tried, and of which it is not yet known whether they lead to anything new.
#[derive(Default)]
struct PendingSteps<T> {
    batch: Batch<T>,
    /// Each with the state of the chunk that it was tried in.
    parked: Vec<(u32, Parked<T>)>,
}

/// Many more steps than most chunks have, and little memory.
const MOST_PARKED: usize = 1 << 16;

impl<T: StateHash> PendingSteps<T> {
    fn is_full(&self) -> bool {
        self.parked.len() >= MOST_PARKED
    }

    fn clear(&mut self) {
        self.batch.clear();
        self.parked.clear();
    }

    #[inline]
    fn put(&mut self, index: u32, parent: T, trial: Trial<'_, T>) {
        self.batch.push(trial.print, parent);
        self.parked.push((index, trial.park()));
    }
}

/// States of a level, in portions that one thread explores at a go.
#[derive(Default)]
pub(crate) struct Chunks<T> {
    chunks: Vec<States<T>>,
}

/// Small enough that all threads finish a level at about the same time, large enough that several
/// of the successors of a chunk belong to every shard of the table.
const CHUNK: usize = 512;

impl<T: StateHash> Chunks<T> {
    pub(crate) fn add(&mut self, states: States<T>) {
        self.chunks.push(states);
    }

    /// Adds the state that a step leads to; returns the memory that it takes.
    fn build(&mut self, trial: Trial<'_, T>, spare: &mut Option<States<T>>) -> u64 {
        let is_full = self.chunks.last().is_none_or(|chunk| chunk.len() >= CHUNK);
        if is_full {
            self.chunks.push(spare.take().unwrap_or_default());
        }
        let chunk = self.chunks.last_mut().expect("there is one now");
        // The room of a chunk used again is counted as if it were new.
        let bytes = if is_full { 0 } else { chunk.bytes() };
        trial.build(chunk);
        chunk.bytes() - bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(States::bytes).sum()
    }

    fn size(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }
}

/// Totals of the search, which threads add to when they have done a chunk.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    states: AtomicU64,
    steps: AtomicU64,
    /// The memory that the states waiting to be explored take.
    frontier_bytes: AtomicU64,
    /// The memory in which all threads remember what handlers did.
    memo_bytes: AtomicU64,
    /// Whether there may be loops in which something is owed throughout.
    returns: AtomicBool,
}

impl Counts {
    pub(crate) fn add(&self, states: u64, steps: u64, bytes: u64) {
        self.states.fetch_add(states, Ordering::Relaxed);
        self.steps.fetch_add(steps, Ordering::Relaxed);
        self.frontier_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The cache of a thread takes so much memory now, instead of that.
    fn remember(&self, before: u64, after: u64) {
        self.memo_bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    fn memo_bytes(&self) -> u64 {
        self.memo_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    pub(crate) fn may_go_round(&self) -> bool {
        self.returns.load(Ordering::Relaxed)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

/// The progress callback, which says whether to go on.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Tells of the progress when it is time to, and says when the search is to end.
pub(crate) struct Clock<'a> {
    start: Instant,
    last: Instant,
    /// How long the search may take.
    time: Option<Duration>,
    tell: Tell<'a>,
}

const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

impl<'a> Clock<'a> {
    pub(crate) fn new(tell: Tell<'a>, time: Option<Duration>) -> Self {
        let start = Instant::now();
        Self { start, last: start, time, tell }
    }

    pub(crate) fn tick(&mut self, progress: impl FnOnce() -> Progress) -> Option<Bound> {
        let now = Instant::now();
        if now - self.last >= BETWEEN_REPORTS {
            self.last = now;
            if (self.tell)(progress()).is_break() {
                return Some(Bound::Interruption);
            }
        }
        let is_over = self.time.is_some_and(|time| now - self.start >= time);
        is_over.then_some(Bound::Time)
    }
}
