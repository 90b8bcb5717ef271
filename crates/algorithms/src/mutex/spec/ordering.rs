//! Ordering, after Lamport, CACM 21(7), 1978, condition II: requests are granted in the order in
//! which they are made, as far as "order" means anything between nodes: happened-before.

use alloc::format;
use alloc::vec::Vec;

use vorrang_protocol::{Monitor, NodeId, Violation};

use super::knowledge::{Knowledge, Known};
use crate::mutex::{Claim, Command, Notice};

/// Ordering: if one request happened before another, and their claims conflict, it enters first.
///
/// A request made by a node that knows of another one, still waiting, came after it and must not
/// enter first. An objection does not stop the monitor, so that a caller may count overtakings
/// instead of ending at the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct HappenedBefore {
    knowledge: Knowledge,
    /// For each node its waiting request: the claim, and the waiting requests that happened before
    /// it.
    waiting: Vec<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    node: NodeId,
    claim: Claim,
    elders: Vec<NodeId>,
}

impl HappenedBefore {
    fn place(&self, node: NodeId) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&node, |it| it.node)
    }

    fn claim(&self, node: NodeId) -> Option<Claim> {
        self.place(node).ok().map(|place| self.waiting[place].claim)
    }
}

impl Monitor for HappenedBefore {
    type Command = Command;
    type Notice = Notice;
    type Tag = Known;

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(claim) => {
                let mut elders = self.knowledge.on_ask(at);
                elders.retain(|&it| self.claim(it).is_some_and(|it| it.conflicts_with(*claim)));
                if let Err(place) = self.place(at) {
                    self.waiting.insert(place, Waiting { node: at, claim: *claim, elders });
                }
            }
            Command::Release => {}
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        if !notice.is_entry() {
            return Ok(());
        }
        self.knowledge.on_enter(at);
        let Ok(place) = self.place(at) else { return Ok(()) };
        let overtaken = self.waiting.remove(place).elders.first().copied();
        for other in &mut self.waiting {
            other.elders.retain(|&elder| elder != at);
        }
        match overtaken {
            None => Ok(()),
            Some(elder) => {
                let what = format!(
                    "node {at} entered before node {elder}, whose request happened before its own"
                );
                Err(Violation { property: "ordering", what })
            }
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }

    fn on_send(&self, at: NodeId) -> Known {
        self.knowledge.on_send(at)
    }

    fn on_receive(&mut self, at: NodeId, tag: &Known) {
        self.knowledge.on_receive(at, tag);
    }

    fn on_crash(&mut self, at: NodeId) {
        self.knowledge.on_crash(at);
        self.waiting.retain(|it| it.node != at);
        for other in &mut self.waiting {
            other.elders.retain(|&elder| elder != at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Command = Command::Acquire(Claim::Exclusive);

    #[test]
    fn a_request_that_knew_of_another_must_not_overtake_it() {
        let mut monitor = HappenedBefore::default();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        let tag = monitor.on_send(NodeId(0));
        monitor.on_receive(NodeId(1), &tag);
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        let mut overtaken = monitor.clone();
        let violation = overtaken.on_notice(NodeId(1), &Notice::Entered).unwrap_err();
        assert_eq!(violation.property, "ordering");
        monitor.on_notice(NodeId(0), &Notice::Entered).unwrap();
        monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
    }

    #[test]
    fn concurrent_requests_may_enter_in_any_order() {
        let mut monitor = HappenedBefore::default();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
        monitor.on_notice(NodeId(0), &Notice::Entered).unwrap();
    }

    #[test]
    fn news_of_a_request_already_served_is_no_news() {
        let mut monitor = HappenedBefore::default();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        let old = monitor.on_send(NodeId(0));
        monitor.on_notice(NodeId(0), &Notice::Entered).unwrap();
        monitor.on_command(NodeId(0), &Command::Release).unwrap();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        monitor.on_receive(NodeId(1), &old);
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
    }

    #[test]
    fn whoever_crashes_can_be_overtaken() {
        let mut monitor = HappenedBefore::default();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        let tag = monitor.on_send(NodeId(0));
        monitor.on_receive(NodeId(1), &tag);
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        monitor.on_crash(NodeId(0));
        monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
    }

    #[test]
    fn readers_may_overtake_readers_but_not_writers() {
        for (claim, may) in [(Claim::Shared, true), (Claim::Exclusive, false)] {
            let mut monitor = HappenedBefore::default();
            monitor.on_command(NodeId(0), &Command::Acquire(claim)).unwrap();
            let tag = monitor.on_send(NodeId(0));
            monitor.on_receive(NodeId(1), &tag);
            monitor.on_command(NodeId(1), &Command::Acquire(Claim::Shared)).unwrap();
            assert_eq!(monitor.on_notice(NodeId(1), &Notice::Entered).is_ok(), may);
        }
    }

    #[test]
    fn whoever_crashes_forgets_which_requests_it_knew_of() {
        let mut monitor = HappenedBefore::default();
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        let tag = monitor.on_send(NodeId(0));
        monitor.on_receive(NodeId(1), &tag);
        monitor.on_crash(NodeId(1));
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
    }
}
