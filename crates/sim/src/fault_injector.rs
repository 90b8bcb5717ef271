//! The faults of a run under way: those to come, and those in effect.
//!
//! Random faults of messages are drawn from generators of their own, one draw for every message and
//! kind, so that none changes any other draw.

use std::collections::{BTreeMap, VecDeque};

use vorrang_protocol::NodeId;

use crate::faults::{Fault, FaultCounts, Faults, Partition, Share, Slow};
use crate::{Link, Random};

/// Faults to come, and faults in effect.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    /// The plan, but for its script; lists are sorted.
    pub(crate) plan: Faults,
    /// Earliest first. It is no part of the queue, so that a fault to come does not keep a run from
    /// being at rest, nor takes a number that a message would have.
    pub(crate) script: VecDeque<(u64, Fault)>,
    losses: Random,
    pub(crate) duplicates: Random,
    reorders: Random,
    /// For the second of two equal messages that is under way, the number of the first.
    pub(crate) copies: BTreeMap<u64, u64>,
    pub(crate) counts: FaultCounts,
    conditions: Vec<Condition>,
    /// For each node, the number of the first event that is not of an earlier life.
    pub(crate) born: Vec<u64>,
    cuts: Vec<Cut>,
    slow: Vec<Slow>,
    pub(crate) patience: ProgressWatch,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Up,
    /// It stands still.
    Still,
    Down,
}

/// A partition or a cut link, there now or in the past: what was sent before it began may still be
/// under way.
#[derive(Debug)]
struct Cut {
    of: Separation,
    /// The number of the first event that was planned after it began.
    began: u64,
    is_over: bool,
}

/// What keeps messages from arriving.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Separation {
    Partition(Partition),
    Link(Link),
}

impl Separation {
    fn separates(&self, from: NodeId, to: NodeId) -> bool {
        match self {
            Self::Partition(partition) => partition.separates(from, to),
            Self::Link(link) => link.carries(from, to),
        }
    }
}

/// Whether a run makes progress. Where messages travel for ever, a run in which a node waits in
/// vain would never end.
#[derive(Debug)]
pub(crate) struct ProgressWatch {
    /// So many events in a row without progress are too many.
    most: u64,
    /// The progress that was last seen, and after how many events.
    seen: (u64, u64),
    pub(crate) is_over: bool,
}

impl ProgressWatch {
    /// More events than any algorithm needs for progress among so many nodes: all may have to send
    /// to all others. It takes more where messages are lost by chance, perhaps most of them, or
    /// where links are slow.
    fn of(nodes: u64, is_patient: bool) -> Self {
        let square = nodes.saturating_mul(nodes);
        let shift = if is_patient { 12 } else { 10 };
        let most =
            (square << shift).clamp(1 << (shift + 4), 1 << 22).max(square.saturating_mul(16));
        Self { most, seen: (0, 0), is_over: false }
    }

    /// As long as there are faults to come, who knows what they are good for.
    pub(crate) fn look(&mut self, progress: u64, events: u64, has_faults_to_come: bool) {
        if progress != self.seen.0 || has_faults_to_come {
            self.seen = (progress, events);
        }
        self.is_over = events - self.seen.1 > self.most;
    }
}

/// The fate of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) is_lost: bool,
    pub(crate) is_doubled: bool,
    pub(crate) is_overtaken: bool,
}

impl FaultInjector {
    /// When so much time has passed by the clock of a node.
    pub(crate) fn by_clock(&self, at: NodeId, in_ns: u64) -> u64 {
        let clock = self.plan.clocks.iter().find(|it| it.node == at);
        clock.map_or(in_ns, |clock| clock.until(in_ns))
    }

    pub(crate) fn new(mut plan: Faults, nodes: usize, seed: u64) -> Self {
        let mut script = std::mem::take(&mut plan.script);
        for (_, fault) in &script {
            if let Some(node) = fault.largest() {
                assert!(node.index() < nodes, "there is no node {node} among {nodes} to go wrong");
            }
        }
        script.sort_by_key(|&(at_ns, _)| at_ns);
        for numbers in [&mut plan.lost, &mut plan.doubled, &mut plan.delayed] {
            numbers.sort_unstable();
        }
        let is_slow = |(_, fault): &(u64, Fault)| matches!(fault, Fault::Slow(_));
        let is_patient = plan.loss != Share::default() || script.iter().any(is_slow);
        Self {
            plan,
            script: script.into(),
            // Other generators than the one of all other draws, decided by the same seed.
            losses: Random::new(seed ^ 0x5dee_ce66_d154_21c5),
            duplicates: Random::new(seed ^ 0x2545_f491_4f6c_dd1d),
            reorders: Random::new(seed ^ 0x6c62_272e_07bb_0142),
            copies: BTreeMap::new(),
            counts: FaultCounts::default(),
            conditions: vec![Condition::Up; nodes],
            born: vec![0; nodes],
            cuts: Vec::new(),
            slow: Vec::new(),
            patience: ProgressWatch::of(nodes as u64, is_patient),
        }
    }

    /// Whether messages may take longer than the network says.
    pub(crate) fn has_slow_links(&self) -> bool {
        self.script.iter().any(|(_, fault)| matches!(fault, Fault::Slow(_)))
    }

    /// The next fault of the script, if it comes no later than this.
    pub(crate) fn next_fault(&mut self, next_ns: u64) -> Option<(u64, Fault)> {
        let &(at_ns, _) = self.script.front()?;
        if at_ns <= next_ns { self.script.pop_front() } else { None }
    }

    pub(crate) fn has_faults_to_come(&self) -> bool {
        !self.script.is_empty()
    }

    pub(crate) fn condition(&self, node: NodeId) -> Condition {
        self.conditions[node.index()]
    }

    pub(crate) fn is_down(&self, node: NodeId) -> bool {
        self.condition(node) == Condition::Down
    }

    /// A node crashes; false if it was down.
    pub(crate) fn crash(&mut self, node: NodeId, next_number: u64) -> bool {
        let was_up = !self.is_down(node);
        self.conditions[node.index()] = Condition::Down;
        self.born[node.index()] = next_number;
        self.counts.crashes += u64::from(was_up);
        was_up
    }

    /// A node comes up again; false if it was up.
    pub(crate) fn restart(&mut self, node: NodeId) -> bool {
        let is_so = self.turn(node, Condition::Down, Condition::Up);
        self.counts.restarts += u64::from(is_so);
        is_so
    }

    /// A node stands still from now on; false if it did, or is down.
    pub(crate) fn pause(&mut self, node: NodeId) -> bool {
        let is_so = self.turn(node, Condition::Up, Condition::Still);
        self.counts.pauses += u64::from(is_so);
        is_so
    }

    /// A node goes on; false if it did not stand still.
    pub(crate) fn resume(&mut self, node: NodeId) -> bool {
        self.turn(node, Condition::Still, Condition::Up)
    }

    fn turn(&mut self, node: NodeId, from: Condition, to: Condition) -> bool {
        let is_so = self.condition(node) == from;
        if is_so {
            self.conditions[node.index()] = to;
        }
        is_so
    }

    pub(crate) fn cut(&mut self, of: Separation, began: u64) {
        self.counts.partitions += 1;
        self.cuts.push(Cut { of, began, is_over: false });
    }

    /// It is over; false if it was not there.
    pub(crate) fn heal(&mut self, of: &Separation) -> bool {
        let found = self.cuts.iter_mut().find(|it| !it.is_over && it.of == *of);
        found.map(|cut| cut.is_over = true).is_some()
    }

    pub(crate) fn slow(&mut self, slow: Slow) {
        self.slow.push(slow);
    }

    /// Links are no longer slow; false if they were not.
    pub(crate) fn recover(&mut self, slow: Slow) -> bool {
        let place = self.slow.iter().position(|it| *it == slow);
        place.map(|place| self.slow.swap_remove(place)).is_some()
    }

    /// Whether messages sent now are lost.
    pub(crate) fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        self.cuts.iter().any(|cut| !cut.is_over && cut.of.separates(from, to))
    }

    /// Whether a partition came between two nodes while the message of event `number` was under
    /// way.
    pub(crate) fn was_cut(&self, number: u64, from: NodeId, to: NodeId) -> bool {
        self.cuts.iter().any(|cut| number < cut.began && cut.of.separates(from, to))
    }

    /// How long a message takes that would take so long.
    pub(crate) fn slowed_ns(&self, in_ns: u64, from: NodeId, to: NodeId) -> u64 {
        let slow = self.slow.iter().filter(|slow| from != to && slow.concerns(from, to));
        slow.fold(in_ns, |in_ns, slow| slow.by.after(in_ns))
    }

    /// Whether a link loses something by chance.
    pub(crate) fn link_loses(&mut self, now_ns: u64) -> bool {
        let is_over = self.plan.until_ns.is_some_and(|until_ns| now_ns >= until_ns);
        !is_over && self.plan.loss.draw(&mut self.losses)
    }

    /// The fate of a message; where it is forwarded along links, it is known whether it was lost by
    /// chance.
    pub(crate) fn fate(&mut self, seq: u64, now_ns: u64, on_its_way: Option<bool>) -> Fate {
        let Faults { lost, doubled, delayed, loss, duplication, reordering, until_ns, .. } =
            &self.plan;
        let has = |numbers: &[u64]| numbers.binary_search(&seq).is_ok();
        let mut fate =
            Fate { is_lost: has(lost), is_doubled: has(doubled), is_overtaken: has(delayed) };
        if until_ns.is_none_or(|until_ns| now_ns < until_ns) {
            fate.is_lost |= on_its_way.unwrap_or_else(|| loss.draw(&mut self.losses));
            fate.is_doubled |= duplication.draw(&mut self.duplicates);
            fate.is_overtaken |= reordering.draw(&mut self.reorders);
        }
        fate
    }

    /// The number that the message of event `number` was sent with.
    pub(crate) fn sent_as(&mut self, number: u64) -> u64 {
        self.copies.remove(&number).unwrap_or(number)
    }
}
