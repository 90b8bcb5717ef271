//! No starvation, made checkable: bounded bypass, as Burns, Fischer, Jackson, Lynch and Peterson,
//! "Data requirements for implementation of N-process mutual exclusion using a single shared
//! variable", JACM 29(1), 1982, define it for shared memory.
//!
//! "Everyone gets in at last" says nothing about any finite run. "Nobody is passed more than so
//! often" does: once a node knows of a waiting request that conflicts with its own claims, it may
//! enter at most a fixed number of times before that request is granted.

use alloc::format;
use alloc::vec::Vec;

use vorrang_protocol::{Monitor, NodeId, Violation};

use super::knowledge::{Knowledge, Known};
use crate::mutex::{Claim, Command, Notice};

/// No starvation: a node that knows of a waiting request enters at most `bound` times before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BoundedBypass {
    bound: u32,
    knowledge: Knowledge,
    claims: Vec<(NodeId, Claim)>,
    /// How often the first has entered while it knew that the second was waiting; never zero.
    passes: Vec<(NodeId, NodeId, u32)>,
}

impl BoundedBypass {
    /// At most `bound` entries of any one node before a waiting request that it knows of.
    pub fn new(bound: u32) -> Self {
        Self { bound, knowledge: Knowledge::default(), claims: Vec::new(), passes: Vec::new() }
    }

    fn claim(&self, of: NodeId) -> Option<Claim> {
        self.claims.iter().find(|&&(id, _)| id == of).map(|&(_, claim)| claim)
    }

    /// Counts one more pass of `passed` by `at`.
    fn pass(&mut self, at: NodeId, passed: NodeId) -> u32 {
        match self.passes.binary_search_by_key(&(at, passed), |&(at, passed, _)| (at, passed)) {
            Ok(place) => {
                self.passes[place].2 += 1;
                self.passes[place].2
            }
            Err(place) => {
                self.passes.insert(place, (at, passed, 1));
                1
            }
        }
    }
}

impl Monitor for BoundedBypass {
    type Command = Command;
    type Notice = Notice;
    type Tag = Known;

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(claim) => {
                self.knowledge.on_ask(at);
                let place = self.claims.partition_point(|&(id, _)| id < at);
                self.claims.insert(place, (at, *claim));
            }
            Command::Release => {}
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, Notice::Entered: &Notice) -> Result<(), Violation> {
        let known = self.knowledge.known_to(at);
        self.knowledge.on_enter(at);
        let Some(claim) = self.claim(at) else { return Ok(()) };
        self.claims.retain(|&(id, _)| id != at);
        self.passes.retain(|&(_, passed, _)| passed != at);
        for other in known {
            let conflicts = self.claim(other).is_some_and(|it| it.conflicts_with(claim));
            if conflicts && self.pass(at, other) > self.bound {
                let what = format!(
                    "node {at} entered more than {} times while it knew that node {other} waits",
                    self.bound
                );
                return Err(Violation { property: "no starvation", what });
            }
        }
        Ok(())
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
