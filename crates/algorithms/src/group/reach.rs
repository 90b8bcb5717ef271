//! Who is up, who hears whom and who suspects whom, as monitors of locks see it: so that they know
//! whose requests must be served.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet};

use super::view::{majority_side, unharmed};
use crate::partition::Cuts;

/// All nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reach {
    nodes: Vec<Seen>,
    pub(super) cuts: Cuts,
    /// Whether suspicions are seen. If not, they are assumed to be right eventually.
    is_told: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seen {
    is_up: bool,
    suspects: NodeSet,
}

impl Reach {
    /// All are up and hear each other.
    pub(super) fn new(group: Group) -> Self {
        let seen = Seen { is_up: true, suspects: NodeSet::EMPTY };
        Self { nodes: vec![seen; group.size() as usize], cuts: Cuts::NONE, is_told: false }
    }

    /// The same where suspicions are seen.
    pub(super) fn told(self) -> Self {
        Self { is_told: true, ..self }
    }

    pub(super) fn on_crash(&mut self, at: NodeId) {
        self.nodes[at.index()] = Seen { is_up: false, suspects: NodeSet::EMPTY };
    }

    pub(super) fn on_restart(&mut self, at: NodeId) {
        self.nodes[at.index()].is_up = true;
    }

    pub(super) fn is_up(&self, at: NodeId) -> bool {
        self.nodes[at.index()].is_up
    }

    pub(super) fn up(&self) -> impl Iterator<Item = NodeId> + '_ {
        let all = (0..).map(NodeId).zip(&self.nodes);
        all.filter(|it| it.1.is_up).map(|it| it.0)
    }

    pub(super) fn suspects(&mut self, at: NodeId) -> &mut NodeSet {
        &mut self.nodes[at.index()].suspects
    }

    /// Those whose requests must be served: who hear, and are heard by, a majority, if all of that
    /// know who is up.
    pub(super) fn served(&self) -> Option<NodeSet> {
        let size = self.nodes.len();
        let up = majority_side(size, &self.up().collect(), &self.cuts)?;
        let unharmed = unharmed(size, &up, &self.cuts)?;
        let is_right = |at: NodeId| {
            let suspects = &self.nodes[at.index()].suspects;
            let mut all = (0..size as u32).map(NodeId);
            all.all(|of| of == at || suspects.contains(of) != up.contains(of))
        };
        (!self.is_told || up.iter().all(is_right)).then_some(unharmed)
    }
}
