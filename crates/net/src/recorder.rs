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

    /// Puts away all that a turn of the node has caused, in order, and leaves nothing.
    fn record_all(&mut self, records: &mut Vec<Record<P>>) {
        for record in records.drain(..) {
            self.record(record);
        }
    }
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
        let mut times = Vec::with_capacity(records.len());
        for record in &records {
            times.push(record.at_ns);
        }
        let mut places = places(times);
        for here in 0..places.len() {
            // Every swap brings one record to its place for good.
            while places[here] != here {
                let there = places[here];
                records.swap(here, there);
                places.swap(here, there);
            }
        }
        records
    }
}

/// Where each of these times belongs when they are sorted; equal ones keep their order. To sort the
/// records themselves would compile a sort for every algorithm.
#[inline(never)]
fn places(times: Vec<u64>) -> Vec<usize> {
    let mut sorted: Vec<(u64, usize)> = times.into_iter().zip(0..).collect();
    sorted.sort_unstable();
    let mut places = vec![0; sorted.len()];
    for (place, (_, index)) in sorted.into_iter().enumerate() {
        places[index] = place;
    }
    places
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

    fn record_all(&mut self, records: &mut Vec<Record<P>>) {
        let mut shared = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        shared.append(records);
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
        if !self.held.is_empty() {
            self.recorder.record_all(&mut self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vorrang_algorithms::mutex::Notice;
    use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;

    use super::*;

    proptest! {
        #[test]
        fn a_log_is_in_the_order_of_time_and_what_happened_at_one_time_keeps_its_order(
            times in proptest::collection::vec(0_u64..8, 0..40),
        ) {
            let mut log = Log::<RicartAgrawala>::new();
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
