//! Nodes that have more than half of all weight (D. K. Gifford, "Weighted voting for replicated
//! data", 1979). The quorums are the smallest such sets: without any of its members a set is no
//! longer enough.
//!
//! Weights are compared in whole numbers: 2 Σg > G.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known};

#[derive(Debug)]
pub(super) struct Weighted {
    weights: Vec<u32>,
    total: u64,
    /// Heaviest first; those without weight are left out.
    order: Vec<NodeId>,
    /// The weight of all from a place of the order on.
    rest: Vec<u64>,
}

/// As many weights as can be worked with in some seconds.
const MOST_WEIGHTS: usize = 20_000;

/// As many steps as take a second.
const MOST_STEPS: u64 = 100_000_000;

impl Weighted {
    pub(super) fn new(weights: &[u32]) -> Result<Self, String> {
        if weights.len() > MOST_WEIGHTS {
            return Err(format!("{} weights are more than {MOST_WEIGHTS}", weights.len()));
        }
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        if total == 0 {
            return Err("somebody must have a weight of more than 0".to_owned());
        }
        let ids = (0..weights.len() as u32).map(NodeId);
        let mut order: Vec<NodeId> = ids.filter(|id| weights[id.index()] > 0).collect();
        order.sort_by_key(|id| core::cmp::Reverse(weights[id.index()]));
        let mut rest = vec![0];
        for id in order.iter().rev() {
            rest.push(rest[rest.len() - 1] + u64::from(weights[id.index()]));
        }
        rest.reverse();
        Ok(Self { weights: weights.to_vec(), total, order, rest })
    }

    fn weight(&self, id: NodeId) -> u64 {
        u64::from(self.weights[id.index()])
    }

    fn is_enough(&self, weight: u64) -> bool {
        2 * weight > self.total
    }

    /// The smallest quorum of those in this order, heaviest first: once it is enough, the lightest,
    /// which came last, is needed, and so is everyone heavier.
    fn first_of(&self, order: impl Iterator<Item = NodeId>) -> Option<Vec<NodeId>> {
        let (mut quorum, mut weight) = (Vec::new(), 0);
        for id in order {
            quorum.push(id);
            weight += self.weight(id);
            if self.is_enough(weight) {
                quorum.sort_unstable();
                return Some(quorum);
            }
        }
        None
    }

    /// A quorum in which `me` is needed: the others, taken in this order as long as they are not
    /// enough, are enough with it; and then those go who are not needed.
    fn around(&self, me: NodeId, others: impl Iterator<Item = NodeId>) -> Option<Vec<NodeId>> {
        let (mut quorum, mut weight) = (Vec::new(), 0);
        for id in others {
            if !self.is_enough(weight + self.weight(id)) {
                quorum.push(id);
                weight += self.weight(id);
            }
        }
        weight += self.weight(me);
        if !self.is_enough(weight) {
            return None;
        }
        quorum.sort_by_key(|&id| self.weight(id));
        quorum.retain(|&id| {
            let is_needed = !self.is_enough(weight - self.weight(id));
            weight -= if is_needed { 0 } else { self.weight(id) };
            is_needed
        });
        quorum.push(me);
        quorum.sort_unstable();
        Some(quorum)
    }

    fn collect(&self, from: usize, weight: u64, chosen: &mut Vec<NodeId>, into: &mut Collected) {
        for at in from..self.order.len() {
            if into.left == 0 || !self.is_enough(weight + self.rest[at]) {
                return;
            }
            let id = self.order[at];
            chosen.push(id);
            if self.is_enough(weight + self.weight(id)) {
                into.left = into.left.saturating_sub(chosen.len());
                let mut quorum = chosen.clone();
                quorum.sort_unstable();
                into.quorums.push(quorum);
            } else {
                self.collect(at + 1, weight + self.weight(id), chosen, into);
            }
            chosen.pop();
        }
    }

    /// Whether some nodes have exactly half of all weight, so that neither they nor the others are
    /// enough; unknown if that takes too long.
    fn has_tie(&self) -> Option<bool> {
        if self.total % 2 == 1 {
            return Some(false);
        }
        let half = (self.total / 2) as usize;
        if self.order.len() as u64 * half as u64 > MOST_STEPS {
            return None;
        }
        let mut is_sum = vec![false; half + 1];
        is_sum[0] = true;
        for &id in &self.order {
            let weight = self.weight(id) as usize;
            for sum in (weight..=half).rev() {
                is_sum[sum] |= is_sum[sum - weight];
            }
        }
        Some(is_sum[half])
    }
}

struct Collected {
    quorums: Vec<Vec<NodeId>>,
    left: usize,
}

impl Construction for Weighted {
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        let nodes = self.weights.len() as u32;
        let around = (of.0 + 1..nodes).chain(0..of.0).map(NodeId);
        let heavy = || self.order.iter().copied().filter(move |&id| id != of);
        self.around(of, around)
            .or_else(|| self.around(of, heavy()))
            .or_else(|| self.around(of, heavy().rev()))
            // A node that no minimal quorum needs has no quorum of its own.
            .or_else(|| self.first_of(self.order.iter().copied()))
            .expect("all nodes have more than half of the weight")
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        // The search goes no deeper: so many nodes have too many quorums to count.
        const MOST_DEPTH: usize = 2_000;
        if self.order.len() > MOST_DEPTH {
            return None;
        }
        let mut into = Collected { quorums: Vec::new(), left: most };
        self.collect(0, 0, &mut Vec::new(), &mut into);
        into.quorums.sort_unstable();
        (into.left > 0).then_some(into.quorums)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        self.first_of(self.order.iter().copied().filter(|&id| !dead.contains(id)))
    }

    fn cost(&self) -> u64 {
        16 * self.weights.len() as u64
    }

    fn known(&self) -> Known {
        let smallest = self.first_of(self.order.iter().copied()).map(|quorum| quorum.len());
        // To leave nothing that is enough, the heaviest go first.
        let mut alive = self.total;
        let gone = self.order.iter().take_while(|&&id| {
            let is_enough = self.is_enough(alive);
            alive -= self.weight(id);
            is_enough
        });
        Known {
            smallest,
            coterie: Some(true),
            nondominated: self.has_tie().map(|tie| !tie),
            resilience: Some(gone.count() as u32 - 1),
            ..Known::default()
        }
    }

    fn failure(&self, dead: f64) -> Option<f64> {
        if self.order.len() as u64 * self.total > MOST_STEPS {
            return None;
        }
        // How likely it is that those alive have so much weight, node by node.
        let mut chances = vec![0.0; self.total as usize + 1];
        chances[0] = 1.0;
        let mut known = 0;
        for &id in &self.order {
            let weight = self.weight(id) as usize;
            for alive in (0..=known).rev() {
                chances[alive + weight] += chances[alive] * (1.0 - dead);
                chances[alive] *= dead;
            }
            known += weight;
        }
        Some(chances[..=(self.total / 2) as usize].iter().sum())
    }
}
