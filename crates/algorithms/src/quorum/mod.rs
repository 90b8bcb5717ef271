//! Quorum systems, as values: sets of nodes of which any two intersect.
//!
//! ```
//! use vorrang_algorithms::quorum::Quorums;
//! use vorrang_protocol::{Group, NodeId};
//!
//! let plane: Quorums = "plane".parse().unwrap();
//! let system = plane.system(Group::of(13)).unwrap();
//! let quorum = system.of(NodeId(5));
//! assert_eq!(quorum.len(), 4);
//! assert!(quorum.contains(&NodeId(5)));
//! ```
//!
//! A construction is a file here. Nodes are counted from 0. A quorum is a list of nodes, lowest
//! first; that of one node is computed without those of the others, so that large groups take no
//! more memory than they must.

mod all;
pub mod chance;
pub mod conditions;
mod cyclic;
mod field;
mod grid;
mod majority;
pub mod measure;
mod plane;
mod search;
mod sets;
mod singleton;
mod text;
mod tree;
mod triangle;
mod wall;
mod weighted;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use vorrang_protocol::{Group, NodeId, NodeSet, NodeState, StateValue};

use crate::unfit::Unfit;
pub use triangle::Scheme;

/// How quorums are made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Quorums {
    /// Node 0 alone.
    Singleton,
    /// All nodes.
    All,
    /// More than half of the nodes.
    Majority,
    /// Nodes with more than half of all weight. One weight a node.
    Weighted(Arc<[u32]>),
    /// The nodes' rows and columns, as square as can be; the last row may be short.
    Grid,
    /// A row and a column of a triangle.
    Triangle(Scheme),
    /// A full row and one node of each row below it: rows of these widths, from top to bottom, or
    /// of widths that grow as the logarithm.
    Wall(Option<Arc<[u32]>>),
    /// A way from the root of a binary tree to a leaf.
    Tree,
    /// The lines of a finite projective plane.
    Plane,
    /// The plane of 13 nodes with the assignment that is printed in Maekawa's paper and in
    /// lectures, where nodes are counted from 1.
    PlaneAsPrinted,
    /// The lines of the smallest plane that has so many nodes or more, its last nodes played by the
    /// first ones.
    PlaneReduced,
    /// One set and all that it is turned into by turning the ring of all nodes.
    Cyclic,
    /// These sets, one a node.
    Sets(Arc<[Vec<NodeId>]>),
}

impl Quorums {
    /// The default for a group: the plane if there is one of so many nodes, and else the grid,
    /// which there is for any number.
    pub fn usual(group: Group) -> Self {
        if plane::order(group.size()).is_some() { Self::Plane } else { Self::Grid }
    }

    /// How many nodes it is for, if it says so itself.
    pub fn nodes(&self) -> Option<u32> {
        match self {
            Self::Weighted(weights) => Some(weights.len() as u32),
            Self::Wall(Some(widths)) => {
                widths.iter().try_fold(0_u32, |sum, &it| sum.checked_add(it))
            }
            Self::Sets(sets) => Some(sets.len() as u32),
            Self::PlaneAsPrinted => Some(plane::PRINTED.len() as u32),
            Self::Singleton
            | Self::All
            | Self::Majority
            | Self::Grid
            | Self::Triangle(_)
            | Self::Wall(None)
            | Self::Tree
            | Self::Plane
            | Self::PlaneReduced
            | Self::Cyclic => None,
        }
    }

    /// The quorums of a group: any two of them meet, in every construction.
    ///
    /// # Errors
    ///
    /// If there is no such system of so many nodes, with a sentence that says why and names what
    /// there is.
    pub fn system(&self, group: Group) -> Result<QuorumSystem, Unfit> {
        let by = self.construction(group);
        let by = by.map_err(|why| Unfit(format!("--quorum {}: {why}", self.in_short())))?;
        Ok(QuorumSystem { group, by })
    }

    fn construction(&self, group: Group) -> Result<Arc<dyn Construction>, String> {
        let nodes = group.size();
        if let Some(own) = self.nodes()
            && own != nodes
        {
            return Err(format!("it is for {own} nodes, not {nodes}: say --nodes {own}"));
        }
        if let Self::Wall(Some(widths)) = self
            && (widths.contains(&0) || self.nodes().is_none())
        {
            return Err("the rows of a wall have at least 1 node, and so many as fit".to_owned());
        }
        Ok(match self {
            Self::Singleton => Arc::new(singleton::Singleton),
            Self::All => Arc::new(all::All(group)),
            Self::Majority => Arc::new(majority::Majority(group)),
            Self::Weighted(weights) => Arc::new(weighted::Weighted::new(weights)?),
            Self::Grid => Arc::new(grid::Grid::new(nodes)),
            Self::Triangle(scheme) => Arc::new(triangle::Triangle::new(nodes, *scheme)),
            Self::Wall(None) => Arc::new(wall::Wall::new(&wall::logarithmic(nodes))),
            Self::Wall(Some(widths)) => Arc::new(wall::Wall::new(widths)),
            Self::Tree => Arc::new(tree::Tree(nodes)),
            Self::Plane => Arc::new(plane::Plane::new(nodes)?),
            Self::PlaneAsPrinted => Arc::new(sets::Sets::new(&plane::printed())?),
            Self::PlaneReduced => Arc::new(plane::Reduced::new(nodes)?),
            Self::Cyclic => Arc::new(cyclic::Cyclic::new(nodes)),
            Self::Sets(sets) => Arc::new(sets::Sets::new(sets)?),
        })
    }
}

/// A quorum for every node of a group, any two of which meet.
#[derive(Clone, Debug)]
pub struct QuorumSystem {
    group: Group,
    by: Arc<dyn Construction>,
}

impl QuorumSystem {
    /// The participants.
    pub fn group(&self) -> Group {
        self.group
    }

    /// The quorum of a node, lowest node first. The node is in it, unless the system has no
    /// quorum that it is in.
    pub fn of(&self, node: NodeId) -> Vec<NodeId> {
        self.by.quorum(node, 0)
    }

    /// The quorum that a node takes for its request of this number, where it should take several in
    /// turn so that all nodes have the same to do.
    pub fn of_turn(&self, node: NodeId, turn: u64) -> Vec<NodeId> {
        self.by.quorum(node, turn % self.turns())
    }

    /// How many quorums a node takes in turn.
    pub fn turns(&self) -> u64 {
        self.by.turns()
    }

    /// The nodes of all quorums of a node, lowest first.
    pub fn all_of(&self, node: NodeId) -> Vec<NodeId> {
        let mut all = self.of(node);
        for turn in 1..self.turns() {
            all.extend(self.by.quorum(node, turn));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// All quorums of a node, for it to take in turn.
    pub fn schedule(&self, node: NodeId) -> QuorumSchedule {
        let quorums = (0..self.turns()).map(|turn| self.by.quorum(node, turn)).collect();
        QuorumSchedule { quorums, turn: 0 }
    }

    /// All quorums, each once, lowest first; none if they have more than so many members in all.
    pub fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        self.by.family(most)
    }

    /// How many nodes there are in each of the rows, or on each level, in which people draw it;
    /// none if it is not drawn in rows.
    pub fn rows(&self) -> Option<Vec<u32>> {
        self.by.rows()
    }

    /// A quorum without any of the dead; none if every quorum has one.
    pub fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        self.by.live(dead)
    }
}

/// The quorums of one node: one, or several that it takes in turn so that all nodes have the same
/// to do. Copies share them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct QuorumSchedule {
    quorums: Arc<[Vec<NodeId>]>,
    turn: usize,
}

impl QuorumSchedule {
    /// Whose turn it is, lowest node first.
    pub fn quorum(&self) -> &[NodeId] {
        &self.quorums[self.turn]
    }

    /// The quorum, and which of several it is.
    pub(crate) fn state(&self) -> NodeState {
        let state = NodeState::new().with("quorum", StateValue::set(self.quorum().iter().copied()));
        if self.quorums.len() == 1 { state } else { state.with("turn", self.turn) }
    }

    /// Goes on to the next.
    pub fn turn(&mut self) {
        self.turn = (self.turn + 1) % self.quorums.len();
    }
}

/// A construction of quorum systems, one file each.
trait Construction: fmt::Debug + Send + Sync {
    /// The quorum of a node in a turn below [`turns`](Self::turns), sorted.
    fn quorum(&self, of: NodeId, turn: u64) -> Vec<NodeId>;

    fn turns(&self) -> u64 {
        1
    }

    /// All quorums, sorted, each once; none if they have more than `most` members in all.
    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>>;

    /// A quorum without any of the dead.
    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>>;

    /// How much work it is to find the quorum of one node.
    fn cost(&self) -> u64 {
        self.quorum(NodeId(0), 0).len() as u64
    }

    /// How much work a node makes in the search for a live quorum, compared with drawing its lot.
    fn effort(&self) -> u64 {
        1
    }

    /// The widths of its rows, if it has any.
    fn rows(&self) -> Option<Vec<u32>> {
        None
    }

    /// Its properties by theory, for systems too large to be measured.
    fn known(&self) -> Known {
        Known::default()
    }

    /// How likely it is that no quorum is alive if each node is dead with this probability, where
    /// there is a formula for it.
    fn failure(&self, _dead: f64) -> Option<f64> {
        None
    }
}

/// The properties of a system by theory. Tests compare them with measurements.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Known {
    smallest: Option<usize>,
    largest: Option<usize>,
    coterie: Option<bool>,
    symmetric: Option<bool>,
    nondominated: Option<bool>,
    ideal: Option<bool>,
    /// How many crashes always leave a live quorum.
    resilience: Option<u32>,
    /// The least load that any way to choose quorums has.
    load: Option<f64>,
}

/// All quorums of the nodes, each once.
fn distinct(by: &dyn Construction, nodes: u32, most: usize) -> Option<Vec<Vec<NodeId>>> {
    let mut all = Vec::new();
    let mut members = 0;
    for turn in 0..by.turns() {
        for id in 0..nodes {
            let quorum = by.quorum(NodeId(id), turn);
            members += quorum.len();
            if members > most {
                return None;
            }
            all.push(quorum);
        }
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// Whether none of these is dead.
fn all_alive(quorum: &[NodeId], dead: &NodeSet) -> bool {
    !quorum.iter().any(|&id| dead.contains(id))
}

/// `base` to the power of `exponent`.
fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
