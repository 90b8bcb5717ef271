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
        let records = {
            let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *shared)
        };
        let order = order(records.iter().map(|record| record.at_ns).collect());
        let mut records: Vec<_> = records.into_iter().map(Some).collect();
        order.into_iter().filter_map(|index| records[index].take()).collect()
    }
}

/// The places of these times when they are sorted; equal ones keep their order.
///
/// Sorting the records themselves would compile a sort for every algorithm: a quarter of all that
/// this crate costs it.
fn order(times: Vec<u64>) -> Vec<usize> {
    let mut places: Vec<(u64, usize)> = times.into_iter().zip(0..).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, place)| place).collect()
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

    /// The next event begins, and this is it.
    pub(crate) fn begin(&mut self, what: What<P>) {
        self.stamp();
        self.push(what);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_at_one_time_keeps_its_order() {
        assert_eq!(order(vec![5, 3, 5, 1, 3]), [3, 1, 4, 0, 2]);
        assert!(order(Vec::new()).is_empty());
    }
}
