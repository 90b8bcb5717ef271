//! The workload of a multicast.

use vorrang_algorithms::multicast::{Command, Notice, Text};
use vorrang_protocol::NodeId;
use vorrang_sim::{Distribution, Workload, WorkloadEffects};

use super::meter::Tally;

/// The first so many members say something now and then.
#[derive(Clone, Debug)]
pub struct MulticastWorkload {
    /// How often each is still to speak.
    left: Vec<u64>,
    /// How long each waits from one time to the next.
    every: Distribution,
    /// Members whose window is full.
    is_full: Vec<bool>,
    /// Members that are about to leave or have left.
    is_out: Vec<bool>,
    /// Who leaves or joins, and when.
    moves: Vec<(u64, NodeId, Command)>,
    /// Members that would have multicast meanwhile.
    is_late: Vec<bool>,
    /// The kinds of messages that carry payload.
    data: &'static [&'static str],
}

impl MulticastWorkload {
    /// Nodes that multicast so many messages.
    pub fn new(
        (multicasts, senders): (u64, u32),
        every: Distribution,
        nodes: u32,
        data: &'static [&'static str],
    ) -> Self {
        let nodes = nodes as usize;
        let flags = || vec![false; nodes];
        let left = shares(multicasts, senders);
        let (is_full, is_out, is_late) = (flags(), flags(), flags());
        Self { left, every, is_full, is_out, moves: Vec::new(), is_late, data }
    }

    /// The same, where these leave or join, each after so many nanoseconds.
    #[must_use]
    pub fn moving(self, moves: Vec<(u64, NodeId, Command)>) -> Self {
        Self { moves, ..self }
    }

    /// The next time of a member that has something to say.
    fn speak_later(&self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        if self.left.get(at.index()).is_some_and(|&left| left > 0) {
            let in_ns = orders.draw(self.every);
            orders.command_in(in_ns, at, Command::Cast(Text::default()));
        }
    }
}

/// How often each of so many speaks, if all do so as often as all others, or once more.
pub fn shares(multicasts: u64, senders: u32) -> Vec<u64> {
    let senders = u64::from(senders);
    (0..senders).map(|at| multicasts / senders + u64::from(at < multicasts % senders)).collect()
}

impl Workload<Command, Notice> for MulticastWorkload {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally::new(nodes, kinds, self.data)
    }
    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Command>) {
        for at in 0..self.left.len() as u32 {
            self.speak_later(NodeId(at), orders);
        }
        for (in_ns, at, command) in std::mem::take(&mut self.moves) {
            orders.command_in(in_ns, at, command);
        }
    }
    /// Who has no room waits, and so does who is not in; nobody leaves or joins twice.
    fn withholds(&mut self, at: NodeId, command: &Command) -> bool {
        let at = at.index();
        match command {
            Command::Cast(_) => {
                let waits = self.is_full[at] || self.is_out[at];
                self.is_late[at] |= waits;
                waits
            }
            Command::Leave => self.is_out[at],
            Command::Join => !self.is_out[at],
        }
    }
    fn on_command(
        &mut self,
        at: NodeId,
        command: &Command,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        match command {
            Command::Cast(_) => {
                self.left[at.index()] -= 1;
                self.speak_later(at, orders);
            }
            Command::Leave => self.is_out[at.index()] = true,
            // Who had not left yet stays.
            Command::Join => {
                self.is_out[at.index()] = false;
                if std::mem::take(&mut self.is_late[at.index()]) {
                    orders.command_in(0, at, Command::Cast(Text::default()));
                }
            }
        }
    }
    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Command>,
    ) {
        match notice {
            Notice::Delivered { .. } | Notice::Missed { .. } | Notice::Removed | Notice::Left => {}
            Notice::Full => self.is_full[at.index()] = true,
            Notice::Begins { from, .. } if *from != at => {}
            Notice::Room | Notice::Begins { .. } => {
                self.is_full[at.index()] = false;
                if matches!(notice, Notice::Begins { .. }) {
                    self.is_out[at.index()] = false;
                }
                if !self.is_out[at.index()] && std::mem::take(&mut self.is_late[at.index()]) {
                    orders.command_in(0, at, Command::Cast(Text::default()));
                }
            }
        }
    }
    /// Its pending multicasts are lost.
    fn on_crash(&mut self, at: NodeId, _: &mut WorkloadEffects<'_, Command>) {
        self.is_full[at.index()] = false;
        self.is_out[at.index()] = false;
        self.is_late[at.index()] = false;
    }
    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Command>) {
        self.speak_later(at, orders);
    }
}

/// The sender of each multicast when all take turns, each as often as its share.
pub fn in_rounds(shares: &[u64]) -> Vec<NodeId> {
    let most = shares.iter().copied().max().unwrap_or(0);
    let round = |round| {
        let speaks = shares.iter().enumerate().filter(move |(_, count)| round < **count);
        speaks.map(|(at, _)| NodeId(at as u32))
    };
    (0..most).flat_map(round).collect()
}
