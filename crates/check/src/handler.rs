//! What handlers did, remembered: few different things happen, and each very often.

use crate::fingerprint::{ByThree, Three};
use crate::machine::{Handled, Happening, Machine};

/// Asks the machine, and remembers what came of it.
pub(crate) struct Handlers<'a> {
    machine: &'a dyn Machine,
    known: ByThree<Outcomes>,
    /// The outcomes of all that is known.
    handled: Vec<Handled>,
    /// The memory that the outcomes take.
    bytes: usize,
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
}

/// So many are remembered before all are forgotten, and no more than this: some tens of megabytes
/// a thread.
const MOST_KNOWN: usize = 1 << 17;
const MOST_BYTES: usize = 1 << 26;

impl<'a> Handlers<'a> {
    pub(crate) fn new(machine: &'a dyn Machine) -> Self {
        Self { machine, known: ByThree::default(), handled: Vec::new(), bytes: 0 }
    }

    /// Forgets all, if it has become much. Only then an index stands for something else.
    pub(crate) fn make_room(&mut self) {
        if self.handled.len() >= MOST_KNOWN || self.bytes >= MOST_BYTES {
            self.known.clear();
            self.handled = Vec::new();
            self.bytes = 0;
        }
    }

    /// Every outcome of what happens, which has this key.
    pub(crate) fn handle(&mut self, key: Three, what: impl FnOnce() -> Happening) -> Outcomes {
        if let Some(outcomes) = self.known.get(&key) {
            return *outcomes;
        }
        self.ask(key, &what())
    }

    #[cold]
    fn ask(&mut self, key: Three, it: &Happening) -> Outcomes {
        let handled = self.machine.handle(it);
        let (first, count) = (self.handled.len() as u32, handled.len() as u32);
        self.bytes += handled.iter().map(Handled::bytes).sum::<usize>();
        self.handled.extend(handled);
        let outcomes = Outcomes { first, count };
        self.known.insert(key, outcomes);
        outcomes
    }

    /// The memory that all of it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let free = self.handled.capacity() - self.handled.len();
        let known = self.known.capacity() * size_of::<(Three, Outcomes, u8)>();
        (self.bytes + free * size_of::<Handled>() + known) as u64
    }

    /// One of the outcomes.
    pub(crate) fn outcome(&self, index: u32) -> &Handled {
        &self.handled[index as usize]
    }
}
