//! What handlers did, remembered: few different things happen, and each very often.

use crate::fingerprint::{ByThree, Three};
use crate::machine::{Handled, Happening, Machine};

/// Asks the machine, and remembers what came of it.
pub(crate) struct Handlers<'a> {
    machine: &'a dyn Machine,
    known: ByThree<Outcomes>,
    /// The outcomes of all that is known.
    handled: Vec<Handled>,
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

/// So many are remembered before all are forgotten: some tens of megabytes a thread.
const MOST_KNOWN: usize = 1 << 17;

impl<'a> Handlers<'a> {
    pub(crate) fn new(machine: &'a dyn Machine) -> Self {
        Self { machine, known: ByThree::default(), handled: Vec::new() }
    }

    /// Forgets all, if it has become much. Only then an index stands for something else.
    pub(crate) fn make_room(&mut self) {
        if self.handled.len() >= MOST_KNOWN {
            self.known.clear();
            self.handled.clear();
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
        self.handled.extend(handled);
        let outcomes = Outcomes { first, count };
        self.known.insert(key, outcomes);
        outcomes
    }

    /// One of the outcomes.
    pub(crate) fn outcome(&self, index: u32) -> &Handled {
        &self.handled[index as usize]
    }
}
