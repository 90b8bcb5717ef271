//! The limits of an exploration, and its report.

use std::ops::ControlFlow;
use std::time::Duration;

use vorrang_protocol::{Protocol, Violation};

use crate::run::Run;

/// How far to explore. Without bounds, to the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Bounds {
    /// No run is followed further than this many steps.
    pub depth: Option<u32>,
    /// No level of the search is begun once more states than this are known. The level that
    /// crosses the bound is still finished, so that the report does not depend on the threads.
    pub states: Option<u64>,
    /// The search stops, even within a level, before it takes more than this. Counted are the table
    /// of the states known (16 or 32 bytes a slot, free slots included, and old and new room at
    /// once while it grows), the states waiting to be explored, the different nodes, messages and
    /// monitors that states are made of, and what each thread remembers of what handlers did. What
    /// nodes, messages and monitors keep on the heap cannot be counted. So on Linux the search also
    /// stops when the whole process has gained more than this since the search began, which is
    /// looked at every so often.
    pub memory_bytes: Option<u64>,
    /// The search stops, even within a level, once it has taken longer than this. The clock is
    /// looked at every few hundred states.
    pub time: Option<Duration>,
    /// The fingerprint of a state in the table of known states.
    pub fingerprint: Fingerprint,
}

/// The length of a state's fingerprint. Two states with the same one are taken for one, which hides
/// all that follows the second: see [`Report::odds`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Fingerprint {
    /// 64, and 16 bytes a slot of the table: some three in a million that any two of ten million
    /// states are taken for one.
    #[default]
    Bits64,
    /// 128, and 32 bytes a slot: as good as never. Takes longer.
    Bits128,
}

impl Fingerprint {
    /// How many bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits64 => 64,
            Self::Bits128 => 128,
        }
    }
}

impl Bounds {
    /// None: everything is explored.
    pub const NONE: Self = Self {
        depth: None,
        states: None,
        memory_bytes: None,
        time: None,
        fingerprint: Fingerprint::Bits64,
    };

    /// The same, with runs of at most so many steps.
    #[must_use]
    pub fn depth(self, steps: impl Into<Option<u32>>) -> Self {
        Self { depth: steps.into(), ..self }
    }

    /// The same, with about so many states.
    #[must_use]
    pub fn states(self, states: impl Into<Option<u64>>) -> Self {
        Self { states: states.into(), ..self }
    }

    /// The same, in so much memory.
    #[must_use]
    pub fn memory_bytes(self, bytes: impl Into<Option<u64>>) -> Self {
        Self { memory_bytes: bytes.into(), ..self }
    }

    /// The same, in so much time.
    #[must_use]
    pub fn time(self, time: impl Into<Option<Duration>>) -> Self {
        Self { time: time.into(), ..self }
    }

    /// The same, with so many bits for a state.
    #[must_use]
    pub const fn fingerprint(self, fingerprint: Fingerprint) -> Self {
        Self { fingerprint, ..self }
    }
}

/// The bound that ended the search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bound {
    /// [`Bounds::depth`].
    Depth,
    /// [`Bounds::states`].
    States,
    /// [`Bounds::memory_bytes`].
    Memory,
    /// [`Bounds::time`].
    Time,
    /// The progress callback stopped it.
    Interruption,
    /// Only so many random walks were taken: see [`walk`](crate::walk()).
    Walks,
    /// No bound of the search, but of what it can tell: every state was reached, nothing was
    /// violated, and something can still come only if timers of a node run out in one of several
    /// orders. States have no clocks, so it is unknown whether a clock allows that one.
    Clocks,
    /// The same: where nodes ask for ever, a loop was found up to a shift of counters that no run
    /// goes round in the numbers that it has.
    Counters,
}

/// The verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<P: Protocol> {
    /// Every state that can be reached was, and nothing was violated.
    Verified,
    /// A shortest run to a violation. The same one for every number of threads, unless memory,
    /// time or an interruption cut its level short.
    ///
    /// Besides what the monitor objects to, these are violations: a command that a node refuses
    /// (property `refused`), a message to a node that is not there (`stray message`), a panic of a
    /// node or of the monitor (`panic`), and one that does not do the same when told the same once
    /// more, or is not equal to a copy of itself (`determinism`).
    Violated {
        /// What happened.
        violation: Violation,
        /// How it came about.
        run: Run<P>,
    },
    /// Nothing was violated as far as the search went, and it did not go to the end.
    Bounded {
        /// The bound that it hit.
        by: Bound,
    },
}

/// The verdict, and how much was looked at for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report<P: Protocol> {
    /// The verdict.
    pub outcome: Outcome<P>,
    /// Distinct states reached, the initial ones included. A step that violates leads to none.
    pub states: u64,
    /// Steps taken, also those to states already known.
    pub steps: u64,
    /// How far the farthest state is from the start, each by its shortest run.
    pub depth: u32,
    /// The most memory that was taken, as [`Bounds::memory_bytes`] counts it.
    pub memory_bytes: u64,
    /// The fingerprint that was used, from [`Bounds::fingerprint`].
    pub fingerprint: Fingerprint,
    /// Whether what was reached may go round for ever in ways that were not judged: the search saw
    /// steps that may close a loop, and a bound ended it before it looked for loops, or amid that;
    /// or it took walks, which never look for any. Then starvation was not looked for, and whether
    /// what is owed can still come only in states of rest. Never if the outcome is not bounded.
    pub has_unjudged_loops: bool,
}

impl<P: Protocol> Report<P> {
    /// The odds that, among so many states, any two were taken for one because their fingerprints
    /// are the same by chance. If handlers are deterministic, only then could a verdict of verified
    /// be wrong: of what was forgotten on the way only a sample is asked again.
    pub fn odds(&self) -> f64 {
        let states = self.states as f64;
        let pairs = states * (states - 1.0).max(0.0) / 2.0;
        (pairs / f64::from(self.fingerprint.bits()).exp2()).min(1.0)
    }

    /// The memory taken, shared out among the states.
    pub fn bytes_per_state(&self) -> f64 {
        self.memory_bytes as f64 / self.states.max(1) as f64
    }
}

/// Reports are equal if they say the same; how much memory it took is another matter.
impl<P: Protocol> PartialEq for Report<P> {
    fn eq(&self, other: &Self) -> bool {
        let counts = |it: &Self| (it.states, it.steps, it.depth, it.has_unjudged_loops);
        self.outcome == other.outcome && counts(self) == counts(other)
    }
}

impl<P: Protocol> Eq for Report<P> {}

/// The result of a progress callback: nothing, or whether to go on.
pub trait Answer {
    /// Whether to go on.
    fn flow(self) -> ControlFlow<()>;
}

impl Answer for () {
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Answer for ControlFlow<()> {
    fn flow(self) -> ControlFlow<()> {
        self
    }
}

/// Where an exploration stands.
///
/// Where something may go on for ever, all states are visited a second time when all are known:
/// then depth and frontier begin anew, and states and steps stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Distinct states reached.
    pub states: u64,
    /// Steps taken.
    pub steps: u64,
    /// The level that is being explored: how many steps its states are from the start.
    pub depth: u32,
    /// How many states that level has.
    pub frontier: u64,
    /// The memory taken, as [`Bounds::memory_bytes`] counts it.
    pub memory_bytes: u64,
}
