//! The graphs that algorithms run on, as values: a shape for any number of nodes, or a given list
//! of links.
//!
//! ```
//! use vorrang_algorithms::topology::{Topology, measure};
//! use vorrang_protocol::Group;
//!
//! let ring: Topology = "ring".parse().unwrap();
//! let graph = ring.graph(Group::of(8)).unwrap();
//! assert_eq!((graph.edges(), measure::shape_of(&graph).diameter), (8, Some(4)));
//! ```

mod drawn;
pub mod measure;
pub mod ring;
mod shapes;
mod text;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use vorrang_protocol::{Graph, Group, NodeId};

use crate::unfit::Unfit;

/// The communication graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Topology {
    /// Every node to every other.
    Complete,
    /// Each node to the next, and the last to the first.
    Ring,
    /// Each node to the next.
    Line,
    /// Node 0 to every other.
    Star,
    /// A balanced tree from node 0, in which every node but the lowest ones has so many children.
    Tree(u32),
    /// Rows and columns, as square as can be; the last row may be short.
    Grid,
    /// Rows and columns, full, whose ends are joined.
    Torus,
    /// Nodes whose numbers differ in one binary digit.
    Hypercube,
    /// A tree that is drawn: every tree is as likely as every other.
    RandomTree {
        /// The seed of the draw; by default the seed of the run.
        seed: Option<u64>,
    },
    /// A connected graph that is drawn.
    Random {
        /// How many of all possible links there are.
        density: Density,
        /// The seed of the draw; by default the seed of the run.
        seed: Option<u64>,
    },
    /// These links.
    Links(Arc<[(NodeId, NodeId)]>),
}

/// A share of all possible links, in millionths: a number with which texts can be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Density(u32);

impl Density {
    const WHOLE: u32 = 1_000_000;

    /// So many millionths, if that is no more than the whole.
    pub const fn millionths(count: u32) -> Option<Self> {
        if count <= Self::WHOLE { Some(Self(count)) } else { None }
    }

    /// How many of so many things that is, rounded.
    fn of(self, things: u64) -> u64 {
        let whole = u128::from(Self::WHOLE);
        ((u128::from(self.0) * u128::from(things) + whole / 2) / whole) as u64
    }
}

/// As many links as fit into memory.
const MOST_LINKS: u64 = 20_000_000;

/// The default seed.
const USUAL_SEED: u64 = 1;

impl Topology {
    /// The same, drawn by this seed if it is drawn and nothing was said of a seed.
    #[must_use]
    pub fn seeded(self, by: u64) -> Self {
        match self {
            Self::RandomTree { seed: None } => Self::RandomTree { seed: Some(by) },
            Self::Random { density, seed: None } => Self::Random { density, seed: Some(by) },
            said => said,
        }
    }

    /// The links between the nodes of a group: connected, in every shape.
    ///
    /// # Errors
    ///
    /// If there is no such shape of so many nodes, or it does not hold together, with a sentence
    /// that says why.
    pub fn graph(&self, group: Group) -> Result<Graph, Unfit> {
        let unfit = |why: String| Unfit(format!("--topology {}: {why}", self.in_short()));
        let graph = self.links(group).map_err(unfit)?;
        match measure::unreached(&graph) {
            None => Ok(graph),
            Some((node, reached)) => Err(unfit(format!(
                "it does not hold together: no path leads from node 0 to node {node} (it reaches \
                 {reached} of {} nodes)",
                group.size()
            ))),
        }
    }

    /// The same, if it is a tree.
    ///
    /// # Errors
    ///
    /// As [`graph`](Self::graph), or if there is a second way between two nodes.
    pub fn tree(&self, group: Group) -> Result<Graph, Unfit> {
        let graph = self.graph(group)?;
        let (links, wanted) = (graph.edges(), group.size() as usize - 1);
        if links == wanted {
            return Ok(graph);
        }
        Err(Unfit(format!(
            "--topology {}: a tree is needed, and {} nodes with {links} links are none: that takes \
             {wanted}",
            self.in_short(),
            group.size()
        )))
    }

    fn links(&self, group: Group) -> Result<Graph, String> {
        let nodes = group.size();
        match self {
            Self::Complete => shapes::complete(group),
            Self::Ring => Ok(shapes::ring(group)),
            Self::Line => Ok(shapes::line(group)),
            Self::Star => Ok(shapes::star(group)),
            Self::Tree(0) => Err("a tree has at least 1 child a node".to_owned()),
            Self::Tree(children) => Ok(shapes::tree(group, *children)),
            Self::Grid => Ok(shapes::grid(group)),
            Self::Torus => shapes::torus(group),
            Self::Hypercube => shapes::hypercube(group),
            Self::RandomTree { seed } => Ok(drawn::tree(group, seed.unwrap_or(USUAL_SEED))),
            Self::Random { density, seed } => {
                drawn::connected(group, *density, seed.unwrap_or(USUAL_SEED))
            }
            Self::Links(links) => {
                let strange = links.iter().flat_map(|&(one, other)| [one, other]);
                match strange.filter(|&id| !group.contains(id)).max() {
                    None => Ok(Graph::new(group, links.iter().copied())),
                    Some(id) => Err(format!(
                        "it has a node {id}, and the last of {nodes} nodes is {}: say --nodes {}",
                        nodes - 1,
                        u64::from(id.0) + 1
                    )),
                }
            }
        }
    }
}
