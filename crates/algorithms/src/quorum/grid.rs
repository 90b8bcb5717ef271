//! Rows and columns (M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems",
//! 1985): a node asks its row and its column.
//!
//! ```text
//!     0   1   2   3        the quorum of node 5: 1 4 5 6 7 9 13
//!   [ 4][ 5][ 6][ 7]
//!     8 [ 9] 10  11
//!    12 [13] 14  15
//! ```
//!
//! With ⌈√n⌉ columns the last row may be short. That does no harm: of the two corners in which the
//! quorums of two nodes should meet one is there, unless both nodes are in the last row, and then
//! they share it.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known, distinct};

#[derive(Debug)]
pub(super) struct Grid {
    nodes: u32,
    width: u32,
}

impl Grid {
    pub(super) fn new(nodes: u32) -> Self {
        Self { nodes, width: width(nodes) }
    }

    fn height(&self) -> u32 {
        self.nodes.div_ceil(self.width)
    }

    /// How many nodes the last row has.
    fn last(&self) -> u32 {
        self.nodes - (self.height() - 1) * self.width
    }

    fn place(&self, id: NodeId) -> (u32, u32) {
        (id.0 / self.width, id.0 % self.width)
    }
}

/// How many columns the grid of so many nodes has: ⌈√n⌉.
pub(super) fn width(nodes: u32) -> u32 {
    let root = nodes.isqrt();
    root + u32::from(root * root < nodes)
}

impl Construction for Grid {
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        let (row, column) = self.place(of);
        let in_row = row * self.width..self.nodes.min((row + 1) * self.width);
        let above = (0..row).map(|it| it * self.width + column);
        let below = (row + 1..self.height()).map(|it| it * self.width + column);
        let all = above.chain(in_row).chain(below.filter(|&id| id < self.nodes));
        all.map(NodeId).collect()
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        distinct(self, self.nodes, most)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let mut is_row_dead = vec![false; self.height() as usize];
        let mut is_column_dead = vec![false; self.width as usize];
        for (row, column) in dead.iter().map(|id| self.place(id)) {
            is_row_dead[row as usize] = true;
            is_column_dead[column as usize] = true;
        }
        // The first column serves every row, a later one perhaps all but the last.
        let column = is_column_dead.iter().position(|dead| !dead)? as u32;
        let rows = (0..self.height()).filter(|&row| !is_row_dead[row as usize]);
        let mut nodes = rows.map(|row| row * self.width + column);
        nodes.find(|&id| id < self.nodes).map(|id| self.quorum(NodeId(id), 0))
    }

    fn rows(&self) -> Option<Vec<u32>> {
        let mut rows = vec![self.width; self.height() as usize - 1];
        rows.push(self.last());
        Some(rows)
    }

    fn known(&self) -> Known {
        let (height, last) = (self.height(), self.last());
        let is_full = last == self.width;
        let sizes = || {
            let last_row = |row| row == height - 1;
            (0..self.nodes).map(move |id| {
                let (row, column) = self.place(NodeId(id));
                let in_row = if last_row(row) { last } else { self.width };
                (in_row + height - u32::from(column >= last) - 1) as usize
            })
        };
        Known {
            smallest: sizes().min(),
            largest: sizes().max(),
            // A last row of one node is part of its column; a column of one node of its row.
            coterie: Some(is_full || (last >= 2 && height >= 3)),
            symmetric: is_full.then_some(true),
            // One node of each row meets every quorum, and can be chosen so as to contain none.
            nondominated: Some(self.nodes == 1),
            ideal: Some(self.nodes <= 2),
            // One node of each row; or of each row but the last, and so of all columns that the
            // last row has.
            resilience: Some(height - 1 - u32::from(last < height)),
            // All nodes being alike, no way to choose is better than any other that treats them so.
            load: is_full.then(|| f64::from(self.width + height - 1) / f64::from(self.nodes)),
        }
    }
}
