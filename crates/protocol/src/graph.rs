//! The communication graph.

use alloc::vec::Vec;

use crate::{Group, NodeId};

/// The links between the nodes of a group: nodes that are linked can send to each other.
///
/// ```
/// use vorrang_protocol::{Graph, Group, NodeId};
///
/// let path = Graph::new(Group::of(3), [(NodeId(0), NodeId(1)), (NodeId(2), NodeId(1))]);
/// assert_eq!(path.neighbours(NodeId(1)), [NodeId(0), NodeId(2)]);
/// assert!(path.has(NodeId(1), NodeId(2)) && !path.has(NodeId(0), NodeId(2)));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Graph {
    /// Where the neighbours of each node begin, and where those of the last end.
    starts: Vec<usize>,
    /// The neighbours of all nodes, each node's lowest first.
    neighbours: Vec<NodeId>,
}

impl Graph {
    /// Links between these pairs, each once however often it is named.
    ///
    /// # Panics
    ///
    /// If a pair names a node that is not in the group, or one node twice.
    pub fn new(group: Group, links: impl IntoIterator<Item = (NodeId, NodeId)>) -> Self {
        let mut ends: Vec<(NodeId, NodeId)> = Vec::new();
        for (one, other) in links {
            assert!(one != other, "node {one} is linked to itself");
            for id in [one, other] {
                let last = group.size() - 1;
                assert!(group.contains(id), "there is no node {id}: the last node is {last}");
            }
            ends.extend([(one, other), (other, one)]);
        }
        ends.sort_unstable();
        ends.dedup();
        let mut starts = alloc::vec![0; group.size() as usize + 1];
        for (from, _) in &ends {
            starts[from.index() + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        Self { starts, neighbours: ends.into_iter().map(|(_, to)| to).collect() }
    }

    /// All nodes, linked or not.
    pub fn group(&self) -> Group {
        Group::of(self.starts.len() as u32 - 1)
    }

    /// How many links there are.
    pub const fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The links, each once, the lower node first.
    pub fn links(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.group().members().flat_map(|one| {
            let above = self.neighbours(one).iter().filter(move |&&other| one < other);
            above.map(move |&other| (one, other))
        })
    }

    /// Those that a node is linked to, lowest first.
    pub fn neighbours(&self, of: NodeId) -> &[NodeId] {
        &self.neighbours[self.starts[of.index()]..self.starts[of.index() + 1]]
    }

    /// Whether there is a link between the two.
    pub fn has(&self, one: NodeId, other: NodeId) -> bool {
        self.group().contains(one) && self.neighbours(one).binary_search(&other).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_named_twice_is_one_link_and_leads_both_ways() {
        let pairs = [(0, 1), (1, 0), (0, 1), (1, 3)].map(|(a, b)| (NodeId(a), NodeId(b)));
        let graph = Graph::new(Group::of(4), pairs);
        assert_eq!(graph.edges(), 2);
        assert_eq!(graph.links().collect::<Vec<_>>(), [pairs[0], pairs[3]]);
        assert_eq!(graph.neighbours(NodeId(1)), [NodeId(0), NodeId(3)]);
        assert_eq!(graph.neighbours(NodeId(2)), []);
        assert!(graph.has(NodeId(3), NodeId(1)) && !graph.has(NodeId(3), NodeId(3)));
        assert!(!graph.has(NodeId(4), NodeId(1)) && !graph.has(NodeId(1), NodeId(4)));
    }

    #[test]
    #[should_panic(expected = "node 1 is linked to itself")]
    fn no_node_is_linked_to_itself() {
        Graph::new(Group::of(2), [(NodeId(1), NodeId(1))]);
    }

    #[test]
    #[should_panic(expected = "there is no node 2: the last node is 1")]
    fn links_are_between_members() {
        Graph::new(Group::of(2), [(NodeId(1), NodeId(2))]);
    }
}
