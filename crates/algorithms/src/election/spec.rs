//! What must hold, whatever the algorithm.
//!
//! | property | says |
//! | --- | --- |
//! | `legitimacy` | nobody takes the lead while a higher node has been up all along |
//! | `termination` | when nothing more is bound to happen, everyone up who asked has been told |
//! | `agreement` | then, if anyone follows a node that is up, all follow the highest that is up |

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Debt, Group, Monitor, NodeId, NodeSet, Violation};

use super::{Command, Notice};

/// All properties of an election in which the highest node wins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leadership {
    up: NodeSet,
    /// Up since the beginning.
    steady: NodeSet,
    /// Up, asked or came up again, and not yet told.
    owed: NodeSet,
    /// Whom each follows.
    follows: Vec<Option<NodeId>>,
}

impl Leadership {
    /// All nodes are up and nobody leads.
    pub fn new(group: Group) -> Self {
        let up: NodeSet = group.members().collect();
        let follows = vec![None; group.size() as usize];
        Self { steady: up.clone(), up, owed: NodeSet::EMPTY, follows }
    }
}

impl Monitor for Leadership {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, Command::Elect: &Command) -> Result<(), Violation> {
        self.owed.insert(at);
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, Notice::Leader(leader): &Notice) -> Result<(), Violation> {
        self.owed.remove(at);
        self.follows[at.index()] = Some(*leader);
        match self.steady.iter().find(|&higher| higher > at && *leader == at) {
            None => Ok(()),
            Some(higher) => {
                let what = format!("node {at} took the lead, but node {higher} was up all along");
                Err(Violation { property: "legitimacy", what })
            }
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        if let Some(node) = self.owed.iter().next() {
            let what = format!("node {node} was never told who leads");
            return Err(Violation { property: "termination", what });
        }
        let follows = |node: NodeId| self.follows[node.index()];
        let leads = self.up.iter().filter_map(follows).find(|&leader| self.up.contains(leader));
        let Some(leader) = leads else { return Ok(()) };
        match self.up.iter().find(|&node| follows(node) != Some(leader) || node > leader) {
            None => Ok(()),
            Some(node) => {
                let what = match follows(node) {
                    Some(other) if other != leader => {
                        format!("node {node} follows node {other}, others follow node {leader}")
                    }
                    Some(_) => format!("node {node} is up and higher than its leader {leader}"),
                    None => format!("node {node} was not told that node {leader} leads"),
                };
                Err(Violation { property: "agreement", what })
            }
        }
    }

    fn owed(&self) -> Vec<Debt> {
        self.owed.iter().map(|to| Debt { to, property: "termination" }).collect()
    }

    fn on_crash(&mut self, at: NodeId) {
        self.up.remove(at);
        self.steady.remove(at);
        self.owed.remove(at);
        self.follows[at.index()] = None;
    }

    fn on_restart(&mut self, at: NodeId) {
        self.up.insert(at);
        self.owed.insert(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(monitor: &mut Leadership, at: u32, leader: u32) -> Result<(), Violation> {
        monitor.on_notice(NodeId(at), &Notice::Leader(NodeId(leader)))
    }

    fn three() -> Leadership {
        Leadership::new(Group::of(3))
    }

    #[test]
    fn the_highest_that_is_up_may_lead() {
        let mut monitor = three();
        monitor.on_crash(NodeId(2));
        monitor.on_command(NodeId(0), &Command::Elect).unwrap();
        told(&mut monitor, 1, 1).unwrap();
        told(&mut monitor, 0, 1).unwrap();
        monitor.at_rest().unwrap();
    }

    #[test]
    fn nobody_leads_below_one_that_was_up_all_along() {
        let violation = told(&mut three(), 1, 1).unwrap_err();
        assert_eq!(violation.property, "legitimacy");
        assert!(violation.what.contains("node 2 was up all along"));
        let mut monitor = three();
        monitor.on_crash(NodeId(2));
        monitor.on_restart(NodeId(2));
        told(&mut monitor, 1, 1).expect("node 2 was down for a while");
    }

    #[test]
    fn whoever_asked_or_came_up_again_must_be_told() {
        let mut monitor = three();
        monitor.on_command(NodeId(0), &Command::Elect).unwrap();
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
        monitor.on_crash(NodeId(0));
        monitor.at_rest().expect("nobody is owed anything who is down");
        monitor.on_restart(NodeId(0));
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
    }

    #[test]
    fn all_follow_the_same_and_that_is_the_highest() {
        let mut divided = three();
        told(&mut divided, 2, 2).unwrap();
        told(&mut divided, 1, 2).unwrap();
        let violation = divided.at_rest().unwrap_err();
        assert_eq!(violation.property, "agreement");
        assert_eq!(violation.what, "node 0 was not told that node 2 leads");
        told(&mut divided, 0, 1).unwrap();
        assert!(divided.at_rest().unwrap_err().what.contains("follow"), "one follows another");
        told(&mut divided, 0, 2).unwrap();
        divided.at_rest().unwrap();
    }

    #[test]
    fn a_leader_that_is_down_is_followed_until_somebody_asks() {
        let mut monitor = three();
        for node in 0..3 {
            told(&mut monitor, node, 2).unwrap();
        }
        monitor.on_crash(NodeId(2));
        monitor.at_rest().expect("nobody has noticed yet");
        monitor.on_restart(NodeId(2));
        told(&mut monitor, 2, 2).unwrap();
        monitor.at_rest().expect("the others follow it still");
    }
}
