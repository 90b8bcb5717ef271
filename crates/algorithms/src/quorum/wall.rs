//! Crumbling walls (D. Peleg and A. Wool, "Crumbling walls: a class of practical and efficient
//! quorum systems", 1997): a quorum is a full row and one node of each row below it.
//!
//! ```text
//!       0          a quorum: 1 2 and 4
//!    [1] [2]
//!   3  [4]  5
//! ```
//!
//! Of two quorums with different full rows the upper one has a node in the full row of the lower
//! one. With one node in the first row and more in every other, no other system is better in
//! everything; a row of one node further down makes all rows above it superfluous.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known, power};

#[derive(Debug)]
pub(super) struct Wall {
    /// Where each row begins, from the top, and where the last one ends.
    starts: Vec<u32>,
}

/// Widths that grow as the logarithm of the row's number, so that quorums do too: ⌊log₂ 2i⌋ nodes
/// in row i. Remaining nodes widen the lowest rows.
pub(super) fn logarithmic(nodes: u32) -> Vec<u32> {
    let mut widths = Vec::new();
    let mut left = nodes;
    for row in 1_u32.. {
        let width = row.ilog2() + 1;
        if left < width {
            break;
        }
        widths.push(width);
        left -= width;
    }
    for width in widths.iter_mut().rev().take(left as usize) {
        *width += 1;
    }
    widths
}

impl Wall {
    pub(super) fn new(widths: &[u32]) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for width in widths {
            end += width;
            starts.push(end);
        }
        Self { starts }
    }

    fn depth(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, row: usize) -> Range<u32> {
        self.starts[row]..self.starts[row + 1]
    }

    fn width(&self, row: usize) -> u32 {
        self.row(row).len() as u32
    }

    fn row_of(&self, id: NodeId) -> usize {
        self.starts.partition_point(|&start| start <= id.0) - 1
    }

    /// How many quorums have this full row, or none if the number overflows.
    fn count(&self, full: usize) -> Option<u128> {
        let below = full + 1..self.depth();
        below.map(|row| u128::from(self.width(row))).try_fold(1, u128::checked_mul)
    }

    fn size(&self, full: usize) -> usize {
        self.width(full) as usize + self.depth() - full - 1
    }

    /// Whether every node is in as many quorums; unknown if a number overflows.
    fn is_balanced(&self) -> Option<bool> {
        // A node of a row is in those with this full row, and in its share of those with a full
        // row above.
        let mut above = 0_u128;
        let mut first = None;
        let mut is_equal = true;
        for row in 0..self.depth() {
            let own = self.count(row)?;
            let degree = own.checked_add(above / u128::from(self.width(row)))?;
            is_equal &= *first.get_or_insert(degree) == degree;
            above = above.checked_add(own)?;
        }
        Some(is_equal)
    }

    /// The least load. Nodes of a row being alike, what matters is how often each row is the full
    /// one. Let s be how often it is one of the first j rows: in a system with the load L, s can
    /// be L t, where t is at most this; and in the end it must be 1.
    fn load(&self) -> f64 {
        let widths = (0..self.depth()).map(|row| f64::from(self.width(row)));
        1.0 / widths.fold(0.0, |t, width| f64::min(t * (1.0 - 1.0 / width) + 1.0, width))
    }
}

impl Construction for Wall {
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        let full = self.row_of(of);
        let below = full + 1..self.depth();
        let one_each = below.map(|row| self.starts[row] + of.0 % self.width(row));
        self.row(full).chain(one_each).map(NodeId).collect()
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        let mut members = 0_u128;
        for row in 0..self.depth() {
            members = members.checked_add(self.count(row)?.checked_mul(self.size(row) as u128)?)?;
        }
        if members > most as u128 {
            return None;
        }
        let mut all = Vec::new();
        for full in 0..self.depth() {
            let mut quorums = vec![self.row(full).map(NodeId).collect::<Vec<_>>()];
            for row in full + 1..self.depth() {
                let extended = quorums.iter().flat_map(|quorum| {
                    self.row(row).map(move |id| [&quorum[..], &[NodeId(id)]].concat())
                });
                quorums = extended.collect();
            }
            all.append(&mut quorums);
        }
        all.sort_unstable();
        Some(all)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let mut one_each = Vec::new();
        for row in (0..self.depth()).rev() {
            let mut ids = self.row(row).map(NodeId);
            if ids.clone().all(|id| !dead.contains(id)) {
                let mut quorum: Vec<NodeId> = ids.chain(one_each.into_iter().rev()).collect();
                quorum.sort_unstable();
                return Some(quorum);
            }
            one_each.push(ids.find(|&id| !dead.contains(id))?);
        }
        None
    }

    fn rows(&self) -> Option<Vec<u32>> {
        Some((0..self.depth()).map(|row| self.width(row)).collect())
    }

    fn known(&self) -> Known {
        let depth = self.depth();
        let rows = || 0..depth;
        let sizes = || rows().map(|row| self.size(row));
        let (smallest, largest) = (sizes().min(), sizes().max());
        // A whole row and one of each row below, or one of each row at all.
        let transversal = sizes().chain([depth]).min().unwrap_or(1);
        // A row of one node, and it alone, is a quorum within those of all rows above.
        let is_coterie = rows().skip(1).all(|row| self.width(row) > 1);
        Known {
            smallest,
            largest,
            coterie: Some(is_coterie),
            symmetric: if smallest == largest { self.is_balanced() } else { Some(false) },
            nondominated: Some(is_coterie && self.width(0) == 1),
            ideal: Some(is_coterie && (depth == 1 || (depth == 2 && self.width(0) == 1))),
            resilience: Some(transversal as u32 - 1),
            load: Some(self.load()),
        }
    }

    fn failure(&self, dead: f64) -> Option<f64> {
        // From the bottom: rows with some live nodes, and none with all alive, decide nothing yet.
        let (mut failed, mut open) = (0.0, 1.0);
        for row in (0..self.depth()).rev() {
            let (none, full) = (power(dead, self.width(row)), power(1.0 - dead, self.width(row)));
            failed += open * none;
            open *= 1.0 - none - full;
        }
        Some(failed + open)
    }
}
