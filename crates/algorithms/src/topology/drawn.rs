//! Shapes that are drawn: the same for the same seed, on every machine.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use vorrang_protocol::{Graph, Group, NodeId};

use super::{Density, MOST_LINKS};

struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// The draws of a graph are others than those of the run on it, though both have one seed.
    fn new(seed: u64) -> Self {
        const OF_GRAPHS: u64 = u64::from_be_bytes(*b"topology");
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ OF_GRAPHS))
    }

    /// A number below `bound`, uneven by less than one part in 2^64 / bound.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    fn node(&mut self, group: Group) -> u32 {
        self.below(group.size().into()) as u32
    }
}

/// Every order of the nodes is as likely as every other (Fisher and Yates).
pub(super) fn order(group: Group, seed: u64) -> Vec<NodeId> {
    let mut draw = Draw::new(seed);
    let mut order: Vec<NodeId> = group.members().collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last as u64 + 1) as usize);
    }
    order
}

/// Every tree over the nodes is as likely as every other: Prüfer's sequences, of which there is one
/// for each, are drawn (H. Prüfer, "Neuer Beweis eines Satzes über Permutationen", 1918).
pub(super) fn tree(group: Group, seed: u64) -> Graph {
    Graph::new(group, tree_links(group, &mut Draw::new(seed)))
}

fn tree_links(group: Group, draw: &mut Draw) -> Vec<(NodeId, NodeId)> {
    let nodes = group.size();
    let sequence: Vec<u32> = (2..nodes).map(|_| draw.node(group)).collect();
    // How often a node is still to be linked, besides once.
    let mut left = alloc::vec![0_u32; nodes as usize];
    for &id in &sequence {
        left[id as usize] += 1;
    }
    let mut links = Vec::new();
    // The lowest leaf is cut off again and again. Those below `next` are gone, but for one that has
    // just become a leaf.
    let mut next = 0;
    let mut leaf = None;
    for &id in &sequence {
        let cut = leaf.take().unwrap_or_else(|| {
            while left[next as usize] > 0 {
                next += 1;
            }
            next += 1;
            next - 1
        });
        links.push((NodeId(cut), NodeId(id)));
        left[id as usize] -= 1;
        leaf = (left[id as usize] == 0 && id < next).then_some(id);
    }
    // Two are left: the last node, which is never the lowest leaf, and one more.
    if nodes > 1 {
        let other = leaf.unwrap_or_else(|| {
            while left[next as usize] > 0 {
                next += 1;
            }
            next
        });
        links.push((NodeId(other), NodeId(nodes - 1)));
    }
    links
}

/// A drawn tree, and as many more links as make the density, all equally likely. What the density
/// leaves too sparse to hold together is a tree.
pub(super) fn connected(group: Group, density: Density, seed: u64) -> Result<Graph, String> {
    let nodes = u64::from(group.size());
    let possible = nodes * (nodes - 1) / 2;
    let wanted = density.of(possible).max(nodes - 1);
    if wanted > MOST_LINKS {
        return Err(format!("that is {wanted} links, more than {MOST_LINKS}"));
    }
    let mut draw = Draw::new(seed);
    let ordered = |(one, other): (NodeId, NodeId)| (one.min(other), one.max(other));
    let mut links: BTreeSet<_> = tree_links(group, &mut draw).into_iter().map(ordered).collect();
    if wanted * 2 <= possible {
        while (links.len() as u64) < wanted {
            let pair = (NodeId(draw.node(group)), NodeId(draw.node(group)));
            if pair.0 != pair.1 {
                links.insert(ordered(pair));
            }
        }
        return Ok(Graph::new(group, links));
    }
    // Where most links are there, most draws would be in vain: each that is not in the tree is
    // taken with the share of those still wanted among those still to come.
    let (mut missing, mut left) = (wanted - links.len() as u64, possible - links.len() as u64);
    let pairs = group.members().flat_map(|one| (0..one.0).map(move |other| (NodeId(other), one)));
    for pair in pairs {
        if links.contains(&pair) {
            continue;
        }
        if draw.below(left) < missing {
            links.insert(pair);
            missing -= 1;
        }
        left -= 1;
    }
    Ok(Graph::new(group, links))
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::topology::measure::unreached;

    #[test]
    fn every_tree_is_as_likely_as_every_other() {
        // Cayley: four nodes have 4^2 trees.
        let mut seen: BTreeMap<Vec<(NodeId, NodeId)>, u32> = BTreeMap::new();
        for seed in 0..1600 {
            *seen.entry(tree(Group::of(4), seed).links().collect()).or_default() += 1;
        }
        assert_eq!(seen.len(), 16);
        assert!(seen.values().all(|count| (60..=140).contains(count)), "{seen:?}");
    }

    #[test]
    fn drawn_graphs_hold_together_and_have_the_links_that_were_asked_for() {
        for nodes in [1, 2, 3, 7, 40] {
            for millionths in [0, 100_000, 500_000, 700_000, 1_000_000] {
                let density = Density::millionths(millionths).unwrap();
                for seed in 0..20 {
                    let graph = connected(Group::of(nodes), density, seed).unwrap();
                    assert_eq!(unreached(&graph), None);
                    let possible = u64::from(nodes) * u64::from(nodes - 1) / 2;
                    let wanted = density.of(possible).max(u64::from(nodes) - 1);
                    assert_eq!(graph.edges() as u64, wanted);
                }
            }
        }
    }

    #[test]
    fn a_seed_decides_what_is_drawn_on_every_machine() {
        let links = |seed| tree(Group::of(6), seed).links().map(|(a, b)| (a.0, b.0)).collect();
        let [one, two]: [Vec<(u32, u32)>; 2] = [links(1), links(2)];
        assert_ne!(one, two);
        assert_eq!(one, links(1));
    }
}
