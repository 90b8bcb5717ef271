//! Where records of a run go while it runs.

use std::sync::{Arc, Mutex, PoisonError};

use vorrang_erased::AnyNode;
use vorrang_protocol::{Data, NodeId};
use vorrang_trace::{Record, What};

use crate::Clock;

/// A record of a node of any algorithm that takes commands `C` and tells notices `N`.
pub type RecordOf<C, N> = Record<AnyNode<C, N>>;

/// Takes every record of one node, in order, on the node's own task: it should only put it away.
///
/// Any `FnMut` of a record is one: a channel's `send`, for example.
pub trait Recorder<C: Data, N: Data>: Send + 'static {
    /// Puts a record away.
    fn record(&mut self, record: RecordOf<C, N>);

    /// Puts away all that a turn of the node has caused, in order, and leaves nothing.
    fn record_all(&mut self, records: &mut Vec<RecordOf<C, N>>) {
        for record in records.drain(..) {
            self.record(record);
        }
    }
}

impl<C: Data, N: Data, F: FnMut(RecordOf<C, N>) + Send + 'static> Recorder<C, N> for F {
    fn record(&mut self, record: RecordOf<C, N>) {
        self(record);
    }
}

/// Keeps the records of all nodes that it is given to, in memory. Clones share them.
#[derive(Clone, Debug)]
pub struct Log<C: Data, N: Data> {
    records: Arc<Mutex<Vec<RecordOf<C, N>>>>,
}

impl<C: Data, N: Data> Log<C, N> {
    /// An empty log.
    pub fn new() -> Self {
        Self { records: Arc::new(Mutex::new(Vec::new())) }
    }

    /// All that was recorded since the last call, in the order of time.
    pub fn take(&self) -> Vec<RecordOf<C, N>> {
        let mut records = {
            let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *shared)
        };
        records.sort_by_key(|record| record.at_ns);
        records
    }
}

impl<C: Data, N: Data> Default for Log<C, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Data, N: Data> Recorder<C, N> for Log<C, N> {
    fn record(&mut self, record: RecordOf<C, N>) {
        let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        shared.push(record);
    }

    fn record_all(&mut self, records: &mut Vec<RecordOf<C, N>>) {
        let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        shared.append(records);
    }
}

/// Stamps records and holds them for one turn of the node.
///
/// All that one event causes bears the time at which its handling began. So a release is stamped
/// before the messages that it sends can leave, and an entry after the messages that allowed it
/// have arrived: merged by time, cause comes before effect.
pub(crate) struct RecordBuffer<C: Data, N: Data> {
    me: NodeId,
    clock: Clock,
    recorder: Box<dyn Recorder<C, N>>,
    held: Vec<RecordOf<C, N>>,
    now_ns: u64,
}

impl<C: Data, N: Data> RecordBuffer<C, N> {
    pub(crate) fn new(me: NodeId, recorder: Box<dyn Recorder<C, N>>, clock: Clock) -> Self {
        Self { me, clock, recorder, held: Vec::new(), now_ns: 0 }
    }

    /// The next event begins.
    pub(crate) fn stamp(&mut self) {
        self.now_ns = self.clock.now_ns();
    }

    /// The next event begins, and this is it.
    pub(crate) fn begin(&mut self, what: What<AnyNode<C, N>>) {
        self.stamp();
        self.push(what);
    }

    pub(crate) fn push(&mut self, what: What<AnyNode<C, N>>) {
        self.held.push(Record { at_ns: self.now_ns, node: self.me, what });
    }

    /// Takes back the last record: the command in it was refused.
    pub(crate) fn take_back(&mut self) {
        self.held.pop();
    }

    pub(crate) fn hand_over(&mut self) {
        if !self.held.is_empty() {
            self.recorder.record_all(&mut self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vorrang_algorithms::mutex::{Command, Notice};

    use super::*;

    proptest! {
        #[test]
        fn a_log_is_in_the_order_of_time_and_what_happened_at_one_time_keeps_its_order(
            times in proptest::collection::vec(0_u64..8, 0..40),
        ) {
            let mut log = Log::<Command, Notice>::new();
            let record = |(at_ns, node)| {
                Record { at_ns, node: NodeId(node), what: What::Notice(Notice::Entered) }
            };
            let mut records: Vec<_> = times.into_iter().zip(0..).map(record).collect();
            log.record_all(&mut records.clone());
            records.sort_by_key(|record| record.at_ns);
            prop_assert_eq!(log.take(), records);
            prop_assert_eq!(log.take(), []);
        }
    }
}
