//! Where records of a run go while it runs.

use std::sync::{Arc, Mutex, PoisonError};

use vorrang_protocol::{NodeId, Protocol};
use vorrang_trace::{Record, What};

use crate::Clock;

/// Takes every record of one node, in order, on the node's own task: it should only put it away.
///
/// Any `FnMut(Record<P>)` is one: a channel's `send`, for example.
pub trait Recorder<P: Protocol>: Send + 'static {
    /// Puts a record away.
    fn record(&mut self, record: Record<P>);
}

impl<P: Protocol, F: FnMut(Record<P>) + Send + 'static> Recorder<P> for F {
    fn record(&mut self, record: Record<P>) {
        self(record);
    }
}

/// Keeps the records of all nodes that it is given to, in memory. Clones share them.
#[derive(Clone, Debug)]
pub struct Log<P: Protocol> {
    records: Arc<Mutex<Vec<Record<P>>>>,
}

impl<P: Protocol> Log<P> {
    /// An empty log.
    pub fn new() -> Self {
        Self { records: Arc::new(Mutex::new(Vec::new())) }
    }

    /// All that was recorded since the last call, in the order of time.
    pub fn take(&self) -> Vec<Record<P>> {
        let mut records = {
            let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *shared)
        };
        records.sort_by_key(|record| record.at_ns);
        records
    }
}

impl<P: Protocol> Default for Log<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Protocol> Recorder<P> for Log<P> {
    fn record(&mut self, record: Record<P>) {
        let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        shared.push(record);
    }
}

/// Stamps records and holds them for one turn of the node.
///
/// All that one event causes bears the time at which its handling began. So a release is stamped
/// before the messages that it sends can leave, and an entry after the messages that allowed it
/// have arrived: merged by time, cause comes before effect.
pub(crate) struct Tape<P: Protocol> {
    me: NodeId,
    clock: Clock,
    recorder: Box<dyn Recorder<P>>,
    held: Vec<Record<P>>,
    now_ns: u64,
}

impl<P: Protocol> Tape<P> {
    pub(crate) fn new(me: NodeId, recorder: Box<dyn Recorder<P>>, clock: Clock) -> Self {
        Self { me, clock, recorder, held: Vec::new(), now_ns: 0 }
    }

    /// The next event begins.
    pub(crate) fn stamp(&mut self) {
        self.now_ns = self.clock.now_ns();
    }

    pub(crate) fn push(&mut self, what: What<P>) {
        self.held.push(Record { at_ns: self.now_ns, node: self.me, what });
    }

    /// Takes back the last record: the command in it was refused.
    pub(crate) fn take_back(&mut self) {
        self.held.pop();
    }

    pub(crate) fn hand_over(&mut self) {
        for record in self.held.drain(..) {
            self.recorder.record(record);
        }
    }
}
