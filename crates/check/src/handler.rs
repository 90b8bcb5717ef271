//! A cache of handler results: few different events happen, and each very often.
//!
//! Every thread remembers for itself, so that to look up takes no lock. What one has not come by
//! yet another may have: then it is copied, and no handler runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::fingerprint::{ByThree, Three};
use crate::model::{Action, Cut, Handled, Machine, NodeEvent};

/// Asks the machine, and remembers what came of it.
pub(crate) struct Handlers<'a, T> {
    machine: &'a dyn Machine,
    shared: Option<&'a Shared>,
    known: ByThree<Outcomes>,
    /// The outcomes of all that is known.
    handled: Vec<Handled>,
    /// The cached results that were computed here.
    asked: Vec<(Asked<T>, Outcomes)>,
    /// Some of what was forgotten.
    sample: Vec<(Asked<T>, Vec<Handled>)>,
    /// The memory that the outcomes take, the sample's included.
    bytes: usize,
}

/// Something that a handler was run for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<T> {
    /// The state in which it first happened.
    pub(crate) state: T,
    pub(crate) action: Action,
    pub(crate) happening: NodeEvent,
}

/// Where the outcomes of one thing lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcomes {
    first: u32,
    count: u32,
}

impl Outcomes {
    pub(crate) fn indices(self) -> impl Iterator<Item = u32> {
        self.first..self.first + self.count
    }

    fn of(self, handled: &[Handled]) -> &[Handled] {
        &handled[self.first as usize..][..self.count as usize]
    }
}

/// So many are remembered before all are forgotten, and no more than this: some tens of megabytes
/// a thread.
const MOST_KNOWN: usize = 1 << 17;
const MOST_BYTES: usize = 1 << 26;

/// Of the dropped results one in so many is kept to be rechecked, and no more than this.
const SAMPLED: usize = 16;
const MOST_SAMPLED: usize = 1 << 15;

impl<'a, T> Handlers<'a, T> {
    pub(crate) fn new(machine: &'a dyn Machine, shared: Option<&'a Shared>) -> Self {
        let (handled, asked, sample) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, shared, known: ByThree::default(), handled, asked, sample, bytes: 0 }
    }

    /// Forgets all, if it has become much. Only then an index stands for something else.
    pub(crate) fn make_room(&mut self) {
        if self.handled.len() < MOST_KNOWN && self.bytes < MOST_BYTES {
            return;
        }
        for (asked, outcomes) in self.asked.drain(..).step_by(SAMPLED) {
            if self.sample.len() < MOST_SAMPLED {
                self.sample.push((asked, outcomes.of(&self.handled).to_vec()));
            }
        }
        self.known.clear();
        self.handled = Vec::new();
        self.bytes = self.sample.iter().flat_map(|it| &it.1).map(Handled::bytes).sum();
    }

    /// Every outcome of what happens, which has this key.
    pub(crate) fn handle(
        &mut self,
        key: Three,
        what: impl FnOnce() -> Asked<T>,
    ) -> Result<Outcomes, Cut> {
        if let Some(outcomes) = self.known.get(&key) {
            return Ok(*outcomes);
        }
        self.learn(key, what())
    }

    #[cold]
    fn learn(&mut self, key: Three, asked: Asked<T>) -> Result<Outcomes, Cut> {
        if let Some(handled) = self.shared.and_then(|it| it.find(key)) {
            return Ok(self.remember(key, handled.iter().cloned()));
        }
        let handled = self.machine.handle(&asked.happening)?;
        if let Some(shared) = self.shared {
            shared.tell(key, &handled);
        }
        let outcomes = self.remember(key, handled.into_iter());
        self.asked.push((asked, outcomes));
        Ok(outcomes)
    }

    fn remember(&mut self, key: Three, handled: impl Iterator<Item = Handled>) -> Outcomes {
        let first = self.handled.len();
        self.handled.extend(handled);
        let new = &self.handled[first..];
        self.bytes += new.iter().map(Handled::bytes).sum::<usize>();
        let outcomes = Outcomes { first: first as u32, count: new.len() as u32 };
        self.known.insert(key, outcomes);
        outcomes
    }

    /// All that the machine was asked for here and is still known, with what came of it.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (&Asked<T>, &[Handled])> {
        let known = self.asked.iter().map(|(asked, it)| (asked, it.of(&self.handled)));
        known.chain(self.sample.iter().map(|(asked, handled)| (asked, &handled[..])))
    }

    /// The memory that all of it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let free = self.handled.capacity() - self.handled.len();
        let known = self.known.capacity() * size_of::<(Three, Outcomes, u8)>();
        let asked = self.asked.capacity() * size_of::<(Asked<T>, Outcomes)>()
            + self.sample.capacity() * size_of::<(Asked<T>, Vec<Handled>)>();
        (self.bytes + free * size_of::<Handled>() + known + asked) as u64
    }

    /// One of the outcomes.
    pub(crate) fn outcome(&self, index: u32) -> &Handled {
        &self.handled[index as usize]
    }
}

/// Results of all threads, shared between them.
#[derive(Debug)]
pub(crate) struct Shared {
    boards: Vec<Mutex<Board>>,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Board {
    known: ByThree<Arc<[Handled]>>,
    bytes: u64,
}

/// So that threads rarely meet.
const BOARD_BITS: u32 = 4;

impl Shared {
    fn find(&self, key: Three) -> Option<Arc<[Handled]>> {
        self.board(key).known.get(&key).map(Arc::clone)
    }

    fn tell(&self, key: Three, handled: &[Handled]) {
        let mut board = self.board(key);
        if board.known.len() >= MOST_KNOWN >> BOARD_BITS
            || board.bytes >= (MOST_BYTES >> BOARD_BITS) as u64
        {
            self.bytes.fetch_sub(board.bytes, Ordering::Relaxed);
            *board = Board::default();
        }
        let each = size_of::<(Three, Arc<[Handled]>, u8)>();
        let bytes = (handled.iter().map(Handled::bytes).sum::<usize>() + each) as u64;
        board.bytes += bytes;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        board.known.insert(key, handled.into());
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn board(&self, Three(node, _, event): Three) -> MutexGuard<'_, Board> {
        let board = (node + event).0 >> (u64::BITS - BOARD_BITS);
        self.boards[board as usize].lock().expect("no thread panics while it holds a board")
    }
}

impl Default for Shared {
    fn default() -> Self {
        let boards = (0..1 << BOARD_BITS).map(|_| Mutex::default()).collect();
        Self { boards, bytes: AtomicU64::new(0) }
    }
}
