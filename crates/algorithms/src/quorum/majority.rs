//! Any set of more than half of the nodes (R. H. Thomas, "A majority consensus approach to
//! concurrency control for multiple copy databases", 1979).
//!
//! With an odd number of nodes nothing survives crashes better as long as fewer than half are dead.
//! An even number is dominated: of two halves none is enough, and one of them could be. Giving one
//! node the weight 2 repairs it (see `weighted.rs`).

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet};

use super::{Construction, Known};

#[derive(Debug)]
pub(super) struct Majority(pub(super) Group);

impl Majority {
    fn needed(&self) -> u32 {
        self.0.size() / 2 + 1
    }
}

impl Construction for Majority {
    /// The node and those that follow it, around the circle: every node is in as many.
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        let nodes = u64::from(self.0.size());
        let ahead = (0..self.needed()).map(|step| (u64::from(of.0) + u64::from(step)) % nodes);
        let mut quorum: Vec<NodeId> = ahead.map(|id| NodeId(id as u32)).collect();
        quorum.sort_unstable();
        quorum
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        let (nodes, needed) = (self.0.size(), self.needed());
        let is_too_many = |count: u128| count * u128::from(needed) > most as u128;
        let mut count = 1_u128;
        for step in 0..needed {
            count = count * u128::from(nodes - step) / u128::from(step + 1);
            // It grows up to half of the nodes: enough to know without coming to large numbers.
            if is_too_many(count) && step < needed / 2 {
                return None;
            }
        }
        if is_too_many(count) {
            return None;
        }
        let mut all = Vec::new();
        let mut chosen: Vec<u32> = (0..needed).collect();
        loop {
            all.push(chosen.iter().copied().map(NodeId).collect());
            // The last that can still move does, and those after it follow on its heels.
            let movable = (0..needed).rev().find(|&at| chosen[at as usize] < nodes - needed + at);
            let Some(at) = movable else { return Some(all) };
            let first = chosen[at as usize] + 1;
            for (step, slot) in (0..).zip(&mut chosen[at as usize..]) {
                *slot = first + step;
            }
        }
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let needed = self.needed() as usize;
        let alive = self.0.members().filter(|&id| !dead.contains(id));
        let quorum: Vec<NodeId> = alive.take(needed).collect();
        (quorum.len() == needed).then_some(quorum)
    }

    fn known(&self) -> Known {
        let (nodes, needed) = (self.0.size(), self.needed());
        Known {
            smallest: Some(needed as usize),
            largest: Some(needed as usize),
            coterie: Some(true),
            symmetric: Some(true),
            nondominated: Some(nodes % 2 == 1),
            // Two quorums that differ in one node share all others.
            ideal: Some(nodes <= 3),
            resilience: Some(nodes - needed),
            load: Some(f64::from(needed) / f64::from(nodes)),
        }
    }

    fn failure(&self, dead: f64) -> Option<f64> {
        // As many steps as take a second.
        const MOST_NODES: u32 = 20_000;
        let nodes = self.0.size();
        if nodes > MOST_NODES {
            return None;
        }
        // How likely it is that so many are alive, node by node: nothing cancels out.
        let mut chances = vec![0.0; nodes as usize + 1];
        chances[0] = 1.0;
        for known in 0..nodes as usize {
            for alive in (0..=known).rev() {
                chances[alive + 1] += chances[alive] * (1.0 - dead);
                chances[alive] *= dead;
            }
        }
        Some(chances[..self.needed() as usize].iter().sum())
    }
}
