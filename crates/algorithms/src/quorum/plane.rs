//! The lines of a finite projective plane, PG(2, q) (the quorums of M. Maekawa, "A √N algorithm for
//! mutual exclusion in decentralized systems", 1985): q² + q + 1 nodes, quorums of q + 1, every
//! node in q + 1 of them, and any two meet in just one node. It exists for every prime power q; for
//! other q none is known, and for many it is known that there is none.
//!
//! Points and lines are triples over GF(q) up to a factor: (1, a, b), (0, 1, c) and (0, 0, 1), in
//! this order. A point is on a line if their product, P·L, is zero. The graph of points and lines
//! has the same degree everywhere, so every point can have a line of its own that it is on
//! (P. Hall, "On representatives of subsets", 1935), and that is its quorum.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::field::{Field, prime_power};
use super::{Construction, Known, all_alive, distinct};

/// The plane of order 3 with a line for each node, as M. Maekawa, "A √N algorithm for mutual
/// exclusion in decentralized systems", 1985, prints it, and with it many a lecture. Counted from
/// 1.
pub(super) const PRINTED: [[u32; 4]; 13] = [
    [1, 2, 3, 4],
    [2, 5, 8, 11],
    [3, 6, 8, 13],
    [4, 6, 10, 11],
    [1, 5, 6, 7],
    [2, 6, 9, 12],
    [2, 7, 10, 13],
    [1, 8, 9, 10],
    [3, 7, 9, 11],
    [3, 5, 10, 12],
    [1, 11, 12, 13],
    [4, 7, 8, 12],
    [4, 5, 9, 13],
];

/// The same, counted from 0.
pub(super) fn printed() -> Vec<Vec<NodeId>> {
    PRINTED.iter().map(|set| set.iter().map(|&number| NodeId(number - 1)).collect()).collect()
}

#[derive(Debug)]
pub(super) struct Plane {
    order: u32,
    field: Field,
    /// The line of each point.
    lines: Vec<u32>,
}

/// As many nodes as take some seconds.
const MOST_NODES: u32 = 100_000;

impl Plane {
    pub(super) fn new(nodes: u32) -> Result<Self, String> {
        if nodes > MOST_NODES {
            return Err(format!("{nodes} nodes are more than {MOST_NODES}"));
        }
        let order = order(nodes).ok_or_else(|| nearest(nodes))?;
        let field = Field::of(order).expect("there is a field of every prime power");
        let mut plane = Self { order, field, lines: Vec::new() };
        plane.lines = plane.matched();
        Ok(plane)
    }

    /// The points on a line, or the lines through a point, lowest first.
    fn on(&self, line: u32) -> Vec<u32> {
        let (order, field) = (self.order, &self.field);
        let [x, y, z] = self.triple(line);
        // The solution b of a + b c = 0.
        let solve = |a, c| field.negate(field.multiply(a, field.invert(c)));
        let finite = order * order;
        let mut points = Vec::new();
        match (y, z) {
            (_, 1..) => {
                let second = |first| solve(field.add(x, field.multiply(first, y)), z);
                points.extend((0..order).map(|first| first * order + second(first)));
                points.push(finite + solve(y, z));
            }
            (1.., 0) => {
                let first = solve(x, y);
                points.extend((0..order).map(|second| first * order + second));
                points.push(finite + order);
            }
            (0, 0) => points.extend(finite..=finite + order),
        }
        points
    }

    fn triple(&self, number: u32) -> [u32; 3] {
        let q = self.order;
        match number.checked_sub(q * q) {
            None => [1, number / q, number % q],
            Some(c) if c < q => [0, 1, c],
            Some(_) => [0, 0, 1],
        }
    }

    /// A line for every point, such that the point is on it and no line is used twice: points
    /// that find all of their lines taken push others on, by a shortest way.
    fn matched(&self) -> Vec<u32> {
        let nodes = size(self.order);
        let mut line_of: Vec<Option<u32>> = vec![None; nodes as usize];
        let mut point_of: Vec<Option<u32>> = vec![None; nodes as usize];
        // The point from which a line was reached, and the point of that search.
        let mut reached: Vec<(u32, u32)> = vec![(u32::MAX, 0); nodes as usize];
        for start in 0..nodes {
            let mut ahead = VecDeque::from([start]);
            let mut free = None;
            while let (Some(point), None) = (ahead.pop_front(), free) {
                for line in self.on(point) {
                    if reached[line as usize].0 == start {
                        continue;
                    }
                    reached[line as usize] = (start, point);
                    let Some(other) = point_of[line as usize] else {
                        free = Some(line);
                        break;
                    };
                    ahead.push_back(other);
                }
            }
            while let Some(line) = free {
                let (_, point) = reached[line as usize];
                point_of[line as usize] = Some(point);
                free = line_of[point as usize].replace(line);
            }
        }
        line_of.into_iter().map(|line| line.expect("every point has a line, says Hall")).collect()
    }
}

/// A plane of more nodes than there are: node i also plays node N + i, and so on round. Lines that
/// met in a node meet in the one that plays it, so any two still intersect, and every node is still
/// in its own. Their sizes and how often a node is in one are no longer the same: Maekawa's
/// conditions 3 and 4 are what is given up.
#[derive(Debug)]
pub(super) struct Reduced {
    nodes: u32,
    plane: Plane,
}

impl Reduced {
    pub(super) fn new(nodes: u32) -> Result<Self, String> {
        let sizes = (2..).filter(|&q| prime_power(q).is_some()).map(size);
        let larger = sizes.take_while(|&it| it <= MOST_NODES).find(|&it| it >= nodes);
        let larger = larger.ok_or_else(|| format!("no plane of {nodes} nodes or more is built"))?;
        Ok(Self { nodes, plane: Plane::new(larger)? })
    }

    fn played(&self, quorum: Vec<NodeId>) -> Vec<NodeId> {
        let mut quorum: Vec<NodeId> =
            quorum.into_iter().map(|id| NodeId(id.0 % self.nodes)).collect();
        quorum.sort_unstable();
        quorum.dedup();
        quorum
    }
}

impl Construction for Reduced {
    fn quorum(&self, of: NodeId, turn: u64) -> Vec<NodeId> {
        self.played(self.plane.quorum(of, turn))
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        distinct(self, self.nodes, most)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let quorums = (0..self.nodes).map(|id| self.quorum(NodeId(id), 0));
        quorums.into_iter().find(|quorum| all_alive(quorum, dead))
    }

    fn effort(&self) -> u64 {
        u64::from(self.plane.order)
    }
}

/// The order of the plane of so many nodes, if there is one.
pub(super) fn order(nodes: u32) -> Option<u32> {
    if nodes > MOST_NODES {
        return None;
    }
    // (4n − 3) is the square of 2q + 1.
    let order = ((4 * nodes).saturating_sub(3).isqrt().max(1) - 1) / 2;
    (size(order) == nodes && prime_power(order).is_some()).then_some(order)
}

/// How many nodes a plane of that order has.
fn size(order: u32) -> u32 {
    order * order + order + 1
}

/// The error: the numbers of nodes that are possible, and the nearest of them.
fn nearest(nodes: u32) -> String {
    let planes = || (2_u32..=317).filter(|&q| prime_power(q).is_some()).map(size);
    let below = planes().take_while(|&it| it < nodes).last();
    let above = planes().find(|&it| it > nodes && it <= MOST_NODES);
    let such = match (below, above) {
        (Some(below), Some(above)) => format!("the nearest are {below} and {above}"),
        (Some(one), None) | (None, Some(one)) => format!("the nearest is {one}"),
        (None, None) => String::new(),
    };
    format!(
        "{nodes} nodes do not make a projective plane: that takes q² + q + 1 with a prime power q; \
         {such}"
    )
}

impl Construction for Plane {
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        self.on(self.lines[of.index()]).into_iter().map(NodeId).collect()
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        distinct(self, size(self.order), most)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let mut is_line_dead = vec![false; self.lines.len()];
        for line in dead.iter().flat_map(|id| self.on(id.0)) {
            is_line_dead[line as usize] = true;
        }
        let alive = is_line_dead.iter().position(|dead| !dead)?;
        Some(self.on(alive as u32).into_iter().map(NodeId).collect())
    }

    fn effort(&self) -> u64 {
        u64::from(self.order / 4).max(1)
    }

    fn known(&self) -> Known {
        let (order, nodes) = (self.order, size(self.order));
        Known {
            smallest: Some(order as usize + 1),
            largest: Some(order as usize + 1),
            coterie: Some(true),
            symmetric: Some(true),
            // Beyond Fano's plane there are sets that meet every line and contain none.
            nondominated: Some(order == 2),
            ideal: Some(true),
            // A line meets every line, and q points are on no more than q (q + 1) of them.
            resilience: Some(order),
            load: Some(f64::from(order + 1) / f64::from(nodes)),
        }
    }
}
