//! What must hold, whatever the algorithm.
//!
//! | property | says |
//! | --- | --- |
//! | `legitimacy` | nobody takes the lead while a higher node has been up all along |
//! | `termination` | when nothing more can happen, everyone up who asked has been told |
//! | `agreement` | then, if anyone follows a node that is up, all follow the highest that is up |

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, Monitor, NodeId, NodeSet, Violation};

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
