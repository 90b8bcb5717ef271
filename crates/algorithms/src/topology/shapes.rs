//! Shapes that a number of nodes decides.

use alloc::format;
use alloc::string::String;

use vorrang_protocol::{Graph, Group, NodeId};

use super::MOST_LINKS;

pub(super) fn complete(group: Group) -> Result<Graph, String> {
    let nodes = group.size();
    let links = u64::from(nodes) * u64::from(nodes - 1) / 2;
    if links > MOST_LINKS {
        return Err(format!("{nodes} nodes have {links} links, more than {MOST_LINKS}"));
    }
    let pairs = group.members().flat_map(|one| (0..one.0).map(move |other| (one, NodeId(other))));
    Ok(Graph::new(group, pairs))
}

pub(super) fn line(group: Group) -> Graph {
    Graph::new(group, (1..group.size()).map(|id| (NodeId(id - 1), NodeId(id))))
}

pub(super) fn ring(group: Group) -> Graph {
    // A link has no direction.
    let nodes = group.size();
    let next = move |id: u32| (NodeId(id), NodeId((id + 1) % nodes));
    Graph::new(group, (0..nodes).map(next).filter(|(one, other)| one != other))
}

pub(super) fn star(group: Group) -> Graph {
    Graph::new(group, (1..group.size()).map(|id| (NodeId(0), NodeId(id))))
}

pub(super) fn tree(group: Group, children: u32) -> Graph {
    Graph::new(group, (1..group.size()).map(|id| (NodeId((id - 1) / children), NodeId(id))))
}

pub(super) fn grid(group: Group) -> Graph {
    let nodes = group.size();
    let width = nodes.isqrt() + u32::from(nodes.isqrt().pow(2) < nodes);
    let right = (0..nodes).map(move |id| (id, id + 1)).filter(move |(_, next)| next % width > 0);
    let down = (0..nodes).map(move |id| (id, id + width));
    let inside = right.chain(down).filter(move |&(_, other)| other < nodes);
    Graph::new(group, inside.map(|(one, other)| (NodeId(one), NodeId(other))))
}

/// The sides of the most square rectangle of so many nodes.
fn sides(nodes: u32) -> (u32, u32) {
    let mut short = nodes.isqrt();
    while !nodes.is_multiple_of(short) {
        short -= 1;
    }
    (short, nodes / short)
}

pub(super) fn torus(group: Group) -> Result<Graph, String> {
    let nodes = group.size();
    let (rows, columns) = sides(nodes);
    if rows < 2 {
        return Err(nearest("rows and columns of at least 2", nodes, |it| sides(it).0 >= 2));
    }
    let around = (0..nodes).flat_map(move |id| {
        let (row, column) = (id / columns, id % columns);
        let right = row * columns + (column + 1) % columns;
        let down = (row + 1) % rows * columns + column;
        [(NodeId(id), NodeId(right)), (NodeId(id), NodeId(down))]
    });
    Ok(Graph::new(group, around))
}

pub(super) fn hypercube(group: Group) -> Result<Graph, String> {
    let nodes = group.size();
    if !nodes.is_power_of_two() {
        return Err(nearest("a power of two", nodes, u32::is_power_of_two));
    }
    let across = (0..nodes).flat_map(move |id| {
        let digits = (0..nodes.trailing_zeros()).map(move |digit| id ^ (1 << digit));
        digits.map(move |other| (NodeId(id), NodeId(other)))
    });
    Ok(Graph::new(group, across))
}

/// The error: the numbers of nodes that are possible, and the nearest of them.
fn nearest(what: &str, nodes: u32, fits: fn(u32) -> bool) -> String {
    let below = (1..nodes).rev().find(|&it| fits(it));
    let above = (nodes..=u32::MAX).find(|&it| fits(it));
    let such = match (below, above) {
        (Some(below), Some(above)) => format!(", such as {below} or {above}"),
        (Some(one), None) | (None, Some(one)) => format!(", such as {one}"),
        (None, None) => String::new(),
    };
    format!("{nodes} nodes do not make {what}: that takes another number{such}")
}
