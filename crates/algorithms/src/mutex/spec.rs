//! What must hold, whatever the algorithm: each property a monitor of its own.
//!
//! | property | monitor | says |
//! | --- | --- | --- |
//! | `exclusion` | [`Exclusion`] | nobody enters beside a claim that forbids it |
//! | `progress` | [`Exclusion`] | when nothing more can happen, nobody is left waiting |
//! | `ordering` | [`HappenedBefore`] | a request that happened before another enters first |

use alloc::format;
use alloc::vec::Vec;

use vorrang_protocol::{Monitor, NodeId, NodeSet, Violation};

use super::{Claim, Command, Notice};

/// Who may be inside together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Admission {
    /// One at a time.
    #[default]
    One,
    /// Any of them, but at most so many: k-exclusion.
    UpTo(u32),
    /// Those whose claims do not conflict: readers and writers, groups.
    Compatible,
}

/// Exclusion and progress: nobody enters beside a claim that forbids it, nobody enters unasked, and
/// when nothing more can happen, nobody is left waiting.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Exclusion {
    admission: Admission,
    waiting: NodeSet,
    inside: NodeSet,
    /// The claims of those waiting or inside that are not exclusive, by node.
    claims: Vec<(NodeId, Claim)>,
}

impl Exclusion {
    /// Nobody is inside, and those enter whom `admission` lets in.
    pub fn new(admission: Admission) -> Self {
        Self { admission, ..Self::default() }
    }

    fn claim(&self, of: NodeId) -> Claim {
        self.claims
            .binary_search_by_key(&of, |&(id, _)| id)
            .map_or(Claim::Exclusive, |place| self.claims[place].1)
    }

    fn forget_claim(&mut self, of: NodeId) {
        self.claims.retain(|&(id, _)| id != of);
    }

    /// The node inside that forbids `newcomer` to enter.
    fn obstacle(&self, newcomer: NodeId) -> Option<NodeId> {
        match self.admission {
            Admission::One => self.inside.iter().next(),
            Admission::UpTo(k) => self.inside.iter().nth(k.saturating_sub(1) as usize),
            Admission::Compatible => {
                let claim = self.claim(newcomer);
                self.inside.iter().find(|&id| self.claim(id).conflicts_with(claim))
            }
        }
    }
}

impl Monitor for Exclusion {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(claim) => {
                self.waiting.insert(at);
                if *claim != Claim::Exclusive {
                    let place = self.claims.partition_point(|&(id, _)| id < at);
                    self.claims.insert(place, (at, *claim));
                }
            }
            Command::Release => {
                self.inside.remove(at);
                self.forget_claim(at);
            }
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, Notice::Entered: &Notice) -> Result<(), Violation> {
        if !self.waiting.remove(at) {
            let what = format!("node {at} entered without having asked");
            return Err(Violation { property: "exclusion", what });
        }
        let obstacle = self.obstacle(at);
        self.inside.insert(at);
        match obstacle {
            None => Ok(()),
            Some(other) => {
                let what = format!("node {at} entered while node {other} was inside");
                Err(Violation { property: "exclusion", what })
            }
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.waiting.iter().next() {
            None => Ok(()),
            Some(id) => {
                let what = format!("nothing more can happen, and node {id} still waits");
                Err(Violation { property: "progress", what })
            }
        }
    }
}

/// Ordering: if one request happened before another, in Lamport's sense, it enters before it.
///
/// Every message carries which waiting requests its sender knew of. A request that knows of
/// another one, still waiting, came after it and must not enter first. An objection does not stop
/// the monitor, so that a caller may count overtakings instead of ending at the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct HappenedBefore {
    nodes: Vec<Standing>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Standing {
    /// How many requests the node has made; the last of them is waiting or served.
    requests: u32,
    waiting: bool,
    /// For every node, the number of its waiting request that this one knows of; 0 for none.
    knows: Vec<u32>,
    /// Whose waiting requests happened before this one's.
    elders: NodeSet,
}

impl HappenedBefore {
    fn grow_to(&mut self, id: NodeId) -> &mut Standing {
        if self.nodes.len() <= id.index() {
            self.nodes.resize_with(id.index() + 1, Standing::default);
        }
        &mut self.nodes[id.index()]
    }

    fn is_waiting(&self, node: usize, request: u32) -> bool {
        self.nodes.get(node).is_some_and(|it| it.waiting && it.requests == request)
    }
}

impl Monitor for HappenedBefore {
    type Command = Command;
    type Notice = Notice;
    type Tag = Vec<u32>;

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        if let Command::Acquire(_) = command {
            let standing = self.grow_to(at);
            standing.requests += 1;
            standing.waiting = true;
            let known = standing.knows.iter().enumerate().filter(|&(_, &request)| request > 0);
            standing.elders = known.map(|(node, _)| NodeId(node as u32)).collect();
            let request = standing.requests;
            learn(&mut standing.knows, at.index(), request);
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, Notice::Entered: &Notice) -> Result<(), Violation> {
        let standing = self.grow_to(at);
        standing.waiting = false;
        let overtaken = core::mem::take(&mut standing.elders).iter().next();
        for node in &mut self.nodes {
            node.elders.remove(at);
            forget(&mut node.knows, at.index());
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

    fn on_send(&self, at: NodeId) -> Vec<u32> {
        self.nodes.get(at.index()).map_or_else(Vec::new, |standing| standing.knows.clone())
    }

    fn on_receive(&mut self, at: NodeId, tag: &Vec<u32>) {
        for (node, &request) in tag.iter().enumerate() {
            if request > 0 && self.is_waiting(node, request) {
                learn(&mut self.grow_to(at).knows, node, request);
            }
        }
    }
}

/// Sets a number, in a list that ends with its last number that is not zero.
fn learn(knows: &mut Vec<u32>, node: usize, request: u32) {
    if knows.len() <= node {
        knows.resize(node + 1, 0);
    }
    knows[node] = request;
}

/// Sets a number to zero, in a list that ends with its last number that is not zero.
fn forget(knows: &mut Vec<u32>, node: usize) {
    if let Some(request) = knows.get_mut(node) {
        *request = 0;
        let len = knows.iter().rposition(|&request| request > 0).map_or(0, |last| last + 1);
        knows.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Command = Command::Acquire(Claim::Exclusive);

    fn enter(monitor: &mut Exclusion, id: u32, claim: Claim) -> Result<(), Violation> {
        monitor.on_command(NodeId(id), &Command::Acquire(claim))?;
        monitor.on_notice(NodeId(id), &Notice::Entered)
    }

    #[test]
    fn two_inside_break_exclusion() {
        let mut monitor = Exclusion::default();
        enter(&mut monitor, 2, Claim::Exclusive).unwrap();
        let violation = enter(&mut monitor, 0, Claim::Exclusive).unwrap_err();
        assert_eq!(violation.what, "node 0 entered while node 2 was inside");
    }

    #[test]
    fn one_after_the_other_is_fine() {
        let mut monitor = Exclusion::default();
        for id in [1, 0, 1] {
            enter(&mut monitor, id, Claim::Exclusive).unwrap();
            monitor.on_command(NodeId(id), &Command::Release).unwrap();
        }
        assert_eq!(monitor, Exclusion::default(), "no history is kept");
    }

    #[test]
    fn whoever_never_asked_must_not_enter() {
        let violation = Exclusion::default().on_notice(NodeId(1), &Notice::Entered).unwrap_err();
        assert_eq!(violation.what, "node 1 entered without having asked");
    }

    #[test]
    fn waiting_at_rest_breaks_progress() {
        let mut monitor = Exclusion::default();
        monitor.at_rest().unwrap();
        monitor.on_command(NodeId(3), &EXCLUSIVE).unwrap();
        assert_eq!(monitor.at_rest().unwrap_err().property, "progress");
    }

    #[test]
    fn k_may_be_inside_and_no_more() {
        let mut monitor = Exclusion::new(Admission::UpTo(2));
        enter(&mut monitor, 0, Claim::Exclusive).unwrap();
        enter(&mut monitor, 1, Claim::Exclusive).unwrap();
        assert!(enter(&mut monitor, 2, Claim::Exclusive).is_err());
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let mut monitor = Exclusion::new(Admission::Compatible);
        enter(&mut monitor, 0, Claim::Shared).unwrap();
        enter(&mut monitor, 1, Claim::Shared).unwrap();
        assert!(enter(&mut monitor.clone(), 2, Claim::Exclusive).is_err());
        assert!(enter(&mut monitor.clone(), 2, Claim::Group(1)).is_err());
        monitor.on_command(NodeId(0), &Command::Release).unwrap();
        monitor.on_command(NodeId(1), &Command::Release).unwrap();
        enter(&mut monitor, 2, Claim::Group(1)).unwrap();
        enter(&mut monitor, 3, Claim::Group(1)).unwrap();
        assert!(enter(&mut monitor, 4, Claim::Group(2)).is_err());
    }

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
}
