//! A binary tree (D. Agrawal and A. El Abbadi, "An efficient and fault-tolerant solution for
//! distributed mutual exclusion", 1991): a quorum is a way from the root to a leaf; in the place of
//! a dead node on it, ways from both of its children do.
//!
//! ```text
//!          [0]             a quorum: 0 1 4
//!       [1]     2          if 1 is dead: 0 3 4, or 0 2 5
//!      3  [4]  5  6
//! ```
//!
//! Two quorums both have the root, or one of them has a quorum below each child and so meets the
//! other's. Below node i are 2i + 1 and 2i + 2. Where a node has one child only, the other counts
//! as dead: still right, but no longer as good as could be, so odd numbers are to be preferred.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known};

/// Of so many nodes.
#[derive(Debug)]
pub(super) struct Tree(pub(super) u32);

impl Tree {
    fn child(&self, of: u32, which: u32) -> Option<u32> {
        Some(2 * of + 1 + which).filter(|&child| child < self.0)
    }

    /// Something for every node, from what its children have, the lowest first; that of the root.
    fn fold<T: Clone>(&self, mut value: impl FnMut(u32, Option<T>, Option<T>) -> T) -> T {
        let mut values: Vec<Option<T>> = vec![None; self.0 as usize];
        for id in (0..self.0).rev() {
            let mut take = |which| self.child(id, which).and_then(|it| values[it as usize].take());
            let (left, right) = (take(0), take(1));
            values[id as usize] = Some(value(id, left, right));
        }
        values.swap_remove(0).expect("the root has a value")
    }

    /// How many quorums there are, or none if the number overflows.
    fn count(&self) -> Option<u128> {
        self.fold(|_, left: Option<Option<u128>>, right| match (left, right) {
            (Some(left), Some(right)) => {
                let (left, right) = (left?, right?);
                left.checked_mul(right)?.checked_add(left)?.checked_add(right)
            }
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => Some(1),
        })
    }

    /// The least load, from those below the two children. If quorums without the left child's are
    /// taken with the probability a and those without the right child's with b, the loads are
    /// a + b, (1 − a) L and (1 − b) R. In a full tree that is 2 / (levels + 1), as in M. Naor and
    /// A. Wool, "The load, capacity, and availability of quorum systems", 1998.
    fn load(&self) -> f64 {
        self.fold(|_, left: Option<f64>, right| match (left, right) {
            (Some(left), Some(right)) => {
                let equal = 2.0 / (1.0 + 1.0 / left + 1.0 / right);
                let most = f64::max(left, right);
                // The lighter side may be taken always.
                if equal <= f64::min(left, right) { equal } else { most / (1.0 + most) }
            }
            (Some(_), None) | (None, Some(_) | None) => 1.0,
        })
    }
}

impl Construction for Tree {
    /// The way from the root to the node and on, by first children, to a leaf.
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        let up = core::iter::successors(Some(of.0), |&id| (id > 0).then(|| (id - 1) / 2));
        let mut quorum: Vec<NodeId> = up.map(NodeId).collect();
        quorum.reverse();
        let down = core::iter::successors(self.child(of.0, 0), |&id| self.child(id, 0));
        quorum.extend(down.map(NodeId));
        quorum
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        self.count().filter(|&count| count <= most as u128)?;
        let with = |id: u32, below: &[Vec<NodeId>]| {
            below.iter().map(|quorum| [&[NodeId(id)], &quorum[..]].concat()).collect::<Vec<_>>()
        };
        let mut all = self.fold(|id, left: Option<Vec<Vec<NodeId>>>, right| match (left, right) {
            (Some(left), Some(right)) => {
                let mut all = with(id, &left);
                all.extend(with(id, &right));
                for quorum in &left {
                    all.extend(right.iter().map(|other| [&quorum[..], other].concat()));
                }
                all
            }
            (Some(only), None) | (None, Some(only)) => with(id, &only),
            (None, None) => vec![vec![NodeId(id)]],
        });
        for quorum in &mut all {
            quorum.sort_unstable();
        }
        all.sort_unstable();
        (all.iter().map(Vec::len).sum::<usize>() <= most).then_some(all)
    }

    /// The smallest quorum: a dead node is replaced by paths from both its children.
    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let below = |id, left: Option<Option<Vec<NodeId>>>, right: Option<Option<Vec<NodeId>>>| {
            let is_leaf = left.is_none() && right.is_none();
            let (left, right) = (left.flatten(), right.flatten());
            match (dead.contains(NodeId(id)), left, right) {
                (true, Some(left), Some(right)) => Some([left, right].concat()),
                (true, _, _) => None,
                (false, None, None) => is_leaf.then(|| vec![NodeId(id)]),
                (false, Some(only), None) | (false, None, Some(only)) => {
                    Some([vec![NodeId(id)], only].concat())
                }
                (false, Some(left), Some(right)) => {
                    let shorter = if right.len() < left.len() { right } else { left };
                    Some([vec![NodeId(id)], shorter].concat())
                }
            }
        };
        let mut quorum = self.fold(below)?;
        quorum.sort_unstable();
        Some(quorum)
    }

    fn rows(&self) -> Option<Vec<u32>> {
        let levels = (0..u32::BITS).map(|level| (1_u64 << level) - 1);
        let levels = levels.take_while(|&first| first < u64::from(self.0));
        Some(levels.map(|first| (u64::from(self.0) - first).min(first + 1) as u32).collect())
    }

    fn known(&self) -> Known {
        let smallest = self.fold(|_, left: Option<usize>, right| match (left, right) {
            (Some(left), Some(right)) => 1 + left.min(right),
            (Some(only), None) | (None, Some(only)) => 1 + only,
            (None, None) => 1,
        });
        let largest = self.fold(|_, left: Option<usize>, right| match (left, right) {
            (Some(left), Some(right)) => (left + right).max(1 + left.max(right)),
            (Some(only), None) | (None, Some(only)) => 1 + only,
            (None, None) => 1,
        });
        // No quorum is left below a node if it is gone and so are those below one child, or those
        // below both children are.
        let transversal = self.fold(|_, left: Option<u32>, right| match (left, right) {
            (Some(left), Some(right)) => (1 + left.min(right)).min(left + right),
            (Some(_), None) | (None, Some(_) | None) => 1,
        });
        Known {
            smallest: Some(smallest),
            largest: Some(largest),
            coterie: Some(true),
            symmetric: Some(self.0 <= 3),
            nondominated: Some(self.0 % 2 == 1),
            ideal: Some(self.0 <= 3),
            resilience: Some(transversal - 1),
            load: Some(self.load()),
        }
    }

    fn failure(&self, dead: f64) -> Option<f64> {
        let below = |_, left, right| match (left, right) {
            (Some(left), Some(right)) => {
                let (left, right): (f64, f64) = (left, right);
                // Any of the two if the node is dead, both if it is not.
                dead * (left + right - left * right) + (1.0 - dead) * left * right
            }
            (Some(only), None) | (None, Some(only)) => dead + (1.0 - dead) * only,
            (None, None) => dead,
        };
        Some(self.fold(below))
    }
}
