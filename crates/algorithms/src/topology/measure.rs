//! Properties of a graph: connectivity, distances, and shortest paths to a node.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use vorrang_protocol::{Graph, NodeId};

/// The next node on a shortest path from each node to `root`; none for the root itself and for
/// nodes that cannot reach it. In a tree there is only one path.
pub fn towards(graph: &Graph, root: NodeId) -> Vec<Option<NodeId>> {
    let mut first = alloc::vec![None; graph.group().size() as usize];
    walk(graph, root, |from, to, _| first[to.index()] = Some(from));
    first
}

/// How many links the shortest way from `root` to each node has; none where there is no way.
pub fn distances(graph: &Graph, root: NodeId) -> Vec<Option<u32>> {
    let mut distances = alloc::vec![None; graph.group().size() as usize];
    distances[root.index()] = Some(0);
    walk(graph, root, |_, to, distance| distances[to.index()] = Some(distance));
    distances
}

/// Goes from `root` to all that can be reached, nearest first, and tells from where each is reached
/// and how far it is.
fn walk(graph: &Graph, root: NodeId, mut reach: impl FnMut(NodeId, NodeId, u32)) {
    let mut seen = alloc::vec![false; graph.group().size() as usize];
    seen[root.index()] = true;
    let mut ahead = VecDeque::from([(root, 0)]);
    while let Some((from, distance)) = ahead.pop_front() {
        for &to in graph.neighbours(from) {
            if !seen[to.index()] {
                seen[to.index()] = true;
                reach(from, to, distance + 1);
                ahead.push_back((to, distance + 1));
            }
        }
    }
}

/// The first node that cannot be reached from node 0, and how many can; none if all can.
pub fn unreached(graph: &Graph) -> Option<(NodeId, usize)> {
    let distances = distances(graph, NodeId(0));
    let lost = distances.iter().position(Option::is_none)?;
    Some((NodeId(lost as u32), distances.iter().flatten().count()))
}

/// The properties of a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// How far apart the two nodes are that are farthest apart; unknown if that takes too long.
    pub diameter: Option<u32>,
    /// The mean distance between two different nodes, 0 if there is only one; unknown if that takes
    /// too long.
    pub mean_distance: Option<f64>,
    /// The fewest links of a node.
    pub least_degree: usize,
    /// The most links of a node.
    pub most_degree: usize,
}

/// Measures a graph that holds together.
///
/// # Panics
///
/// If there are nodes between which no way leads.
pub fn shape_of(graph: &Graph) -> Shape {
    let nodes = u64::from(graph.group().size());
    let far = if graph.edges() as u64 + 1 == nodes {
        Some(far_in_tree(graph))
    } else {
        /// As many links looked at as take some seconds.
        const MOST_LOOKS: u64 = 2_000_000_000;
        (nodes.saturating_mul(graph.edges() as u64) <= MOST_LOOKS).then(|| far_in_any(graph))
    };
    let degrees = || graph.group().members().map(|id| graph.neighbours(id).len());
    Shape {
        diameter: far.map(|(diameter, _)| diameter),
        mean_distance: far.map(|(_, sum)| sum as f64 / (nodes * (nodes - 1)).max(1) as f64),
        least_degree: degrees().min().unwrap_or(0),
        most_degree: degrees().max().unwrap_or(0),
    }
}

/// The largest distance, and the sum of all from each node to each other.
fn far_in_any(graph: &Graph) -> (u32, u64) {
    let all = graph.group().members().flat_map(|root| distances(graph, root));
    let known = all.map(|it| it.expect("a way leads from every node to every other"));
    known.fold((0, 0), |(most, sum), it| (most.max(it), sum + u64::from(it)))
}

/// The same of a tree, in one walk for each: the node farthest from any is an end of a longest way,
/// and a link lies on the ways between all on its one side and all on its other.
fn far_in_tree(graph: &Graph) -> (u32, u64) {
    let nodes = u64::from(graph.group().size());
    let farthest = |root| {
        let mut last = (root, 0);
        walk(graph, root, |_, to, distance| last = (to, distance));
        last
    };
    let (diameter_end, _) = farthest(NodeId(0));
    let mut order = Vec::new();
    walk(graph, NodeId(0), |from, to, _| order.push((from, to)));
    let mut beyond = alloc::vec![1_u64; nodes as usize];
    let mut sum = 0;
    for &(from, to) in order.iter().rev() {
        let side = beyond[to.index()];
        sum += 2 * side * (nodes - side);
        beyond[from.index()] += side;
    }
    (farthest(diameter_end).1, sum)
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;
    use crate::topology::Topology;

    fn graph(text: &str, nodes: u32) -> Graph {
        text.parse::<Topology>().unwrap().graph(Group::of(nodes)).expect(text)
    }

    #[test]
    fn shapes_have_the_links_and_the_distances_that_they_are_known_for() {
        for (text, nodes, edges, diameter, degrees) in [
            ("complete", 5, 10, 1, (4, 4)),
            ("complete", 1, 0, 0, (0, 0)),
            ("ring", 8, 8, 4, (2, 2)),
            ("ring", 2, 1, 1, (1, 1)),
            ("ring", 1, 0, 0, (0, 0)),
            ("line", 5, 4, 4, (1, 2)),
            ("star", 6, 5, 2, (1, 5)),
            ("tree:2", 7, 6, 4, (1, 3)),
            ("tree:3", 13, 12, 4, (1, 4)),
            ("tree:1", 4, 3, 3, (1, 2)),
            ("grid", 9, 12, 4, (2, 4)),
            ("grid", 7, 8, 4, (1, 3)),
            ("grid", 2, 1, 1, (1, 1)),
            ("torus", 9, 18, 2, (4, 4)),
            ("torus", 12, 24, 3, (4, 4)),
            ("torus", 4, 4, 2, (2, 2)),
            ("hypercube", 16, 32, 4, (4, 4)),
            ("hypercube", 1, 0, 0, (0, 0)),
        ] {
            let graph = graph(text, nodes);
            let shape = shape_of(&graph);
            let found = (graph.edges(), shape.diameter.unwrap());
            assert_eq!(found, (edges, diameter), "{text} {nodes}");
            assert_eq!((shape.least_degree, shape.most_degree), degrees, "{text} {nodes}");
        }
    }

    #[test]
    fn a_tree_is_measured_as_any_graph_is() {
        for seed in 0..50 {
            let tree = Topology::RandomTree { seed: Some(seed) };
            for nodes in [1, 2, 3, 10, 33] {
                let graph = tree.tree(Group::of(nodes)).unwrap();
                assert_eq!(far_in_tree(&graph), far_in_any(&graph));
            }
        }
        // A hundred and one in a line: (n + 1) / 3 on average.
        assert_eq!(shape_of(&graph("line", 101)).mean_distance, Some(34.0));
    }

    #[test]
    fn the_way_to_a_node_gets_shorter_step_by_step() {
        let grid = graph("grid", 10);
        let (way, far) = (towards(&grid, NodeId(4)), distances(&grid, NodeId(4)));
        for id in grid.group().members() {
            match way[id.index()] {
                None => assert_eq!(id, NodeId(4)),
                Some(next) => {
                    assert!(grid.has(id, next));
                    assert_eq!(far[id.index()].unwrap(), far[next.index()].unwrap() + 1);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_reason() {
        let wrong = |text: &str, nodes| {
            let topology: Topology = text.parse().unwrap();
            topology.tree(Group::of(nodes)).unwrap_err().0
        };
        assert_eq!(
            wrong("hypercube", 6),
            "--topology hypercube: 6 nodes do not make a power of two: that takes another number, \
             such as 4 or 8"
        );
        assert!(wrong("torus", 7).ends_with("such as 6 or 8"));
        assert!(wrong("torus", 1).ends_with("such as 4"));
        assert!(wrong("ring", 5).contains("a tree is needed, and 5 nodes with 5 links are none"));
        assert!(wrong("complete", 1_000_000).contains("499999500000 links"));
        assert_eq!(
            wrong("links:0-1,2-3", 4),
            "--topology of 2 links: it does not hold together: no path leads from node 0 to node 2 \
             (it reaches 2 of 4 nodes)"
        );
        assert!(wrong("links:0-1,1-7", 4).contains("it has a node 7"));
        assert!(wrong("links:0-1,1-7", 4).ends_with("say --nodes 8"));
    }

    #[test]
    fn a_million_nodes_are_no_trouble() {
        for text in ["tree:2", "random-tree:3", "line"] {
            let graph = graph(text, 1_000_000);
            assert_eq!(graph.edges(), 999_999);
            assert!(shape_of(&graph).diameter.unwrap() > 30, "{text}");
        }
    }
}
