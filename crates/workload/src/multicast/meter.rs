//! The meter of multicasts.

use std::collections::{BTreeMap, VecDeque};

use vorrang_algorithms::multicast::{Command, Notice};
use vorrang_protocol::{NodeId, NodeSet};
use vorrang_trace::{Meter, Sent, Traffic};

use crate::times::Times;

/// The meter of a multicast.
#[derive(Clone, Debug)]
pub struct Tally {
    traffic: Traffic,
    nodes: u32,
    /// For every kind, whether it carries what applications say.
    is_data: Vec<bool>,
    /// How many control messages have come to each.
    control: Vec<u64>,
    /// The send times of multicasts that are not delivered everywhere.
    said: Vec<Said>,
    multicasts: u64,
    /// How often something was delivered, and of that how often elsewhere.
    delivered: u64,
    /// How often a member gave up a message.
    missed: u64,
    latency: Times,
    /// Messages that have not reached all.
    carried: Vec<Carried>,
    duplicates: u64,
    /// How many were lost to a member before they had reached it.
    losses: u64,
    /// The first loss times of messages that have not arrived since, by member and message.
    lost: BTreeMap<(NodeId, NodeId, u64), u64>,
    recovery: Times,
    buffer_max: usize,
}

/// The multicasts of one member.
#[derive(Clone, Debug, Default)]
struct Said {
    /// Its incarnation.
    life: u64,
    first: u64,
    /// When, and how many others have not delivered it.
    rest: VecDeque<(u64, u32)>,
}

impl Said {
    /// One more has delivered it or never will; when it was said.
    fn done(&mut self, number: u64) -> Option<u64> {
        let place = number.checked_sub(self.first)? as usize;
        let (said_ns, left) = self.rest.get_mut(place)?;
        let said_ns = *said_ns;
        *left = left.saturating_sub(1);
        while self.rest.front().is_some_and(|(_, left)| *left == 0) {
            self.rest.pop_front();
            self.first += 1;
        }
        Some(said_ns)
    }
}

/// The messages of one member.
#[derive(Clone, Debug, Default)]
struct Carried {
    first: u64,
    rest: VecDeque<Copies>,
}

/// The members that a message has reached.
#[derive(Clone, Debug, Default)]
struct Copies {
    got: NodeSet,
    count: u32,
    was_lost: bool,
}

/// How far ahead a message of the same incarnation may be.
const FARTHEST: u64 = 1 << 24;

impl Carried {
    fn get(&mut self, number: u64) -> Option<&mut Copies> {
        let ahead = number.checked_sub(self.first)?;
        // The numbers of another incarnation are far ahead.
        if ahead > (self.rest.len() as u64).saturating_add(FARTHEST) {
            *self = Self { first: number, rest: VecDeque::new() };
        }
        let place = (number - self.first) as usize;
        if self.rest.len() <= place {
            self.rest.resize(place + 1, Copies::default());
        }
        Some(&mut self.rest[place])
    }
}

/// The tag of a message.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    to: NodeId,
    is_data: bool,
    carries: Option<(NodeId, u64)>,
}

impl Tally {
    /// No figures yet, among so many nodes.
    pub fn new(nodes: u32, kinds: &'static [&'static str], data: &[&str]) -> Self {
        let len = nodes as usize;
        Self {
            traffic: Traffic::new(nodes, kinds),
            nodes,
            is_data: kinds.iter().map(|kind| data.contains(kind)).collect(),
            control: vec![0; len],
            said: vec![Said::default(); len],
            multicasts: 0,
            delivered: 0,
            missed: 0,
            latency: Times::default(),
            carried: vec![Carried::default(); len],
            duplicates: 0,
            losses: 0,
            lost: BTreeMap::new(),
            recovery: Times::default(),
            buffer_max: 0,
        }
    }

    /// All messages.
    pub const fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    /// How many messages were multicast.
    pub const fn multicasts(&self) -> u64 {
        self.multicasts
    }
    /// How often something was delivered, at its sender's too.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }
    /// How often a member gave up a message that its sender had dropped.
    pub const fn missed(&self) -> u64 {
        self.missed
    }
    /// From when something is said until another delivers it.
    pub const fn latency(&self) -> Times {
        self.latency
    }
    /// How many copies came of what was there already.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }
    /// How many messages were lost to a member that needed them.
    pub const fn losses(&self) -> u64 {
        self.losses
    }
    /// From when a copy was lost until another came.
    pub const fn recovery(&self) -> Times {
        self.recovery
    }
    /// The most that a member kept.
    pub const fn buffer_max(&self) -> usize {
        self.buffer_max
    }
    /// How many control messages were sent.
    pub fn control(&self) -> u64 {
        let by_kind = self.traffic.by_kind();
        by_kind
            .iter()
            .zip(&self.is_data)
            .filter(|(_, is_data)| !**is_data)
            .map(|(it, _)| it.1)
            .sum()
    }
    /// The most control messages that came to one member.
    pub fn busiest(&self) -> u64 {
        self.control.iter().copied().max().unwrap_or(0)
    }
    /// How many messages of a kind were sent.
    pub fn sent(&self, kind: &str) -> u64 {
        self.traffic.by_kind().iter().filter(|it| it.0 == kind).map(|it| it.1).sum()
    }
}

impl Meter<Command, Notice> for Tally {
    type Tag = Tag;
    type Summary = Self;
    const WEIGHS: bool = true;

    fn on_command(&mut self, at_ns: u64, at: NodeId, command: &Command) {
        match command {
            Command::Cast(_) => {
                self.multicasts += 1;
                self.said[at.index()].rest.push_back((at_ns, self.nodes));
            }
            Command::Leave | Command::Join => {}
        }
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match notice {
            Notice::Delivered { from, incarnation, number, .. } => {
                self.delivered += 1;
                let said = Some(&mut self.said[from.index()]).filter(|it| it.life == *incarnation);
                let said_ns = said.and_then(|said| said.done(*number));
                if let Some(said_ns) = said_ns.filter(|_| at != *from) {
                    self.latency.add(at_ns.saturating_sub(said_ns));
                }
            }
            Notice::Missed { from, first, below } => {
                self.missed += below - first;
                for number in *first..*below {
                    self.said[from.index()].done(number);
                }
            }
            Notice::Begins { from, incarnation, .. } if *from == at => {
                self.said[at.index()] = Said { life: *incarnation, ..Said::default() };
            }
            Notice::Begins { .. }
            | Notice::Removed
            | Notice::Left
            | Notice::Full
            | Notice::Room => {}
        }
    }
    const READS_CONTENT: bool = true;

    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) -> Tag {
        self.traffic.on_send(from, to, sent);
        Tag { to, is_data: self.is_data[usize::from(sent.kind)], carries: sent.carries }
    }
    fn on_receive(&mut self, at_ns: u64, from: NodeId, at: NodeId, tag: Tag) {
        self.traffic.on_receive(from, at);
        self.control[at.index()] += u64::from(!tag.is_data && from != at);
        let Some((source, number)) = tag.carries else { return };
        let carried = &mut self.carried[source.index()];
        let Some(copies) = carried.get(number) else {
            self.duplicates += 1;
            return;
        };
        if source == at || !copies.got.insert(at) {
            self.duplicates += 1;
            return;
        }
        copies.count += 1;
        if copies.was_lost
            && let Some(lost_ns) = self.lost.remove(&(at, source, number))
        {
            self.recovery.add(at_ns.saturating_sub(lost_ns));
        }
        while carried.rest.front().is_some_and(|it| it.count + 1 >= self.nodes) {
            carried.rest.pop_front();
            carried.first += 1;
        }
    }
    fn on_lost(&mut self, at_ns: u64, tag: Tag) {
        let Some((source, number)) = tag.carries else { return };
        let Some(copies) = self.carried[source.index()].get(number) else { return };
        if source != tag.to && !copies.got.contains(tag.to) {
            self.losses += u64::from(!std::mem::replace(&mut copies.was_lost, true));
            self.lost.entry((tag.to, source, number)).or_insert(at_ns);
        }
    }
    fn on_weight(&mut self, _: NodeId, holds: usize) {
        self.buffer_max = self.buffer_max.max(holds);
    }
    fn progress(&self) -> u64 {
        self.delivered
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}
