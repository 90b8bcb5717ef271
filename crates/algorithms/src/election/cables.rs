//! Which cables are plugged in and which generation each node is in, for the monitor of elections.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Graph, NodeId, NodeSet};

/// The cables of a bus, as its nodes have noticed them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cables {
    /// The ports: who can be linked to whom.
    links: Arc<[(NodeId, NodeId)]>,
    /// For every node the ports at which it has noticed that there is no cable.
    open: Vec<NodeSet>,
    /// For every node the last bus reset that it was told of.
    generations: Vec<u32>,
}

impl Cables {
    /// All are plugged in.
    pub fn new(tree: &Graph) -> Self {
        let nodes = tree.group().size() as usize;
        let links = tree.links().filter(|(one, other)| one < other).collect();
        Self { links, open: vec![NodeSet::EMPTY; nodes], generations: vec![0; nodes] }
    }

    /// A node notices that the cable to a neighbour is there.
    pub fn plug(&mut self, at: NodeId, peer: NodeId) {
        self.open[at.index()].remove(peer);
    }

    /// A node notices that it is gone.
    pub fn unplug(&mut self, at: NodeId, peer: NodeId) {
        self.open[at.index()].insert(peer);
    }

    /// A node was told of a bus reset.
    pub fn enter(&mut self, at: NodeId, generation: u32) {
        self.generations[at.index()] = generation;
    }

    /// Whether both ends of every cable have noticed the same.
    pub fn are_noticed(&self) -> bool {
        let is_open = |at: NodeId, peer: NodeId| self.open[at.index()].contains(peer);
        self.links.iter().all(|&(one, other)| is_open(one, other) == is_open(other, one))
    }

    /// Whether a path of cables joins two nodes.
    pub fn are_joined(&self, one: NodeId, other: NodeId) -> bool {
        self.component(one, |_| true).contains(other)
    }

    /// Whether two nodes are in one generation, and so is every node on the path of cables between
    /// them, which then had these cables all along in that generation.
    pub fn share_generation(&self, one: NodeId, other: NodeId) -> bool {
        let generation = self.generations[one.index()];
        self.component(one, |id| self.generations[id.index()] == generation).contains(other)
    }

    /// Why a node is behind others of its component, if it is.
    pub fn lags(&self, node: NodeId) -> Option<String> {
        let of = |id: NodeId| self.generations[id.index()];
        let newest = self.component(node, |_| true).iter().max_by_key(|&id| of(id))?;
        let is_behind = of(node) < of(newest);
        is_behind.then(|| {
            format!(
                "node {node} is in generation {}, and node {newest} in {}",
                of(node),
                of(newest)
            )
        })
    }

    /// All that can be reached from a node by cables that neither end misses, through such nodes.
    fn component(&self, from: NodeId, through: impl Fn(NodeId) -> bool) -> NodeSet {
        let mut reached: NodeSet = [from].into_iter().collect();
        let mut ahead = vec![from];
        let is_open = |at: NodeId, peer: NodeId| self.open[at.index()].contains(peer);
        while let Some(at) = ahead.pop() {
            for &(one, other) in self.links.iter() {
                if ![one, other].contains(&at) || is_open(one, other) || is_open(other, one) {
                    continue;
                }
                let next = if one == at { other } else { one };
                if through(next) && !reached.contains(next) {
                    reached.insert(next);
                    ahead.push(next);
                }
            }
        }
        reached
    }
}
