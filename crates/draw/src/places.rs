//! Where nodes of a graph are drawn.

use std::collections::VecDeque;
use std::f64::consts::TAU;

/// Where nodes are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// On a circle, in their order.
    #[default]
    Circle,
    /// The first in the middle, the others around it.
    Hub,
    /// In rows of these widths; each in the middle of the picture, if that is wanted.
    Rows {
        /// How many nodes each row has.
        widths: Vec<usize>,
        /// Whether rows are centred.
        centred: bool,
    },
    /// Below this one, level by level.
    Tree(usize),
    /// Where springs between linked nodes would pull them.
    Springs,
}

/// What links nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Whether it is from a parent to a child.
    pub(crate) is_tree: bool,
}

const MARGIN: f64 = 34.0;

/// The middle of each of so many nodes, and how large the picture is.
pub(crate) fn places(
    placement: &Placement,
    count: usize,
    edges: &[Edge],
    radius: f64,
) -> (Vec<(f64, f64)>, (f64, f64)) {
    let apart = radius * 3.4;
    let at = match placement {
        Placement::Hub => {
            let mut at = vec![(0.0, 0.0)];
            at.extend(circle(count.saturating_sub(1), apart));
            at
        }
        Placement::Rows { widths, centred } => rows(widths, *centred, apart),
        Placement::Tree(root) => tree(count, edges, *root, apart),
        Placement::Springs if count <= MOST_SPRINGS => springs(count, edges, apart),
        Placement::Circle | Placement::Springs => circle(count, apart),
    };
    framed(at, MARGIN + radius)
}

/// Beyond so many nodes a force-directed layout shows no structure.
const MOST_SPRINGS: usize = 400;

/// Moved so that all lies within a margin.
fn framed(mut at: Vec<(f64, f64)>, margin: f64) -> (Vec<(f64, f64)>, (f64, f64)) {
    let low = |pick: fn(&(f64, f64)) -> f64| at.iter().map(pick).fold(f64::INFINITY, f64::min);
    let high = |pick: fn(&(f64, f64)) -> f64| at.iter().map(pick).fold(f64::NEG_INFINITY, f64::max);
    if at.is_empty() {
        return (at, (2.0 * margin, 2.0 * margin));
    }
    let (left, top) = (low(|it| it.0), low(|it| it.1));
    let size = (high(|it| it.0) - left + 2.0 * margin, high(|it| it.1) - top + 2.0 * margin);
    for place in &mut at {
        *place = (place.0 - left + margin, place.1 - top + margin);
    }
    (at, size)
}

fn circle(count: usize, apart: f64) -> Vec<(f64, f64)> {
    let radius = (apart * count as f64 / TAU).max(apart * 1.4).max(90.0);
    let place = |id: usize| {
        let angle = TAU * (id as f64 / count.max(1) as f64 - 0.25);
        (radius * angle.cos(), radius * angle.sin())
    };
    (0..count).map(place).collect()
}

fn rows(widths: &[usize], centred: bool, apart: f64) -> Vec<(f64, f64)> {
    let apart = apart * 1.15;
    let widest = widths.iter().max().copied().unwrap_or(0);
    let mut at = Vec::new();
    for (row, &width) in widths.iter().filter(|&&width| width > 0).enumerate() {
        let indent = if centred { (widest - width) as f64 / 2.0 } else { 0.0 };
        at.extend((0..width).map(|it| ((it as f64 + indent) * apart, row as f64 * apart)));
    }
    at
}

/// Every node above the middle of its children; a node hangs below the first that reaches it.
fn tree(count: usize, edges: &[Edge], root: usize, apart: f64) -> Vec<(f64, f64)> {
    let mut parent = vec![None; count];
    let mut depth = vec![0_usize; count];
    let has_tree = edges.iter().any(|it| it.is_tree);
    let (mut queue, mut seen) = (VecDeque::from([root]), vec![false; count]);
    let mut order = Vec::new();
    if root < count {
        seen[root] = true;
    }
    while let Some(node) = queue.pop_front().filter(|&node| node < count) {
        order.push(node);
        for link in edges {
            let next = match (link.from == node, link.to == node) {
                _ if has_tree && !link.is_tree => continue,
                (true, _) => link.to,
                (false, true) if !has_tree => link.from,
                (false, _) => continue,
            };
            if !seen[next] {
                seen[next] = true;
                (parent[next], depth[next]) = (Some(node), depth[node] + 1);
                queue.push_back(next);
            }
        }
    }
    // Unreached nodes stand below all others.
    let lowest = depth.iter().max().copied().unwrap_or(0) + 1;
    for node in (0..count).filter(|&node| !seen[node]) {
        depth[node] = lowest;
        order.push(node);
    }
    let mut x = vec![0.0; count];
    let mut next = 0.0;
    let roots: Vec<usize> = order.iter().copied().filter(|&it| parent[it].is_none()).collect();
    for root in roots {
        hang(root, &order, &parent, &mut x, &mut next);
    }
    (0..count).map(|node| (x[node] * apart, depth[node] as f64 * apart * 1.5)).collect()
}

/// Leaves side by side, and each above its own.
fn hang(node: usize, order: &[usize], parent: &[Option<usize>], x: &mut [f64], next: &mut f64) {
    let children: Vec<usize> =
        order.iter().copied().filter(|&it| parent[it] == Some(node)).collect();
    for &child in &children {
        hang(child, order, parent, x, next);
    }
    if let (Some(&first), Some(&last)) = (children.first(), children.last()) {
        x[node] = f64::midpoint(x[first], x[last]);
    } else {
        x[node] = *next;
        *next += 1.0;
    }
}

/// After Fruchterman and Reingold, "Graph drawing by force-directed placement", 1991: from a
/// circle, so that the same graph always looks the same.
fn springs(count: usize, edges: &[Edge], apart: f64) -> Vec<(f64, f64)> {
    const ROUNDS: usize = 300;
    let ideal = apart * 1.7;
    let mut at = circle(count, apart);
    for round in 0..ROUNDS {
        let mut force = vec![(0.0, 0.0); count];
        for one in 0..count {
            for other in one + 1..count {
                let (dx, dy) = (at[one].0 - at[other].0, at[one].1 - at[other].1);
                let far = dx.hypot(dy).max(0.1);
                let push = ideal * ideal / far / far;
                force[one] = (force[one].0 + dx * push, force[one].1 + dy * push);
                force[other] = (force[other].0 - dx * push, force[other].1 - dy * push);
            }
        }
        for link in edges {
            let (one, other) = (link.from, link.to);
            let (dx, dy) = (at[one].0 - at[other].0, at[one].1 - at[other].1);
            let pull = dx.hypot(dy) / ideal;
            force[one] = (force[one].0 - dx * pull, force[one].1 - dy * pull);
            force[other] = (force[other].0 + dx * pull, force[other].1 + dy * pull);
        }
        let most = ideal * (1.0 - round as f64 / ROUNDS as f64) * 0.4 + 0.5;
        for (place, (fx, fy)) in at.iter_mut().zip(force) {
            let long = fx.hypot(fy).max(0.001);
            let step = long.min(most) / long;
            *place = (place.0 + fx * step, place.1 + fy * step);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(links: &[(usize, usize)]) -> Vec<Edge> {
        links.iter().map(|&(from, to)| Edge { from, to, is_tree: false }).collect()
    }

    fn nearest(at: &[(f64, f64)]) -> f64 {
        let mut least = f64::INFINITY;
        for (place, one) in at.iter().enumerate() {
            for other in &at[place + 1..] {
                least = least.min((one.0 - other.0).hypot(one.1 - other.1));
            }
        }
        least
    }

    #[test]
    fn no_two_nodes_lie_over_each_other() {
        let ring: Vec<(usize, usize)> = (0..12).map(|it| (it, (it + 1) % 12)).collect();
        let rows = Placement::Rows { widths: vec![5, 5, 2], centred: true };
        let all = [Placement::Circle, Placement::Hub, rows, Placement::Tree(0), Placement::Springs];
        for placement in all {
            let (at, (wide, high)) = places(&placement, 12, &edges(&ring), 15.0);
            assert_eq!(at.len(), 12);
            assert!(nearest(&at) > 30.0, "{placement:?}: {}", nearest(&at));
            let is_inside =
                |it: &(f64, f64)| it.0 > 0.0 && it.0 < wide && it.1 > 0.0 && it.1 < high;
            assert!(at.iter().all(is_inside), "{placement:?}");
        }
    }

    #[test]
    fn children_hang_below_their_parents() {
        let links = edges(&[(2, 0), (2, 1), (1, 3)]);
        let (at, _) = places(&Placement::Tree(2), 4, &links, 15.0);
        assert!(at[2].1 < at[0].1 && (at[0].1 - at[1].1).abs() < 0.1 && at[1].1 < at[3].1);
    }
}
