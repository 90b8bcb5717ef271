//! What is measured.

use vorrang_algorithms::election::{Command, Notice};
use vorrang_protocol::NodeId;
use vorrang_trace::{Meter, Sent, Traffic};

use crate::figures::Reading;

/// Counts what an election takes.
#[derive(Clone, Debug)]
pub struct Tally {
    pub(super) traffic: Traffic,
    /// Whom each follows; those that are down nobody.
    pub(super) follows: Vec<Option<NodeId>>,
    pub(super) began_ns: Option<u64>,
    pub(super) ended_ns: u64,
    /// For each node, how many messages in a row led to what it knows.
    pub(super) depth: Vec<u32>,
    pub(super) rounds: u32,
}

impl Tally {
    /// Whom all follow: who of them is up if somebody is, and else one that has gone down.
    pub(super) fn leader(&self) -> Reading {
        let mut leaders: Vec<NodeId> = self.follows.iter().copied().flatten().collect();
        let is_up = |leader: &NodeId| self.follows[leader.index()].is_some();
        if leaders.iter().any(is_up) {
            leaders.retain(is_up);
        }
        match leaders.first() {
            Some(&leader) if leaders.iter().all(|&other| other == leader) => {
                Reading::Count(leader.0.into())
            }
            Some(_) => Reading::Text("divided".to_owned()),
            None => Reading::Unknown,
        }
    }
}

impl Meter<Command, Notice> for Tally {
    /// How many messages in a row there were up to this one.
    type Tag = u32;
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, _: NodeId, Command::Elect: &Command) {
        self.began_ns.get_or_insert(at_ns);
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, Notice::Leader(leader): &Notice) {
        self.follows[at.index()] = Some(*leader);
        self.ended_ns = at_ns;
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) -> u32 {
        self.traffic.on_send(from, to, sent);
        self.depth[from.index()] + 1
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, depth: u32) {
        self.traffic.on_receive(from, at);
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
