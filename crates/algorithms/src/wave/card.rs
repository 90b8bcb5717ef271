//! The card of a wave algorithm.

use vorrang_protocol::{Graph, NodeId};

use super::Wave;
use super::spec::{Spanning, Watch};
use super::termination::Terminated;
use crate::card::Quantity;
use crate::setup::{Setup, Unfit};
use crate::topology::Topology;
use crate::topology::measure::distances;

/// An algorithm's card.
pub type Card = crate::card::Card<Wave>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Wave>;

/// What a wave algorithm is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terms {
    /// To reach every node, once each.
    Traversal,
    /// To find out that a computation is over that reaches any node, any number of times.
    Termination,
}

impl Card {
    /// All that must hold in a set-up.
    ///
    /// # Errors
    ///
    /// If there is no such graph.
    pub fn watch(&self, setup: &Setup) -> Result<Watch, Unfit> {
        Ok(match self.terms {
            Terms::Traversal => (Some(Spanning::of(setup)?), None),
            Terms::Termination => {
                let graph = setup.topology.graph(setup.group)?;
                (None, Some(Terminated::new(graph, setup.work)))
            }
        })
    }
}

/// Messages.
pub const MESSAGES: Quantity = Quantity::number("messages", "messages");
/// How many links the longest way from a node to the initiator has, in the tree.
pub const TREE_DEPTH: Quantity = Quantity::number("tree_depth", "depth of the tree");
/// From the start until the initiator is told that all is over.
pub const DURATION: Quantity = Quantity::time("duration", "duration");

/// The parameters of the theory: the graph, as seen from the initiator.
///
/// A *level* is all nodes that are equally far from the initiator. A link joins two nodes of one
/// level or of two neighbouring ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// n, the number of nodes.
    pub nodes: u64,
    /// e, the number of links.
    pub edges: u64,
    /// D, how far the farthest node is.
    pub farthest: u64,
    /// Whether two of the farthest nodes are linked.
    pub farthest_linked: bool,
    /// Links between two neighbours of the initiator.
    pub among_neighbours: u64,
    /// Links from the initiator to its neighbours, and from those to the next level.
    pub first_two_levels: u64,
    /// Nodes beyond these levels.
    pub beyond: u64,
    /// w, how many pieces of work there are, where a wave spreads any.
    pub work: u64,
}

impl Setting {
    /// How a connected graph looks from a node.
    pub fn new(graph: &Graph, initiator: NodeId) -> Self {
        let far = distances(graph, initiator);
        let far = |id: NodeId| u64::from(far[id.index()].unwrap_or(0));
        let farthest = graph.group().members().map(far).max().unwrap_or(0);
        let links = || graph.links().map(|(one, other)| (far(one), far(other)));
        let count = |is: fn(u64, u64) -> bool| links().filter(|&(a, b)| is(a, b)).count() as u64;
        Self {
            nodes: graph.group().size().into(),
            edges: graph.edges() as u64,
            farthest,
            farthest_linked: links().any(|(a, b)| a == b && b == farthest),
            among_neighbours: count(|a, b| (a, b) == (1, 1)),
            first_two_levels: count(|a, b| a != b && a + b <= 3),
            beyond: graph.group().members().filter(|&id| far(id) > 2).count() as u64,
            work: 0,
        }
    }

    /// How the graph looks in which everyone is linked to everyone.
    pub fn complete(nodes: u32) -> Self {
        let nodes = u64::from(nodes);
        let pairs = |of: u64| of * of.saturating_sub(1) / 2;
        Self {
            nodes,
            edges: pairs(nodes),
            farthest: 1.min(nodes - 1),
            farthest_linked: nodes > 2,
            among_neighbours: pairs(nodes - 1),
            first_two_levels: nodes - 1,
            beyond: 0,
            work: 0,
        }
    }

    /// The same with so many pieces of work.
    #[must_use]
    pub fn working(self, pieces: u32) -> Self {
        Self { work: pieces.into(), ..self }
    }
}

/// The smallest system that shows a mistake; node 0 starts.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many nodes there are.
    pub nodes: u32,
    /// The communication graph.
    pub topology: &'static Topology,
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;

    fn seen(text: &str, nodes: u32, from: u32) -> Setting {
        let topology: Topology = text.parse().unwrap();
        Setting::new(&topology.graph(Group::of(nodes)).unwrap(), NodeId(from))
    }

    #[test]
    fn a_graph_looks_different_from_different_nodes() {
        let six_links = "links:0-1,0-2,1-3,2-3,2-4,3-4";
        let at_0 = Setting {
            nodes: 5,
            edges: 6,
            farthest: 2,
            farthest_linked: true,
            among_neighbours: 0,
            first_two_levels: 5,
            beyond: 0,
            work: 0,
        };
        assert_eq!(seen(six_links, 5, 0), at_0);
        let at_3 = Setting { farthest_linked: false, among_neighbours: 1, ..at_0 };
        assert_eq!(seen(six_links, 5, 3), at_3);
        let line = seen("line", 6, 0);
        assert_eq!((line.farthest, line.first_two_levels, line.beyond), (5, 2, 3));
        assert!(!line.farthest_linked && seen("complete", 3, 2).farthest_linked);
        assert_eq!(seen("ring", 1, 0).farthest, 0);
        for nodes in 1..6 {
            assert_eq!(seen("complete", nodes, nodes - 1), Setting::complete(nodes));
        }
    }
}
