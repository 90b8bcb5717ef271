//! Topologies, trees, quorum systems and wait-for graphs, as pictures.

use vorrang_algorithms::quorum::{QuorumSystem, Quorums};
use vorrang_algorithms::structure::{Sets, Structures, safety};
use vorrang_algorithms::topology::Topology;
use vorrang_draw::graph::{Bond, Graph, Link, Rank};
use vorrang_draw::{Chart, Placement, Story, What};
use vorrang_protocol::{Graph as Links, NodeId, NodeSet};

use crate::failure::Failure;

/// A topology.
pub fn topology(shape: &Topology, graph: &Links, command: String) -> Graph {
    let size = graph.group().size() as usize;
    let link = |(one, other): (NodeId, NodeId)| Link {
        from: one.index(),
        to: other.index(),
        rank: Bond::Link,
    };
    let columns = (size as f64).sqrt().ceil() as usize;
    let placement = match shape {
        Topology::Complete | Topology::Ring => Placement::Circle,
        Topology::Star => Placement::Hub,
        Topology::Line => Placement::Rows { widths: vec![size], centred: false },
        Topology::Tree(_) | Topology::RandomTree { .. } => Placement::Tree(0),
        Topology::Grid | Topology::Torus => {
            // As wide as the first node's lower neighbour says.
            let below =
                graph.neighbours(NodeId(0)).iter().map(|it| it.index()).filter(|&it| it > 1);
            let wide = below.filter(|it| size.is_multiple_of(*it) || *it <= columns + 1).min();
            rows(size, wide.unwrap_or(columns).max(1))
        }
        Topology::Hypercube | Topology::Random { .. } | Topology::Links(_) => Placement::Springs,
    };
    let edges = graph.edges();
    Graph {
        title: format!("{}: {size} nodes, {edges} links", shape.in_short()),
        command,
        nodes: Graph::numbered(size),
        links: graph.links().map(link).collect(),
        placement,
        ..Graph::default()
    }
}

/// So many nodes in rows of this width.
fn rows(size: usize, wide: usize) -> Placement {
    let mut widths = vec![wide; size / wide];
    widths.push(size % wide);
    Placement::Rows { widths, centred: false }
}

/// A quorum system, with two quorums and where they meet.
pub fn quorum(
    quorums: &Quorums,
    system: &QuorumSystem,
    (one, other): (u32, u32),
    dead: &NodeSet,
    command: String,
) -> Graph {
    let size = system.group().size() as usize;
    let of = |node: u32| {
        if dead.is_empty() {
            system.of(NodeId(node))
        } else {
            system.live(dead).unwrap_or_default()
        }
    };
    let (first, second) = (of(one), if dead.is_empty() { of(other) } else { Vec::new() });
    let mut nodes = Graph::numbered(size);
    for (id, node) in (0..).map(NodeId).zip(&mut nodes) {
        node.rank = match (first.contains(&id), second.contains(&id)) {
            _ if dead.contains(id) => Rank::Dead,
            (true, true) => Rank::Both,
            (true, false) => Rank::One,
            (false, true) => Rank::Two,
            (false, false) => Rank::Plain,
        };
    }
    let widths = system.rows().unwrap_or_default().iter().map(|&it| it as usize).collect();
    let (mut links, mut sets) = (Vec::new(), Vec::new());
    let placement = match quorums {
        Quorums::Grid | Quorums::Triangle(_) => Placement::Rows { widths, centred: false },
        Quorums::Wall(_) => Placement::Rows { widths, centred: true },
        Quorums::Tree => {
            let child = |to: usize| Link { from: (to - 1) / 2, to, rank: Bond::Link };
            links = (1..size).map(child).collect();
            Placement::Tree(0)
        }
        Quorums::Plane
        | Quorums::PlaneAsPrinted
        | Quorums::PlaneReduced
        | Quorums::Cyclic
        | Quorums::Sets(_) => {
            sets = lines(system, &first, &second);
            Placement::Circle
        }
        Quorums::Singleton | Quorums::All | Quorums::Majority | Quorums::Weighted(_) => {
            Placement::Circle
        }
    };
    let meet: Vec<NodeId> = first.iter().copied().filter(|it| second.contains(it)).collect();
    let caption = match (dead.is_empty(), first.is_empty()) {
        (false, true) => vec!["Every quorum has a node that is down.".to_owned()],
        (false, false) => vec![format!("A quorum without those that are down: {}.", list(&first))],
        (true, _) => vec![
            format!(
                "The quorum of node {one}: {}. Of node {other}: {}.",
                list(&first),
                list(&second)
            ),
            format!("They meet in {}.", list(&meet)),
        ],
    };
    let title = format!("{quorums}: a quorum system of {size} nodes");
    Graph { title, command, nodes, links, sets, placement, caption }
}

/// An information structure: an arrow to everybody whom a node asks, of another kind if it informs
/// it as well.
pub fn structure(structure: &Structures, sets: &[Sets], command: String) -> Graph {
    let mut links = Vec::new();
    for (from, Sets { asks, informs }) in sets.iter().enumerate() {
        let others = asks.iter().filter(|to| to.index() != from);
        links.extend(others.map(|to| {
            let rank = if informs.contains(to) { Bond::Inform } else { Bond::Ask };
            Link { from, to: to.index(), rank }
        }));
    }
    let size = sets.len();
    let title = match structure {
        Structures::Sets(_) => format!("An information structure of {size} nodes"),
        Structures::Central
        | Structures::Lamport
        | Structures::RicartAgrawala
        | Structures::Maekawa => format!("{structure}: an information structure of {size} nodes"),
    };
    let itself: Vec<NodeId> =
        (0..size as u32).map(NodeId).filter(|id| !sets[id.index()].informs.contains(id)).collect();
    let caption = match (safety(sets), itself.is_empty()) {
        (Err(why), _) => format!("Not safe: {why}."),
        (Ok(()), true) => "Every node also asks and informs itself.".to_owned(),
        (Ok(()), false) => format!("Not informed by themselves: {}.", list(&itself)),
    };
    Graph {
        title,
        command,
        nodes: Graph::numbered(size),
        links,
        placement: Placement::Circle,
        caption: vec![caption],
        ..Graph::default()
    }
}

/// All lines as loops: first the two that are looked at.
fn lines(system: &QuorumSystem, first: &[NodeId], second: &[NodeId]) -> Vec<Vec<usize>> {
    let loop_of = |quorum: &[NodeId]| {
        let mut nodes: Vec<usize> = quorum.iter().map(|id| id.index()).collect();
        nodes.sort_unstable();
        nodes
    };
    let (first, second) = (loop_of(first), loop_of(second));
    let mut all: Vec<Vec<usize>> = Vec::new();
    for id in system.group().members() {
        let line = loop_of(&system.of(id));
        if line != first && line != second && !all.contains(&line) {
            all.push(line);
        }
    }
    [vec![first, second], all].concat()
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The wait-for graph when a run is over.
pub fn waits(story: &Story) -> Graph {
    let waits = Chart::of(story).waits(story);
    let circle = Chart::circle(&waits).unwrap_or_default();
    let is_in = |from: usize, to: usize| {
        let place = circle.iter().position(|&it| it == from);
        place.is_some_and(|place| circle[(place + 1) % circle.len()] == to)
    };
    let link = |&(from, to): &(usize, usize)| {
        let rank = if is_in(from, to) { Bond::Circle } else { Bond::Wait };
        Link { from, to, rank }
    };
    let caption = match (waits.is_empty(), circle.len() > 1) {
        (true, _) => "No node waits for an answer when the run is over.",
        (false, true) => {
            "An arrow leads from a node to the one that it waits for: there is a \
                          cycle."
        }
        (false, false) => "An arrow leads from a node to the one that it waits for.",
    };
    Graph {
        title: format!("{}: wait-for graph", story.title),
        command: story.command.clone(),
        nodes: Graph::numbered(story.lanes.len()),
        links: waits.iter().map(link).collect(),
        caption: vec![caption.to_owned()],
        ..Graph::default()
    }
}

/// The tree that a run has made.
pub fn tree(story: &Story) -> Result<Graph, Failure> {
    let (mut parents, mut used) = (Vec::new(), Vec::new());
    for event in &story.events {
        match &event.what {
            What::Said { look, .. } => {
                parents.extend(look.parent.map(|parent| (parent, event.node)));
            }
            What::Sent { to, .. } => {
                let link = (event.node.min(*to), event.node.max(*to));
                if !used.contains(&link) {
                    used.push(link);
                }
            }
            _ => {}
        }
    }
    if parents.is_empty() {
        return Err(Failure::usage("no node reports a parent in this run: there is no tree"));
    }
    let is_root = |node: &usize| !parents.iter().any(|(_, child)| child == node);
    let root = (0..story.lanes.len()).find(is_root).unwrap_or(0);
    let is_tree = |&(one, other): &(usize, usize)| {
        parents.contains(&(one, other)) || parents.contains(&(other, one))
    };
    let mut links: Vec<Link> = used
        .iter()
        .filter(|link| !is_tree(link))
        .map(|&(from, to)| Link { from, to, rank: Bond::Link })
        .collect();
    links.extend(parents.iter().map(|&(from, to)| Link { from, to, rank: Bond::Tree }));
    let mut nodes = Graph::numbered(story.lanes.len());
    nodes[root].rank = Rank::Root;
    Ok(Graph {
        title: format!("{}: the tree that the run has made", story.title),
        command: story.command.clone(),
        nodes,
        links,
        placement: Placement::Tree(root),
        caption: vec![
            "Arrows lead from parents to children; other links that were used are thin.".to_owned(),
        ],
        ..Graph::default()
    })
}
