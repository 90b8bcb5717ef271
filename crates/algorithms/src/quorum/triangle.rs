//! A triangle of rows of 1, 2, 3, … nodes (W. S. Luk and T. T. Wong, "Two new quorum based
//! algorithms for distributed mutual exclusion", 1997).
//!
//! ```text
//!   [ 0]                       node 7 by columns: column 2 and row 1, 0 2 4 7 11
//!     1  [ 2]                  node 7 by rows: row 4 and column 5, 6 7 8 9 14
//!     3  [ 4]   5
//!     6  [ 7]   8    9
//!    10  [11]  12   13   14
//! ```
//!
//! Let S(q) be row q and column q + 1, rows and columns counted from 1. The node in row r and
//! column c is in just S(r) and S(c − 1): the nodes are the edges of a complete graph, the sets its
//! stars, and two stars share one edge. By *columns* (S1 in the paper) a node takes S(c − 1), by
//! *rows* (S2) it takes S(r). Either alone leaves some nodes with more to do than others; taken in
//! turn, every node has the same to do.
//!
//! For a number of nodes that makes no triangle, the next larger one is taken, and those of its
//! last row that do not exist are played by the nodes above them. What meets still meets.

use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known, all_alive};

/// Which of its two quorums a node of a triangle takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// One after the other.
    InTurn,
    /// That of its column: S1.
    Columns,
    /// That of its row: S2.
    Rows,
}

#[derive(Debug)]
pub(super) struct Triangle {
    nodes: u32,
    /// How many rows there are.
    rows: u32,
    scheme: Scheme,
}

impl Triangle {
    pub(super) fn new(nodes: u32, scheme: Scheme) -> Self {
        Self { nodes, rows: rows(nodes), scheme }
    }

    /// The node that plays the one at a place, counted from 1.
    fn node(&self, row: u32, column: u32) -> NodeId {
        let id = before(row) + u64::from(column - 1);
        if id < u64::from(self.nodes) {
            NodeId(id as u32)
        } else {
            NodeId((before(row - 1) + u64::from(column.min(row - 1) - 1)) as u32)
        }
    }

    /// S(q): row q, and column q + 1.
    fn star(&self, q: u32) -> Vec<NodeId> {
        let row = (1..=q).map(|column| self.node(q, column));
        let column = (q + 1..=self.rows).map(|row| self.node(row, q + 1));
        let mut quorum: Vec<NodeId> = row.chain(column).collect();
        quorum.sort_unstable();
        quorum.dedup();
        quorum
    }

    /// The stars that the scheme uses.
    fn stars(&self) -> impl Iterator<Item = Vec<NodeId>> + '_ {
        let (first, last) = match self.scheme {
            Scheme::InTurn => (0, self.rows),
            Scheme::Columns => (0, self.rows - 1),
            Scheme::Rows => (1, self.rows),
        };
        (first..=last).map(|q| self.star(q))
    }
}

/// How many nodes the rows before a row have.
fn before(row: u32) -> u64 {
    u64::from(row) * u64::from(row - 1) / 2
}

/// How many rows a triangle for so many nodes has.
pub(super) fn rows(nodes: u32) -> u32 {
    let root = (u64::from(nodes) * 8 + 1).isqrt();
    let full = ((root - 1) / 2) as u32;
    full + u32::from(before(full + 1) < u64::from(nodes))
}

/// The row and the column of a node, counted from 1.
pub(super) fn place(id: NodeId) -> (u32, u32) {
    let row = rows(id.0 + 1);
    (row, (u64::from(id.0) - before(row)) as u32 + 1)
}

impl Construction for Triangle {
    fn quorum(&self, of: NodeId, turn: u64) -> Vec<NodeId> {
        let (row, column) = place(of);
        match (self.scheme, turn) {
            (Scheme::Columns, _) | (Scheme::InTurn, 0) => self.star(column - 1),
            (Scheme::Rows | Scheme::InTurn, _) => self.star(row),
        }
    }

    fn turns(&self) -> u64 {
        match self.scheme {
            Scheme::InTurn => 2,
            Scheme::Columns | Scheme::Rows => 1,
        }
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        if u64::from(self.rows + 1) * u64::from(self.rows) > most as u64 {
            return None;
        }
        let mut all: Vec<Vec<NodeId>> = self.stars().collect();
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        self.stars().find(|quorum| all_alive(quorum, dead))
    }

    fn rows(&self) -> Option<Vec<u32>> {
        let last = self.nodes - before(self.rows) as u32;
        Some((1..self.rows).chain([last]).collect())
    }

    fn known(&self) -> Known {
        let rows = self.rows;
        if before(rows + 1) != u64::from(self.nodes) {
            return Known::default();
        }
        let (size, is_in_turn) = (rows as usize, self.scheme == Scheme::InTurn);
        // As many edges as it takes to touch the middles of all stars.
        let cover = (rows + u32::from(is_in_turn)).div_ceil(2);
        Known {
            smallest: Some(size),
            largest: Some(size),
            coterie: Some(true),
            symmetric: Some(is_in_turn || rows == 1),
            // The edges that touch all, being fewer than a star has, contain none.
            nondominated: Some(rows == 1 || (rows == 2 && is_in_turn)),
            ideal: Some(true),
            resilience: Some(cover.max(1) - 1),
            load: is_in_turn.then(|| 2.0 / f64::from(rows + 1)),
        }
    }
}
