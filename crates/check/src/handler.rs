//! What handlers did, remembered: few different things happen, and each very often.

use crate::fingerprint::ByPrint;
use crate::machine::{Handled, Happening, Machine};

/// Asks the machine, and remembers what came of it.
pub(crate) struct Handlers<'a> {
    machine: &'a dyn Machine,
    known: ByPrint<Vec<Handled>>,
}

/// So many are remembered before all are forgotten: some tens of megabytes a thread.
const MOST_KNOWN: usize = 1 << 17;

impl<'a> Handlers<'a> {
    pub(crate) fn new(machine: &'a dyn Machine) -> Self {
        Self { machine, known: ByPrint::default() }
    }

    /// Every outcome of what happens.
    pub(crate) fn handle(&mut self, it: &Happening) -> &[Handled] {
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let Self { machine, known } = self;
        known.entry(it.key()).or_insert_with(|| machine.handle(it))
    }
}
