//! No starvation, made checkable: bounded bypass, as Burns, Fischer, Jackson, Lynch and Peterson,
//! "Data requirements for implementation of N-process mutual exclusion using a single shared
//! variable", JACM 29(1), 1982, define it for shared memory.
//!
//! "Every request is granted eventually" says nothing about any finite run. Bounded bypass does:
//! once a node has been told of a waiting request that conflicts with its own claims, it may enter
//! at most a fixed number of times before that request is granted.
//!
//! *Told* means that something that the asker sent since it asked has arrived: at the node itself,
//! or at a coordinator. What a node could have concluded from what third parties sent
//! does not count; an algorithm that spreads requests from node to node could not keep such a
//! promise.

use alloc::format;
use alloc::vec::Vec;

use vorrang_protocol::{Monitor, NodeId, NodeSet, Violation};

use crate::mutex::{Claim, Command, Notice};

/// No starvation: a node that was told of a waiting request enters at most `bound` times before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BoundedBypass {
    bound: u32,
    /// Coordinators, which decide for all: a request that has reached one counts as known to all.
    desks: NodeSet,
    /// How many requests each node has made, up to the last that has made any.
    requests: Vec<u32>,
    /// By node.
    waiting: Vec<Waiting>,
}

/// A request that has not been granted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    node: NodeId,
    claim: Claim,
    told: Told,
    /// How often a node has entered though it was told; never zero. By node.
    passes: Vec<(NodeId, u32)>,
}

/// The nodes that were told of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Told {
    These(NodeSet),
    Everyone,
}

impl BoundedBypass {
    /// At most `bound` entries of any one node before a waiting request that it was told of.
    pub fn new(bound: u32, desks: NodeSet) -> Self {
        Self { bound, desks, requests: Vec::new(), waiting: Vec::new() }
    }

    fn place(&self, node: NodeId) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&node, |it| it.node)
    }

    fn number(&self, node: NodeId) -> u32 {
        self.requests.get(node.index()).copied().unwrap_or(0)
    }
}

impl Waiting {
    fn knows(&self, node: NodeId) -> bool {
        match &self.told {
            Told::These(nodes) => nodes.contains(node),
            Told::Everyone => true,
        }
    }

    /// Counts one more pass.
    fn pass(&mut self, by: NodeId) -> u32 {
        match self.passes.binary_search_by_key(&by, |&(node, _)| node) {
            Ok(place) => {
                self.passes[place].1 += 1;
                self.passes[place].1
            }
            Err(place) => {
                self.passes.insert(place, (by, 1));
                1
            }
        }
    }
}

impl Monitor for BoundedBypass {
    type Command = Command;
    type Notice = Notice;
    /// Whose waiting request the message tells of: who waits, and its how manieth request that is.
    type Tag = Option<(NodeId, u32)>;

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(claim) => {
                if self.requests.len() <= at.index() {
                    self.requests.resize(at.index() + 1, 0);
                }
                self.requests[at.index()] += 1;
                // A coordinator's own request has reached it.
                let told = if self.desks.contains(at) {
                    Told::Everyone
                } else {
                    Told::These(NodeSet::EMPTY)
                };
                let request = Waiting { node: at, claim: *claim, told, passes: Vec::new() };
                match self.place(at) {
                    Ok(place) => self.waiting[place] = request,
                    Err(place) => self.waiting.insert(place, request),
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
        let Ok(place) = self.place(at) else { return Ok(()) };
        let claim = self.waiting.remove(place).claim;
        for other in &mut self.waiting {
            let passes = other.knows(at) && other.claim.conflicts_with(claim);
            if passes && other.pass(at) > self.bound {
                let what = format!(
                    "node {at} entered more than {} times since it was told that node {} waits",
                    self.bound, other.node
                );
                return Err(Violation { property: "no starvation", what });
            }
        }
        Ok(())
    }

    fn at_rest(&self) -> Result<(), Violation> {
        Ok(())
    }

    fn on_send(&self, at: NodeId) -> Self::Tag {
        self.place(at).ok().map(|_| (at, self.number(at)))
    }

    fn on_receive(&mut self, at: NodeId, tag: &Self::Tag) {
        let Some((asker, number)) = *tag else { return };
        if let Ok(place) = self.place(asker)
            && self.number(asker) == number
        {
            match (&mut self.waiting[place].told, self.desks.contains(at)) {
                (told, true) => *told = Told::Everyone,
                (Told::These(nodes), false) => {
                    nodes.insert(at);
                }
                (Told::Everyone, false) => {}
            }
        }
    }

    /// A crashed node cannot be bypassed, and knows of no request.
    fn on_crash(&mut self, at: NodeId) {
        self.waiting.retain(|it| it.node != at);
        for other in &mut self.waiting {
            if let Told::These(nodes) = &mut other.told {
                nodes.remove(at);
            }
            other.passes.retain(|&(node, _)| node != at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Command = Command::Acquire(Claim::Exclusive);

    fn monitor(bound: u32) -> BoundedBypass {
        BoundedBypass::new(bound, NodeSet::EMPTY)
    }

    fn tell(monitor: &mut BoundedBypass, from: u32, to: u32) {
        let tag = monitor.on_send(NodeId(from));
        monitor.on_receive(NodeId(to), &tag);
    }

    /// How often node 1 enters, again and again, before the monitor objects; ten if it never does.
    fn entries_of_1(monitor: &mut BoundedBypass, claim: Claim) -> u32 {
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
        for bound in [0, 1, 3] {
            let mut monitor = monitor(bound);
            monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
            tell(&mut monitor, 0, 1);
            assert_eq!(entries_of_1(&mut monitor, Claim::Exclusive), bound);
        }
    }

    #[test]
    fn those_who_share_pass_nobody() {
        let mut monitor = monitor(1);
        monitor.on_command(NodeId(0), &Command::Acquire(Claim::Shared)).unwrap();
        tell(&mut monitor, 0, 1);
        assert_eq!(entries_of_1(&mut monitor, Claim::Shared), 10);
    }

    #[test]
    fn what_third_parties_say_tells_nobody() {
        let mut monitor = monitor(1);
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        tell(&mut monitor, 0, 2);
        tell(&mut monitor, 2, 1);
        assert_eq!(entries_of_1(&mut monitor, Claim::Exclusive), 10);
    }

    #[test]
    fn what_a_desk_is_told_everyone_is() {
        let mut monitor = BoundedBypass::new(1, [NodeId(2)].into_iter().collect());
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        tell(&mut monitor, 0, 2);
        assert_eq!(entries_of_1(&mut monitor, Claim::Exclusive), 1);
    }

    #[test]
    fn a_message_of_an_earlier_request_tells_nothing_of_this_one() {
        let mut monitor = monitor(1);
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        let old = monitor.on_send(NodeId(0));
        monitor.on_notice(NodeId(0), &Notice::Entered).unwrap();
        assert_eq!(monitor.on_send(NodeId(0)), None);
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        monitor.on_receive(NodeId(1), &old);
        assert_eq!(entries_of_1(&mut monitor, Claim::Exclusive), 10);
    }

    #[test]
    fn whoever_crashes_cannot_be_passed_and_forgets_what_it_was_told() {
        let mut monitor = monitor(1);
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        tell(&mut monitor, 0, 1);
        let mut forgetful = monitor.clone();
        forgetful.on_crash(NodeId(1));
        assert_eq!(entries_of_1(&mut forgetful, Claim::Exclusive), 10);
        monitor.on_crash(NodeId(0));
        assert_eq!(entries_of_1(&mut monitor, Claim::Exclusive), 10);
    }

    #[test]
    fn an_entry_wipes_the_slate() {
        let mut monitor = monitor(1);
        for _ in 0..3 {
            monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
            tell(&mut monitor, 0, 1);
            monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
            monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
            monitor.on_notice(NodeId(0), &Notice::Entered).unwrap();
        }
    }

    #[test]
    fn entries_before_a_crash_do_not_count_after_it() {
        let mut monitor = monitor(2);
        monitor.on_command(NodeId(0), &EXCLUSIVE).unwrap();
        tell(&mut monitor, 0, 1);
        monitor.on_command(NodeId(1), &EXCLUSIVE).unwrap();
        monitor.on_notice(NodeId(1), &Notice::Entered).unwrap();
        monitor.on_crash(NodeId(1));
        tell(&mut monitor, 0, 1);
        assert_eq!(entries_of_1(&mut monitor, Claim::Exclusive), 2);
    }
}
