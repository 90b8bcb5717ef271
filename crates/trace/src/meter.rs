//! Meters of runs, for all problems.

use std::fmt::Debug;

use vorrang_protocol::{Message, NodeId};

use vorrang_erased::encoded_len;

use crate::fairness::jain;

/// A meter: the costs of a run, in the terms of its problem.
pub trait Meter<C, N>: Debug {
    /// Data that the meter attaches to every message. Each is handed back once, to
    /// [`on_receive`](Self::on_receive) or [`on_lost`](Self::on_lost).
    type Tag: Clone + Debug;
    /// The figures.
    type Summary;

    /// The application asked for something.
    fn on_command(&mut self, at_ns: u64, at: NodeId, command: &C);
    /// The node told its application something.
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &N);
    /// A message goes out.
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) -> Self::Tag;
    /// Whether it reads what messages carry ([`Sent::carries`]).
    const READS_CONTENT: bool = false;
    /// A message arrives.
    fn on_receive(&mut self, at_ns: u64, from: NodeId, at: NodeId, tag: Self::Tag);
    /// The network makes a second message of one: the tag of the second. No node sent it.
    fn on_duplicate(&mut self, tag: &Self::Tag) -> Self::Tag {
        tag.clone()
    }
    /// A message will never arrive.
    fn on_lost(&mut self, _at_ns: u64, _tag: Self::Tag) {}
    /// Whether it asks how much nodes keep.
    const WEIGHS: bool = false;
    /// A node keeps so many messages of applications, after something happened to it.
    fn on_weight(&mut self, _at: NodeId, _holds: usize) {}
    /// A node crashes, and its application with it.
    fn on_crash(&mut self, _at_ns: u64, _at: NodeId) {}
    /// A node comes up again.
    fn on_restart(&mut self, _at_ns: u64, _at: NodeId) {}
    /// How far the run has come, for a bar that shows it.
    fn progress(&self) -> u64;
    /// The figures so far.
    fn summary(&self) -> Self::Summary;
}

/// A message as a meter sees it when it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Its kind.
    pub kind: u16,
    /// How many bytes it takes on a wire, without its frame.
    pub len: u32,
    /// Whether it is another copy of what its sender has just sent to another node: on a broadcast
    /// medium all copies are one transmission.
    pub is_copy: bool,
    /// What it carries ([`Message::carries`]), for a meter that
    /// [reads it](Meter::READS_CONTENT).
    pub carries: Option<(NodeId, u64)>,
}

impl Sent {
    /// A message that this node sent.
    pub fn of(message: &impl Message, from: NodeId) -> Self {
        let (kind, len) = (message.kind() as u16, encoded_len(message) as u32);
        Self { kind, len, is_copy: false, carries: message.carries(from) }
    }

    /// The same, as a copy of the message before it if it is one.
    #[must_use]
    pub const fn copied(self, is_copy: bool) -> Self {
        Self { is_copy, ..self }
    }
}

/// Messages between different nodes: the counts of every run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    kinds: &'static [&'static str],
    by_kind: Vec<u64>,
    transmissions: u64,
    bytes: u64,
    handled: Vec<u64>,
}

impl Traffic {
    /// Nothing has been sent yet among so many nodes, whose messages are of these kinds.
    pub fn new(nodes: u32, kinds: &'static [&'static str]) -> Self {
        let (by_kind, handled) = (vec![0; kinds.len()], vec![0; nodes as usize]);
        Self { kinds, by_kind, transmissions: 0, bytes: 0, handled }
    }

    /// A message goes out.
    #[inline]
    pub fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        if from != to {
            self.by_kind[usize::from(sent.kind)] += 1;
            self.transmissions += u64::from(!sent.is_copy);
            self.bytes += u64::from(sent.len);
            self.handled[from.index()] += 1;
        }
    }

    /// A message arrives.
    #[inline]
    pub fn on_receive(&mut self, from: NodeId, at: NodeId) {
        if from != at {
            self.handled[at.index()] += 1;
        }
    }

    /// How many messages there were.
    pub fn messages(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// How many there would be on a medium on which a broadcast counts once.
    pub const fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// The same, by kind.
    pub fn by_kind(&self) -> Vec<(&'static str, u64)> {
        self.kinds.iter().copied().zip(self.by_kind.iter().copied()).collect()
    }

    /// Their size on the wire, without frames.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The load of the busiest node, and the fairness of load.
    pub fn load(&self) -> (u64, f64) {
        let handled = self.handled.iter().copied();
        (handled.clone().max().unwrap_or(0), jain(handled.map(|count| count as f64)))
    }
}
