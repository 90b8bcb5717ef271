//! The state of a stepped run, and its possible next steps.

use std::fmt::Display;
use std::str::FromStr;

use vorrang_protocol::{Monitor, NodeId, Occurrence, Order, Outbox, Protocol};

use super::Stage;

impl<P, M> Stage<P, M>
where
    P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    /// Every step that can be taken, as a line each: which of `commands` the nodes would not
    /// refuse, which messages can arrive, which timers can run out, who can come up again. Not
    /// what may go wrong: any node may crash, and any message be lost or doubled.
    pub fn options(&self, commands: &[P::Command]) -> Vec<String> {
        let mut options = Vec::new();
        for (id, node) in (0..).map(NodeId).zip(&self.nodes) {
            if self.down.contains(id) {
                options.push(Occurrence::<P>::Restart { at: id }.to_string());
                continue;
            }
            let obeys = |command: &&P::Command| {
                node.clone().on_command((*command).clone(), &mut Outbox::default()).is_ok()
            };
            options.extend(
                commands
                    .iter()
                    .filter(obeys)
                    .map(|it| Occurrence::<P>::Command { at: id, command: it.clone() }.to_string()),
            );
        }
        let mut links: Vec<(NodeId, NodeId)> = Vec::new();
        for it in &self.flight {
            let between = (it.from, it.to);
            let (from, to, message) = (it.from, it.to, it.message.clone());
            let waits = self.order == Order::Fifo && links.contains(&between);
            links.push(between);
            let option = Occurrence::<P>::Deliver { from, to, message }.to_string();
            if !waits && !options.contains(&option) {
                options.push(option);
            }
        }
        options.extend(
            self.timers.iter().map(|&(at, timer)| Occurrence::<P>::Timer { at, timer }.to_string()),
        );
        options
    }

    /// Every node's state, as it shows itself; those that are down as they would come up again.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, bool, &P)> {
        (0..).map(NodeId).zip(&self.nodes).map(|(id, it)| (id, !self.down.contains(id), it))
    }

    /// The messages in flight, oldest first, a line each.
    pub fn flight(&self) -> Vec<String> {
        let shown = self.flight.iter();
        shown.map(|it| format!("{} -> {} {}", it.from, it.to, it.message)).collect()
    }

    /// Which timers are armed, those set first first, a line each.
    pub fn timers(&self) -> Vec<String> {
        self.timers.iter().map(|(id, timer)| format!("{id} {timer:?}")).collect()
    }
}
