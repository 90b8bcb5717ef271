//! What a run cost, in the terms of the literature on mutual exclusion.
//!
//! | measure | is |
//! | --- | --- |
//! | messages | between different nodes; what a node tells itself is free |
//! | synchronisation delay | from one exit to the next entry, if somebody was waiting at the exit |
//! | response time | from the request to the exit |
//! | throughput | entries per time, from the first request to the last exit |
//! | load | messages that a node handled: sent plus received |
//! | fairness | Jain's index over the entries of the nodes that asked; 1 is perfectly even |
//!
//! The simulator and the network feed the same [`Measure`], so both mean the same by their figures.

use hdrhistogram::Histogram;
use vorrang_protocol::{Message, NodeId, Protocol, Step, Turn};

use crate::record::{Record, What};

/// Gathers figures while a run goes on, without allocating for any event.
#[derive(Clone, Debug)]
pub struct Measure {
    kinds: &'static [&'static str],
    by_kind: Vec<u64>,
    bytes: u64,
    nodes: Vec<PerNode>,
    waiting: u64,
    /// The last exit, if somebody was waiting then and nobody has entered since.
    freed_ns: Option<u64>,
    sync_delay: Mean,
    response: Mean,
    response_ns: Histogram<u64>,
    entries: u64,
    began_ns: Option<u64>,
    ended_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct PerNode {
    asked_ns: u64,
    asked: u64,
    entries: u64,
    handled: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u128,
    count: u64,
}

impl Mean {
    fn add(&mut self, sample: u64) {
        self.sum += u128::from(sample);
        self.count += 1;
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

impl Measure {
    /// Nothing has happened yet among so many nodes, whose messages are of these kinds.
    ///
    /// # Panics
    ///
    /// Never: three significant digits are a precision that the histogram knows.
    pub fn new(nodes: u32, kinds: &'static [&'static str]) -> Self {
        Self {
            kinds,
            by_kind: vec![0; kinds.len()],
            bytes: 0,
            nodes: vec![PerNode::default(); nodes as usize],
            waiting: 0,
            freed_ns: None,
            sync_delay: Mean::default(),
            response: Mean::default(),
            response_ns: Histogram::new(3).expect("three significant digits are possible"),
            entries: 0,
            began_ns: None,
            ended_ns: 0,
        }
    }

    /// The figures of a recorded run.
    pub fn of<'a, P>(nodes: u32, records: impl IntoIterator<Item = &'a Record<P>>) -> Self
    where
        P: Protocol<Command: Turn, Notice: Turn>,
    {
        let mut measure = Self::new(nodes, P::Message::KINDS);
        for record in records {
            let step = match &record.what {
                What::Command(command) => command.step(),
                What::Notice(notice) => notice.step(),
                What::Send { to, message, .. } => {
                    measure.on_send(record.node, *to, message);
                    None
                }
                What::Receive { from, .. } => {
                    measure.on_receive(*from, record.node);
                    None
                }
                What::Timer(_) | What::Lost { .. } | What::Crash | What::Restart => None,
            };
            if let Some(step) = step {
                measure.on_step(record.at_ns, record.node, step);
            }
        }
        measure
    }

    /// A node asked, entered or left.
    pub fn on_step(&mut self, at_ns: u64, node: NodeId, step: Step) {
        let per_node = &mut self.nodes[node.index()];
        match step {
            Step::Ask => {
                per_node.asked_ns = at_ns;
                per_node.asked += 1;
                self.waiting += 1;
                self.began_ns.get_or_insert(at_ns);
            }
            Step::Enter => {
                per_node.entries += 1;
                self.entries += 1;
                self.waiting = self.waiting.saturating_sub(1);
                if let Some(freed_ns) = self.freed_ns.take() {
                    self.sync_delay.add(at_ns - freed_ns);
                }
            }
            Step::Leave => {
                let response = at_ns - per_node.asked_ns;
                self.response.add(response);
                self.response_ns.record(response).expect("the histogram grows as needed");
                self.freed_ns = (self.waiting > 0).then_some(at_ns);
                self.ended_ns = at_ns;
            }
        }
    }

    /// A node sent a message.
    pub fn on_send<M: Message>(&mut self, from: NodeId, to: NodeId, message: &M) {
        if from != to {
            self.by_kind[message.kind()] += 1;
            self.bytes += encoded_len(message) as u64;
            self.nodes[from.index()].handled += 1;
        }
    }

    /// A message arrived.
    pub fn on_receive(&mut self, from: NodeId, at: NodeId) {
        if from != at {
            self.nodes[at.index()].handled += 1;
        }
    }

    /// How many entries there were so far.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The figures so far.
    pub fn summary(&self) -> Summary {
        let span_ns = self.ended_ns.saturating_sub(self.began_ns.unwrap_or(0));
        let entries = self.nodes.iter().filter(|node| node.asked > 0).map(|node| node.entries);
        let handled = self.nodes.iter().map(|node| node.handled);
        let quantile = |q| (self.response.count > 0).then(|| self.response_ns.value_at_quantile(q));
        Summary {
            entries: self.entries,
            messages: self.by_kind.iter().sum(),
            by_kind: self.kinds.iter().copied().zip(self.by_kind.iter().copied()).collect(),
            bytes: self.bytes,
            sync_delay_mean_ns: self.sync_delay.mean(),
            sync_delays: self.sync_delay.count,
            response_mean_ns: self.response.mean(),
            response_p50_ns: quantile(0.5),
            response_p99_ns: quantile(0.99),
            span_ns,
            load_max: handled.clone().max().unwrap_or(0),
            load_fairness: jain(handled),
            fairness: jain(entries),
            overtakes: None,
        }
    }
}

/// How many bytes the message takes on the wire, without its frame.
pub fn encoded_len(message: &impl Message) -> usize {
    postcard::experimental::serialized_size(message).expect("plain data can be encoded")
}

/// The figures of a run. Times are in nanoseconds; a mean of nothing is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// How many times a node entered.
    pub entries: u64,
    /// Messages between different nodes.
    pub messages: u64,
    /// The same, by kind.
    pub by_kind: Vec<(&'static str, u64)>,
    /// Their size on the wire, without frames.
    pub bytes: u64,
    /// From one exit to the next entry while somebody waits.
    pub sync_delay_mean_ns: Option<f64>,
    /// How many such delays there were.
    pub sync_delays: u64,
    /// From the request to the exit.
    pub response_mean_ns: Option<f64>,
    /// Half of the responses were no slower.
    pub response_p50_ns: Option<u64>,
    /// All but one in a hundred were no slower.
    pub response_p99_ns: Option<u64>,
    /// From the first request to the last exit.
    pub span_ns: u64,
    /// Messages handled by the busiest node.
    pub load_max: u64,
    /// How evenly the nodes were loaded.
    pub load_fairness: f64,
    /// How evenly the nodes that asked got in.
    pub fairness: f64,
    /// Entries that overtook a request that happened before theirs; none if nobody kept track.
    pub overtakes: Option<u64>,
}

impl Summary {
    /// Messages per entry; none if nobody entered.
    pub fn messages_per_entry(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.messages as f64 / self.entries as f64)
    }

    /// Bytes per entry; none if nobody entered.
    pub fn bytes_per_entry(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.bytes as f64 / self.entries as f64)
    }

    /// Entries per nanosecond; none if no time passed.
    pub fn throughput_per_ns(&self) -> Option<f64> {
        (self.span_ns > 0).then(|| self.entries as f64 / self.span_ns as f64)
    }
}

/// Jain's fairness index: 1 if all are equal, 1/n if one has everything.
pub(crate) fn jain(values: impl Iterator<Item = u64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        let value = value as f64;
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    if squares == 0.0 { 1.0 } else { sum * sum / (count * squares) }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::Message as Ra;

    use super::*;

    fn measure() -> Measure {
        Measure::new(3, Ra::KINDS)
    }

    #[test]
    fn a_delay_counts_only_if_somebody_was_waiting_at_the_exit() {
        let mut measure = measure();
        measure.on_step(0, NodeId(0), Step::Ask);
        measure.on_step(5, NodeId(0), Step::Enter);
        measure.on_step(7, NodeId(0), Step::Leave);
        measure.on_step(9, NodeId(1), Step::Ask);
        measure.on_step(20, NodeId(1), Step::Enter);
        assert_eq!(measure.summary().sync_delay_mean_ns, None);
        measure.on_step(21, NodeId(2), Step::Ask);
        measure.on_step(30, NodeId(1), Step::Leave);
        measure.on_step(33, NodeId(2), Step::Enter);
        assert_eq!(measure.summary().sync_delay_mean_ns, Some(3.0));
        assert_eq!(measure.summary().sync_delays, 1);
    }

    #[test]
    fn response_runs_from_request_to_exit() {
        let mut measure = measure();
        measure.on_step(10, NodeId(0), Step::Ask);
        measure.on_step(15, NodeId(0), Step::Enter);
        measure.on_step(22, NodeId(0), Step::Leave);
        let summary = measure.summary();
        assert_eq!(summary.response_mean_ns, Some(12.0));
        assert_eq!((summary.response_p50_ns, summary.response_p99_ns), (Some(12), Some(12)));
        assert_eq!(summary.span_ns, 12);
        assert_eq!(summary.throughput_per_ns(), Some(1.0 / 12.0));
    }

    #[test]
    fn what_a_node_tells_itself_is_free() {
        let mut measure = measure();
        let message = Ra::Request { time: 300 };
        measure.on_send(NodeId(1), NodeId(1), &message);
        measure.on_receive(NodeId(1), NodeId(1));
        assert_eq!((measure.summary().messages, measure.summary().load_max), (0, 0));
        measure.on_send(NodeId(1), NodeId(2), &message);
        measure.on_receive(NodeId(1), NodeId(2));
        let summary = measure.summary();
        assert_eq!(summary.by_kind, [("REQUEST", 1), ("REPLY", 0)]);
        assert_eq!((summary.bytes, summary.load_max), (3, 1), "one byte of kind, two of time");
    }

    #[test]
    fn fairness_is_jains_index() {
        assert!((jain([5, 5, 5].into_iter()) - 1.0).abs() < 1e-12);
        assert!((jain([9, 0, 0].into_iter()) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(std::iter::empty()) - 1.0).abs() < 1e-12);
    }
}
