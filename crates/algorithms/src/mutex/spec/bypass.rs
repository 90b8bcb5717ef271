//! No starvation, made checkable: bounded bypass, as Burns, Fischer, Jackson, Lynch and Peterson,
//! "Data requirements for implementation of N-process mutual exclusion using a single shared
//! variable", JACM 29(1), 1982, define it for shared memory.
//!
//! "Everyone gets in at last" says nothing about any finite run. "Nobody is passed more than so
//! often" does: once a node has heard from another that waits, and their claims conflict, it may
//! enter at most a fixed number of times before that one does. To hear from a node is to receive a
//! message that it sent after it asked, whatever the message says.

use alloc::format;
use alloc::vec::Vec;

use vorrang_protocol::{Monitor, NodeId, Violation};

use crate::mutex::{Claim, Command, Notice};

/// No starvation: a node that has heard from a waiting one enters at most `bound` times before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BoundedBypass {
    bound: u32,
    /// Who waits, by node.
    waiting: Vec<Waiting>,
    /// How many requests each node has made.
    requests: Vec<u32>,
    /// Who has heard from whom that it waits, and how often the first has entered since.
    passes: Vec<(NodeId, NodeId, u32)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    node: NodeId,
    claim: Claim,
    request: u32,
}

impl BoundedBypass {
    /// At most `bound` entries of any one node before a waiting one that it has heard from.
    pub fn new(bound: u32) -> Self {
        Self { bound, waiting: Vec::new(), requests: Vec::new(), passes: Vec::new() }
    }

    fn waiting(&self, node: NodeId) -> Option<&Waiting> {
        self.waiting.iter().find(|it| it.node == node)
    }
}

impl Monitor for BoundedBypass {
    type Command = Command;
    type Notice = Notice;
    /// The sender and the number of its waiting request, if it waits.
    type Tag = Option<(NodeId, u32)>;

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(claim) => {
                if self.requests.len() <= at.index() {
                    self.requests.resize(at.index() + 1, 0);
                }
                self.requests[at.index()] += 1;
                let request = self.requests[at.index()];
                let place = self.waiting.partition_point(|it| it.node < at);
                self.waiting.insert(place, Waiting { node: at, claim: *claim, request });
            }
            Command::Release => {}
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, Notice::Entered: &Notice) -> Result<(), Violation> {
        let Some(place) = self.waiting.iter().position(|it| it.node == at) else { return Ok(()) };
        let claim = self.waiting.remove(place).claim;
        self.passes.retain(|&(_, passed, _)| passed != at);
        for (passing, passed, times) in &mut self.passes {
            let conflicts =
                self.waiting.iter().any(|it| it.node == *passed && it.claim.conflicts_with(claim));
            if *passing == at && conflicts {
                *times += 1;
                if *times > self.bound {
                    let (passed, bound) = (*passed, self.bound);
                    let what = format!(
                        "node {at} entered more than {bound} times after it heard from node \
                         {passed}, which still waits"
                    );
                    return Err(Violation { property: "no starvation", what });
                }
            }
        }
        Ok(())
    }

    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }

    fn on_send(&self, at: NodeId) -> Self::Tag {
        self.waiting(at).map(|it| (at, it.request))
    }

    fn on_receive(&mut self, at: NodeId, tag: &Self::Tag) {
        let Some((sender, request)) = *tag else { return };
        if self.waiting(sender).is_some_and(|it| it.request == request) {
            let key = |&(passing, passed, _): &(NodeId, NodeId, u32)| (passing, passed);
            if let Err(place) = self.passes.binary_search_by_key(&(at, sender), key) {
                self.passes.insert(place, (at, sender, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Command = Command::Acquire(Claim::Exclusive);

    /// Node 0 waits; node 1 knows it, and enters again and again.
    fn enters_until_it_objects(bound: u32, claim: Claim) -> u32 {
        let mut monitor = BoundedBypass::new(bound);
        monitor.on_command(NodeId(0), &Command::Acquire(claim)).unwrap();
        let tag = monitor.on_send(NodeId(0));
        monitor.on_receive(NodeId(1), &tag);
        for entries in 0..10 {
            monitor.on_command(NodeId(1), &Command::Acquire(claim)).unwrap();
            if monitor.on_notice(NodeId(1), &Notice::Entered).is_err() {
                return entries;
            }
        }
        10
    }

    #[test]
    fn a_node_may_pass_another_as_often_as_promised() {
        assert_eq!(enters_until_it_objects(1, Claim::Exclusive), 1);
        assert_eq!(enters_until_it_objects(3, Claim::Exclusive), 3);
    }

    #[test]
    fn those_who_share_pass_nobody() {
        assert_eq!(enters_until_it_objects(1, Claim::Shared), 10);
    }

    #[test]
    fn an_entry_wipes_the_slate() {
        let mut monitor = BoundedBypass::new(1);
        for _ in 0..3 {
            monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
            let tag = monitor.on_send(NodeId(0));
            monitor.on_receive(NodeId(1), &tag);
            monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
            monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
            monitor.on_notice(NodeId(0), &Notice::Entered).unwrap();
        }
    }
}
