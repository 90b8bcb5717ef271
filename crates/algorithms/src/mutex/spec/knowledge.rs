//! Which waiting requests each node knows of: the part of happened-before that matters here.
//!
//! Every message carries what its sender knew. A vector clock would do as well, but would also
//! remember requests that have long been served, and so keep states apart that are the same for
//! any question about who is waiting.

use alloc::vec::Vec;

use vorrang_protocol::NodeId;

/// For every node, the number of its waiting request that is known; 0 for none. Ends with its last
/// number that is not zero.
pub(super) type Known = Vec<u32>;

/// The waiting requests, and which nodes know of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Knowledge {
    nodes: Vec<Standing>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Standing {
    /// How many requests the node has made; the last of them is waiting or served.
    requests: u32,
    waiting: bool,
    knows: Known,
}

impl Knowledge {
    /// `node` asks. Returns whose waiting requests it knew of.
    pub(super) fn on_ask(&mut self, node: NodeId) -> Vec<NodeId> {
        let standing = self.standing(node);
        let known = known_nodes(&standing.knows);
        standing.requests += 1;
        standing.waiting = true;
        let request = standing.requests;
        learn(&mut standing.knows, node.index(), request);
        known
    }

    /// `node` enters: its request is granted, and forgotten by all.
    pub(super) fn on_enter(&mut self, node: NodeId) {
        self.standing(node).waiting = false;
        for other in &mut self.nodes {
            forget(&mut other.knows, node.index());
        }
    }

    /// `node` crashes: its request is over, and it knows nothing.
    pub(super) fn on_crash(&mut self, node: NodeId) {
        self.on_enter(node);
        self.standing(node).knows.clear();
    }

    /// The knowledge that a message of `node` carries.
    pub(super) fn on_send(&self, node: NodeId) -> Known {
        self.nodes.get(node.index()).map_or_else(Vec::new, |standing| standing.knows.clone())
    }

    /// A message that took `tag` along arrives at `node`.
    pub(super) fn on_receive(&mut self, node: NodeId, tag: &Known) {
        for (other, &request) in tag.iter().enumerate() {
            let is_waiting =
                self.nodes.get(other).is_some_and(|it| it.waiting && it.requests == request);
            if request > 0 && is_waiting {
                learn(&mut self.standing(node).knows, other, request);
            }
        }
    }

    fn standing(&mut self, id: NodeId) -> &mut Standing {
        if self.nodes.len() <= id.index() {
            self.nodes.resize_with(id.index() + 1, Standing::default);
        }
        &mut self.nodes[id.index()]
    }
}

fn known_nodes(knows: &Known) -> Vec<NodeId> {
    let waiting = knows.iter().enumerate().filter(|&(_, &request)| request > 0);
    waiting.map(|(node, _)| NodeId(node as u32)).collect()
}

fn learn(knows: &mut Known, node: usize, request: u32) {
    if knows.len() <= node {
        knows.resize(node + 1, 0);
    }
    knows[node] = request;
}

fn forget(knows: &mut Known, node: usize) {
    if let Some(request) = knows.get_mut(node) {
        *request = 0;
        let len = knows.iter().rposition(|&request| request > 0).map_or(0, |last| last + 1);
        knows.truncate(len);
    }
}
