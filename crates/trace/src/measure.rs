//! The costs of a run, in the terms of the literature on mutual exclusion.
//!
//! | measure | is |
//! | --- | --- |
//! | messages | between different nodes; what a node tells itself is free |
//! | transmissions | the same where copies to several nodes count once, as on a broadcast medium |
//! | idle messages | those of them that are sent while no node waits, is inside or just leaves |
//! | synchronisation delay | from one exit to the next entry, if a node was waiting at the exit |
//! | response time | from the request to the exit, or to when it is put out |
//! | throughput | exits per time, from the first exit to the last |
//! | load | messages that a node handled: sent plus received |
//! | fairness | Jain's index over the entries of those who compete, as long as all of them do |
//!
//! The simulator and the network feed the same [`Measure`], so both mean the same by their figures.

use std::mem;

use vorrang_protocol::{NodeId, Protocol, Step, Turn};

use crate::batches::Batches;
use crate::fairness::jain;
use crate::meter::{Sent, Traffic};
use crate::record::{Record, What};
use crate::samples::Samples;

/// Gathers figures while a run goes on, without allocating for any event.
#[derive(Clone, Debug)]
pub struct Measure {
    traffic: Traffic,
    nodes: Vec<PerNode>,
    waiting: u64,
    /// The last exit, if a node was waiting then and none has entered since.
    freed_ns: Option<u64>,
    sync_delay: Batches,
    response: Batches,
    response_ns: Samples,
    /// Messages from one entry to the next.
    messages: Batches,
    /// How many messages there had been at the last entry.
    messages_before: u64,
    /// Nodes that have asked and not left.
    busy: u64,
    /// The node that has just left: messages that it sends now are part of its turn.
    leaving: Option<NodeId>,
    /// Messages sent while no node was busy.
    idle_messages: u64,
    race: Option<Race>,
    entries: u64,
    exits: u64,
    began_ns: Option<u64>,
    first_exit_ns: Option<u64>,
    ended_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct PerNode {
    /// When it asked for what it waits for or has.
    asked_ns: Option<u64>,
    is_waiting: bool,
    has_asked: bool,
    /// Whether it was put out, and has neither asked nor said that it leaves.
    is_out: bool,
    entries: u64,
}

/// Until when each node competes, if the number of its entries is fixed beforehand.
#[derive(Clone, Debug)]
struct Race {
    shares: Vec<u64>,
    /// The least share of those who have one: in so many rounds all compete, and in no more.
    least: u64,
    /// The entries of every node before the first of them made its last one.
    entries: Vec<u64>,
    is_over: bool,
}

impl Race {
    fn of(shares: Vec<u64>) -> Self {
        let entries = vec![0; shares.len()];
        let least = shares.iter().copied().filter(|&share| share > 0).min().unwrap_or(0);
        Self { shares, least, entries, is_over: false }
    }

    /// A node is about to make its `entry`th entry.
    fn on_enter(&mut self, entry: u64, nodes: &[PerNode]) {
        if !self.is_over && entry == self.least {
            self.is_over = true;
            for (before, node) in self.entries.iter_mut().zip(nodes) {
                *before = node.entries;
            }
        }
    }
}

impl Measure {
    /// Nothing has happened yet among so many nodes, whose messages are of these kinds.
    pub fn new(nodes: u32, kinds: &'static [&'static str]) -> Self {
        Self {
            traffic: Traffic::new(nodes, kinds),
            nodes: vec![PerNode::default(); nodes as usize],
            waiting: 0,
            freed_ns: None,
            sync_delay: Batches::default(),
            response: Batches::default(),
            response_ns: Samples::default(),
            messages: Batches::default(),
            messages_before: 0,
            busy: 0,
            leaving: None,
            idle_messages: 0,
            race: None,
            entries: 0,
            exits: 0,
            began_ns: None,
            first_exit_ns: None,
            ended_ns: 0,
        }
    }

    /// Says how many entries every node is going to make, where that is settled beforehand: then
    /// [`Summary::fairness`] is taken as long as all of them compete.
    ///
    /// # Panics
    ///
    /// If there is not one number for each node.
    #[must_use]
    pub fn with_shares(mut self, shares: Vec<u64>) -> Self {
        assert_eq!(shares.len(), self.nodes.len(), "every node has a share, be it 0");
        self.race = Some(Race::of(shares));
        self
    }

    /// The figures of a recorded run.
    ///
    /// A run in which all who asked made the same number of entries, give or take one, is taken for
    /// one in which these were their shares.
    pub fn of<'a, P>(
        nodes: u32,
        kinds: &'static [&'static str],
        records: impl IntoIterator<Item = &'a Record<P>, IntoIter: Clone>,
    ) -> Self
    where
        P: Protocol<Command: Turn, Notice: Turn>,
    {
        let records = records.into_iter();
        let mut measure = Self::new(nodes, kinds);
        if let Some(shares) = shares(nodes, records.clone()) {
            measure = measure.with_shares(shares);
        }
        // What was sent last, if nothing else has happened since.
        let mut last: Option<(NodeId, &P::Message)> = None;
        for record in records {
            let before = last.take();
            match &record.what {
                What::Command(_) | What::Notice(_) => {
                    if let Some(step) = step(record) {
                        measure.on_step(record.at_ns, record.node, step);
                    }
                }
                What::Send { to, message, .. } => {
                    let sent = (record.node, message);
                    let copied = Sent::of(message, record.node).copied(before == Some(sent));
                    measure.on_send(record.node, *to, copied);
                    last = Some(sent);
                }
                What::Receive { from, .. } => measure.on_receive(*from, record.node),
                What::Crash => measure.on_crash(record.node),
                What::Timer(_)
                | What::Choice(_)
                | What::Lost { .. }
                | What::Doubled { .. }
                | What::Restart
                | What::Fault(_) => {}
            }
        }
        measure
    }

    /// A node asked, entered or left.
    pub fn on_step(&mut self, at_ns: u64, node: NodeId, step: Step) {
        // A node that lost the lock has left then, even if it releases later.
        let was_out = mem::replace(&mut self.nodes[node.index()].is_out, step == Step::Evicted);
        if (was_out, step) == (true, Step::Leave) {
            return;
        }
        self.leaving = matches!(step, Step::Leave | Step::Evicted).then_some(node);
        match step {
            Step::Ask => {
                let per_node = &mut self.nodes[node.index()];
                self.waiting += u64::from(!per_node.is_waiting);
                self.busy += u64::from(per_node.asked_ns.is_none());
                per_node.asked_ns = Some(at_ns);
                per_node.is_waiting = true;
                per_node.has_asked = true;
                self.began_ns.get_or_insert(at_ns);
            }
            Step::Enter => self.on_enter(at_ns, node),
            Step::Leave | Step::Evicted => {
                // A record that begins in the middle of a turn does not say how long it took.
                if let Some(asked_ns) = self.nodes[node.index()].asked_ns.take() {
                    self.busy -= 1;
                    let response = at_ns.saturating_sub(asked_ns);
                    self.response.add(response);
                    self.response_ns.add(response);
                }
                self.freed_ns = (self.waiting > 0).then_some(at_ns);
                self.exits += 1;
                self.first_exit_ns.get_or_insert(at_ns);
                self.ended_ns = at_ns;
            }
        }
    }

    fn on_enter(&mut self, at_ns: u64, node: NodeId) {
        let entry = self.nodes[node.index()].entries + 1;
        if let Some(race) = &mut self.race {
            race.on_enter(entry, &self.nodes);
        }
        let per_node = &mut self.nodes[node.index()];
        per_node.entries = entry;
        self.waiting -= u64::from(per_node.is_waiting);
        per_node.is_waiting = false;
        self.entries += 1;
        let messages = self.traffic.messages();
        self.messages.add(messages - self.messages_before);
        self.messages_before = messages;
        if let Some(freed_ns) = self.freed_ns.take() {
            self.sync_delay.add(at_ns.saturating_sub(freed_ns));
        }
    }

    /// A node crashed: it neither waits nor is inside any more.
    pub fn on_crash(&mut self, node: NodeId) {
        let per_node = &mut self.nodes[node.index()];
        per_node.is_out = false;
        self.waiting -= u64::from(per_node.is_waiting);
        per_node.is_waiting = false;
        self.busy -= u64::from(per_node.asked_ns.take().is_some());
        if self.waiting == 0 {
            // The next entry did not wait for the last exit.
            self.freed_ns = None;
        }
    }

    /// A node sent a message.
    #[inline]
    pub fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        self.traffic.on_send(from, to, sent);
        // Under load no node is ever idle, and this is evaluated for every message.
        if self.busy == 0 {
            self.idle_messages += u64::from(self.leaving != Some(from) && from != to);
        }
    }

    /// A message arrived.
    #[inline]
    pub fn on_receive(&mut self, from: NodeId, at: NodeId) {
        if self.busy == 0 {
            self.leaving = None;
        }
        self.traffic.on_receive(from, at);
    }

    /// How many entries there were so far.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The figures so far.
    pub fn summary(&self) -> Summary {
        let span_ns = self.ended_ns.saturating_sub(self.began_ns.unwrap_or(0));
        let exits_ns = self.ended_ns.saturating_sub(self.first_exit_ns.unwrap_or(0));
        let (load_max, load_fairness) = self.traffic.load();
        let [response_p50_ns, response_p99_ns] = self.response_ns.percentiles([50, 99]);
        Summary {
            entries: self.entries,
            messages: self.traffic.messages(),
            transmissions: self.traffic.transmissions(),
            idle_messages: self.idle_messages,
            by_kind: self.traffic.by_kind(),
            messages_per_entry_error: self.messages.error(),
            bytes: self.traffic.bytes(),
            sync_delay_mean_ns: self.sync_delay.mean(),
            sync_delay_error_ns: self.sync_delay.error(),
            sync_delays: self.sync_delay.count(),
            response_mean_ns: self.response.mean(),
            response_error_ns: self.response.error(),
            response_p50_ns,
            response_p99_ns,
            span_ns,
            exits: self.exits,
            exits_ns,
            load_max,
            load_fairness,
            fairness: self.fairness(),
            overtakes: None,
        }
    }

    fn fairness(&self) -> f64 {
        let has_asked = |id: &usize| self.nodes[*id].has_asked;
        let contenders = (0..self.nodes.len()).filter(has_asked);
        let entries = |id: usize| self.nodes[id].entries as f64;
        match &self.race {
            // Before the last entry of any node there was none.
            Some(Race { shares, least: 1, .. }) => {
                jain(contenders.map(|id| entries(id) / shares[id].max(1) as f64))
            }
            Some(race) if race.is_over => jain(contenders.map(|id| race.entries[id] as f64)),
            Some(_) | None => jain(contenders.map(entries)),
        }
    }
}

fn step<P: Protocol<Command: Turn, Notice: Turn>>(record: &Record<P>) -> Option<Step> {
    match &record.what {
        What::Command(command) => command.step(),
        What::Notice(notice) => notice.step(),
        What::Send { .. }
        | What::Receive { .. }
        | What::Timer(_)
        | What::Choice(_)
        | What::Lost { .. }
        | What::Doubled { .. }
        | What::Crash
        | What::Restart
        | What::Fault(_) => None,
    }
}

/// How many entries every node makes, if those who ask make equally many, give or take one.
fn shares<'a, P>(nodes: u32, records: impl Iterator<Item = &'a Record<P>>) -> Option<Vec<u64>>
where
    P: Protocol<Command: Turn, Notice: Turn>,
{
    let (mut entries, mut has_asked) = (vec![0; nodes as usize], vec![false; nodes as usize]);
    for record in records {
        match step(record) {
            Some(Step::Ask) => has_asked[record.node.index()] = true,
            Some(Step::Enter) => entries[record.node.index()] += 1,
            Some(Step::Leave | Step::Evicted) | None => {}
        }
    }
    let contenders = entries.iter().zip(has_asked).filter(|(_, asked)| *asked);
    let (fewest, most) =
        contenders.fold((u64::MAX, 0), |(fewest, most), (&it, _)| (it.min(fewest), it.max(most)));
    (most > 0 && most - fewest <= 1).then_some(entries)
}

/// The figures of a run. Times are in nanoseconds; a mean of nothing is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// How many times a node entered.
    pub entries: u64,
    /// Messages between different nodes.
    pub messages: u64,
    /// The same where copies of one message to several nodes are one: on a broadcast medium.
    pub transmissions: u64,
    /// Those of them that were sent while no node waited, was inside or just left.
    pub idle_messages: u64,
    /// All messages, by kind.
    pub by_kind: Vec<(&'static str, u64)>,
    /// The standard error of [`messages_per_entry`](Self::messages_per_entry); see [`Batches`].
    pub messages_per_entry_error: Option<f64>,
    /// Their size on the wire, without frames.
    pub bytes: u64,
    /// From one exit to the next entry while a node waits.
    pub sync_delay_mean_ns: Option<f64>,
    /// The standard error of that mean; see [`Batches`].
    pub sync_delay_error_ns: Option<f64>,
    /// How many such delays there were.
    pub sync_delays: u64,
    /// From the request to the exit.
    pub response_mean_ns: Option<f64>,
    /// The standard error of that mean; see [`Batches`].
    pub response_error_ns: Option<f64>,
    /// Half of the responses were no slower than this one. Beyond 2²⁰ responses: half of a random
    /// sample of 2²⁰ of them.
    pub response_p50_ns: Option<u64>,
    /// All but one in a hundred were no slower than this one, of all or of the same sample.
    pub response_p99_ns: Option<u64>,
    /// From the first request to the last exit.
    pub span_ns: u64,
    /// How many times a node left.
    pub exits: u64,
    /// From the first exit to the last.
    pub exits_ns: u64,
    /// Messages handled by the busiest node.
    pub load_max: u64,
    /// How evenly the nodes were loaded.
    pub load_fairness: f64,
    /// How evenly the nodes that asked got in: Jain's index over their entries, 1 if all have
    /// equally many.
    ///
    /// Where every node makes its share of the entries and then stops (a closed loop), the whole
    /// run would always seem fair. There only the entries count that were made while all competed:
    /// those before any node has made as many as the least share. (The entry by which it does would
    /// put its node ahead in the fairest of runs.) Where that share is one entry, nothing is left
    /// to count, and it is seen how much of its share each node got.
    pub fairness: f64,
    /// Entries that overtook a request that happened before theirs; none if it was not tracked.
    pub overtakes: Option<u64>,
}

impl Summary {
    /// Messages per entry; none without entries.
    pub fn messages_per_entry(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.messages as f64 / self.entries as f64)
    }

    /// Transmissions per entry; none without entries.
    pub fn transmissions_per_entry(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.transmissions as f64 / self.entries as f64)
    }

    /// Bytes per entry; none without entries.
    pub fn bytes_per_entry(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.bytes as f64 / self.entries as f64)
    }

    /// Exits per nanosecond, from the first to the last, so that neither the way to the first entry
    /// nor what follows the last exit counts; none if no time passed between two.
    pub fn throughput_per_ns(&self) -> Option<f64> {
        (self.exits_ns > 0).then(|| (self.exits - 1) as f64 / self.exits_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::{Message as Ra, RicartAgrawala};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::Message as _;

    use super::*;
    use crate::Loss;

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
    fn a_delay_does_not_count_if_whoever_waited_crashed() {
        let mut measure = measure();
        measure.on_step(0, NodeId(0), Step::Ask);
        measure.on_step(1, NodeId(1), Step::Ask);
        measure.on_step(2, NodeId(0), Step::Enter);
        measure.on_step(3, NodeId(0), Step::Leave);
        measure.on_crash(NodeId(1));
        measure.on_step(50, NodeId(2), Step::Ask);
        measure.on_step(60, NodeId(2), Step::Enter);
        assert_eq!(measure.summary().sync_delay_mean_ns, None);
    }

    #[test]
    fn whoever_is_put_out_leaves_then_and_not_when_it_says_so() {
        let mut measure = measure();
        measure.on_step(0, NodeId(0), Step::Ask);
        measure.on_step(5, NodeId(0), Step::Enter);
        measure.on_step(6, NodeId(1), Step::Ask);
        measure.on_step(10, NodeId(0), Step::Evicted);
        measure.on_step(12, NodeId(1), Step::Enter);
        measure.on_step(13, NodeId(2), Step::Ask);
        measure.on_step(14, NodeId(0), Step::Leave);
        measure.on_step(20, NodeId(1), Step::Leave);
        measure.on_step(22, NodeId(2), Step::Enter);
        let summary = measure.summary();
        assert_eq!((summary.sync_delays, summary.sync_delay_mean_ns), (2, Some(2.0)));
        assert_eq!(summary.response_mean_ns, Some(12.0));
        assert_eq!(measure.busy, 1, "of whoever is inside");
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
        assert_eq!(summary.throughput_per_ns(), None, "one exit is no rate");
    }

    #[test]
    fn what_a_node_tells_itself_is_free() {
        let mut measure = measure();
        let message = Ra::Request { time: 300 };
        measure.on_send(NodeId(1), NodeId(1), Sent::of(&message, NodeId(1)));
        measure.on_receive(NodeId(1), NodeId(1));
        assert_eq!((measure.summary().messages, measure.summary().load_max), (0, 0));
        measure.on_send(NodeId(1), NodeId(2), Sent::of(&message, NodeId(1)));
        measure.on_receive(NodeId(1), NodeId(2));
        let summary = measure.summary();
        assert_eq!(summary.by_kind, [("REQUEST", 1), ("REPLY", 0)]);
        assert_eq!((summary.bytes, summary.load_max), (3, 1), "one byte of kind, two of time");
    }

    /// One whole turn, of length 1, at time `at_ns`.
    fn turn(measure: &mut Measure, at_ns: u64, node: u32) {
        measure.on_step(at_ns, NodeId(node), Step::Ask);
        measure.on_step(at_ns, NodeId(node), Step::Enter);
        measure.on_step(at_ns + 1, NodeId(node), Step::Leave);
    }

    /// Node 0 is served three times as often as the others, until it has made its 12 entries.
    const FAVOURED: [u32; 36] = [
        0, 0, 0, 1, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2, //
        1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2,
    ];

    /// Up to the last entry of node 0, the nodes had made 11, 3 and 3.
    const INDEX: f64 = 17.0 * 17.0 / (3.0 * (121.0 + 9.0 + 9.0));

    #[test]
    fn a_node_that_is_served_three_times_as_often_is_seen_though_all_have_equal_shares() {
        let mut measure = measure().with_shares(vec![12; 3]);
        for (at, &node) in (0..).zip(&FAVOURED) {
            turn(&mut measure, 10 * at, node);
        }
        let fairness = measure.summary().fairness;
        assert!((fairness - INDEX).abs() < 1e-12 && fairness < 0.7, "{fairness}");
    }

    #[test]
    fn fairness_counts_the_whole_run_as_long_as_everybody_competes() {
        let mut measure = measure().with_shares(vec![u64::MAX; 3]);
        for (at, node) in (0..).zip([0, 0, 0, 1, 2]) {
            turn(&mut measure, 10 * at, node);
        }
        let expected = 25.0 / (3.0 * 11.0);
        assert!((measure.summary().fairness - expected).abs() < 1e-12);
    }

    #[test]
    fn one_after_the_other_is_perfectly_fair() {
        let mut measure = Measure::new(4, Ra::KINDS).with_shares(vec![3, 3, 3, 0]);
        for (at, node) in (0..).zip([0, 1, 2, 0, 1, 2, 0, 1, 2]) {
            turn(&mut measure, 10 * at, node);
        }
        assert!((measure.summary().fairness - 1.0).abs() < 1e-12, "node 3 never asks");
    }

    fn record(at_ns: u64, node: u32, what: What<RicartAgrawala>) -> Record<RicartAgrawala> {
        Record { at_ns, node: NodeId(node), what }
    }

    fn recorded_turn(at_ns: u64, node: u32) -> [Record<RicartAgrawala>; 3] {
        let ask = Command::Acquire(Claim::Exclusive);
        [
            record(at_ns, node, What::Command(ask)),
            record(at_ns + 2, node, What::Notice(Notice::Entered)),
            record(at_ns + 5, node, What::Command(Command::Release)),
        ]
    }

    #[test]
    fn fairness_of_a_recorded_run_is_seen_from_who_asks_no_more() {
        let run: Vec<_> =
            (0..).zip(FAVOURED).flat_map(|(at, node)| recorded_turn(10 * at, node)).collect();
        assert!((Measure::of(3, Ra::KINDS, &run).summary().fairness - INDEX).abs() < 1e-12);
        // Cut off while all compete, the run is as fair as it is so far.
        let cut = Measure::of(3, Ra::KINDS, &run[..3 * 15]).summary();
        assert!((cut.fairness - 225.0 / (3.0 * 99.0)).abs() < 1e-12, "9, 3 and 3");
    }

    #[test]
    fn the_figures_of_a_recorded_run_are_those_of_its_records() {
        let message = Ra::Request { time: 300 };
        let mut run: Vec<_> =
            recorded_turn(100, 0).into_iter().chain(recorded_turn(110, 1)).collect();
        for (to, seq) in [(1, 0), (2, 0), (0, 0)] {
            run.insert(1, record(101, 0, What::Send { to: NodeId(to), seq, message }));
        }
        run.insert(4, record(102, 1, What::Receive { from: NodeId(0), seq: 0, message }));
        run.insert(5, record(102, 2, What::Lost { to: NodeId(2), seq: 0, why: Loss::Down }));
        let summary = Measure::of(3, Ra::KINDS, &run).summary();
        assert_eq!((summary.entries, summary.messages), (2, 2), "what is told to oneself is free");
        assert_eq!((summary.bytes, summary.bytes_per_entry()), (6, Some(3.0)));
        assert_eq!(summary.messages_per_entry(), Some(1.0));
        assert_eq!(summary.load_max, 2, "node 0 sent two");
        // Handled were 2, 1 and 0.
        assert!((summary.load_fairness - 9.0 / 15.0).abs() < 1e-12);
        assert_eq!((summary.response_mean_ns, summary.response_p99_ns), (Some(5.0), Some(5)));
        assert_eq!((summary.span_ns, summary.sync_delays), (15, 0));
    }

    #[test]
    fn who_crashes_waits_no_more_and_has_no_response() {
        let mut run = vec![record(0, 1, What::Command(Command::Acquire(Claim::Exclusive)))];
        run.push(record(1, 1, What::Crash));
        run.extend(recorded_turn(10, 0));
        run.extend(recorded_turn(20, 2));
        let summary = Measure::of(3, Ra::KINDS, &run).summary();
        assert_eq!(summary.sync_delays, 0, "nobody waited at the exit");
        assert_eq!(summary.response_mean_ns, Some(5.0));
        // In the middle of its turn it would have left after the crash.
        let stay = [record(0, 0, What::Crash), recorded_turn(10, 0)[2].clone()];
        assert_eq!(Measure::of(3, Ra::KINDS, &stay).summary().response_mean_ns, None);
    }

    #[test]
    fn errors_are_those_of_the_run_itself() {
        let mut measure = measure();
        for at in 0..100 {
            measure.on_send(NodeId(0), NodeId(1), Sent::of(&Ra::Request { time: 1 }, NodeId(0)));
            measure.on_send(NodeId(1), NodeId(0), Sent::of(&Ra::Request { time: 1 }, NodeId(1)));
            turn(&mut measure, 10 * at, 0);
        }
        let summary = measure.summary();
        assert_eq!(summary.messages_per_entry_error, Some(0.0), "always two");
        assert_eq!(summary.response_error_ns, Some(0.0), "always one");
        assert_eq!(summary.sync_delay_error_ns, None, "there was no delay");
        // A hundred more, half of them with no message and half with four.
        for at in 100..200 {
            for _ in 0..at % 2 * 4 {
                measure.on_send(
                    NodeId(0),
                    NodeId(1),
                    Sent::of(&Ra::Request { time: 1 }, NodeId(0)),
                );
            }
            turn(&mut measure, 10 * at, 0);
        }
        assert_eq!(measure.summary().messages_per_entry(), Some(2.0));
        let error = measure.messages.error();
        assert_eq!(measure.summary().messages_per_entry_error, error);
        assert_eq!(error, Some(0.0), "batches of four all have eight");
    }
}
