//! The meter.

use vorrang_algorithms::election::{Command, Notice};
use vorrang_protocol::NodeId;
use vorrang_trace::{Meter, Sent, Traffic};

/// Counts what an election takes.
#[derive(Clone, Debug)]
pub struct Tally {
    /// All messages.
    pub traffic: Traffic,
    /// How many of each kind arrived.
    pub arrived: Vec<u64>,
    /// The leader of each node; none for crashed ones.
    pub follows: Vec<Option<NodeId>>,
    /// When it began, in nanoseconds.
    pub began_ns: Option<u64>,
    /// When a cable was last plugged in or unplugged, in nanoseconds.
    pub changed_ns: Option<u64>,
    /// The highest generation of a bus reset.
    pub generation: u32,
    /// When the last node was told, in nanoseconds.
    pub ended_ns: u64,
    /// For each node, how many messages in a row led to what it knows.
    pub depth: Vec<u32>,
    /// The longest chain of messages, each caused by the one before.
    pub rounds: u32,
}

/// Whom the nodes of an election follow in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leader {
    /// All follow this one.
    One(NodeId),
    /// Not all follow the same one.
    Divided,
    /// No node follows anybody.
    None,
}

impl Tally {
    /// All that lead, lowest first.
    pub fn leaders(&self) -> Vec<NodeId> {
        let ids = (0..).map(NodeId).zip(&self.follows);
        ids.filter(|(id, follows)| **follows == Some(*id)).map(|(id, _)| id).collect()
    }

    /// The common leader: a live one if there is one, and else one that has crashed.
    pub fn leader(&self) -> Leader {
        let mut leaders: Vec<NodeId> = self.follows.iter().copied().flatten().collect();
        let is_up = |leader: &NodeId| self.follows[leader.index()].is_some();
        if leaders.iter().any(is_up) {
            leaders.retain(is_up);
        }
        match leaders.first() {
            Some(&leader) if leaders.iter().all(|&other| other == leader) => Leader::One(leader),
            Some(_) => Leader::Divided,
            None => Leader::None,
        }
    }
}

impl Meter<Command, Notice> for Tally {
    /// How many messages in a row there were up to this one, and its kind.
    type Tag = (u32, u16);
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, _: NodeId, command: &Command) {
        self.began_ns.get_or_insert(at_ns);
        match command {
            Command::Elect => {}
            Command::Plug(_) | Command::Unplug(_) => self.changed_ns = Some(at_ns),
        }
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match notice {
            Notice::Leader(leader) => {
                self.follows[at.index()] = Some(*leader);
                self.ended_ns = at_ns;
            }
            Notice::Reset(generation) => {
                self.follows[at.index()] = None;
                self.generation = self.generation.max(*generation);
            }
        }
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) -> Self::Tag {
        self.traffic.on_send(from, to, sent);
        (self.depth[from.index()] + 1, sent.kind)
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, (depth, kind): Self::Tag) {
        self.traffic.on_receive(from, at);
        self.arrived[usize::from(kind)] += u64::from(from != at);
        self.depth[at.index()] = self.depth[at.index()].max(depth);
        self.rounds = self.rounds.max(depth);
    }
    fn on_crash(&mut self, _: u64, at: NodeId) {
        self.follows[at.index()] = None;
    }
    fn progress(&self) -> u64 {
        self.follows.iter().filter(|leader| leader.is_some()).count() as u64
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}
