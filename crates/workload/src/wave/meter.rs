//! The meter.

use vorrang_algorithms::wave::{Command, Gathered, Notice};
use vorrang_protocol::NodeId;
use vorrang_trace::{Meter, Sent, Traffic};

/// Counts what a wave takes.
#[derive(Clone, Debug)]
pub struct Tally {
    /// All messages.
    pub traffic: Traffic,
    /// How far each is from the initiator, in the tree.
    pub depth: Vec<u32>,
    /// How many nodes the wave has reached; one that it has reached again counts again.
    pub taking_part: u64,
    /// How many pieces of work were done.
    pub worked: u64,
    /// When it began, in nanoseconds.
    pub began_ns: Option<u64>,
    /// When the initiator was told, and what.
    pub ended: Option<(u64, Gathered)>,
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, at_ns: u64, _: NodeId, Command::Start: &Command) {
        self.began_ns.get_or_insert(at_ns);
        self.taking_part += 1;
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match notice {
            Notice::Joined { parent } => {
                self.depth[at.index()] = self.depth[parent.index()].saturating_add(1);
                self.taking_part += 1;
            }
            Notice::Worked => self.worked += 1,
            Notice::Done(gathered) | Notice::Over(gathered) => {
                self.ended = Some((at_ns, gathered.clone()));
            }
        }
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        self.traffic.on_send(from, to, sent);
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, (): ()) {
        self.traffic.on_receive(from, at);
    }
    fn progress(&self) -> u64 {
        self.taking_part + self.worked
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}
