//! Whom to leave out where some cannot hear each other: the fewest such that all others can. In a
//! graph whose edges are broken links that is a minimum vertex cover, which is exact here for the
//! sizes that occur: Fedor V. Fomin and Dieter Kratsch, "Exact exponential algorithms", 2010, has
//! the rules (a leaf's neighbour is taken; else a node of most links, or all of its neighbours).

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

/// So many choices are tried at most. Only a graph that no network has takes more; then the best
/// that was found counts, which is the same wherever the same links are broken.
const MOST_CHOICES: u32 = 1 << 14;

/// The fewest of these nodes without which there is no broken link between any two. Where there are
/// several choices, those that come first in the list stay.
pub(super) fn fewest(nodes: &[NodeId], is_cut: impl Fn(NodeId, NodeId) -> bool) -> NodeSet {
    let links: Vec<Vec<usize>> = nodes
        .iter()
        .map(|&one| {
            let is_other = |&it: &usize| nodes[it] != one && is_cut(one, nodes[it]);
            (0..nodes.len()).filter(is_other).collect()
        })
        .collect();
    let mut left = Left { links: &links, is_there: vec![true; nodes.len()], choices: 0 };
    let mut most = left.least();
    let mut out = NodeSet::EMPTY;
    for place in 0..nodes.len() {
        if !left.is_there[place] || left.degree(place) == 0 {
            continue;
        }
        // It stays if the others that then must go are as few as can be.
        let before = left.is_there.clone();
        let gone = left.without_neighbours(place);
        if gone + left.least() <= most {
            for (it, node) in nodes.iter().enumerate().filter(|it| it.0 != place) {
                if before[it] && !left.is_there[it] {
                    out.insert(*node);
                }
            }
            most -= gone;
        } else {
            left.is_there = before;
            left.is_there[place] = false;
            out.insert(nodes[place]);
            most = most.saturating_sub(1);
        }
    }
    out
}

/// The nodes of which nothing is decided, and the links between them.
struct Left<'a> {
    links: &'a [Vec<usize>],
    is_there: Vec<bool>,
    choices: u32,
}

impl Left<'_> {
    fn neighbours(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        self.links[of].iter().copied().filter(|&it| self.is_there[it])
    }

    fn degree(&self, of: usize) -> usize {
        self.neighbours(of).count()
    }

    /// Keeps a node: all that it cannot hear must go; how many these are.
    fn without_neighbours(&mut self, of: usize) -> usize {
        let gone: Vec<usize> = self.neighbours(of).collect();
        self.is_there[of] = false;
        for &it in &gone {
            self.is_there[it] = false;
        }
        gone.len()
    }

    /// How many must go at least.
    fn least(&mut self) -> usize {
        self.choices = 0;
        let mut best = self.is_there.iter().filter(|it| **it).count();
        self.improve(0, &mut best);
        best
    }

    fn improve(&mut self, gone: usize, best: &mut usize) {
        let there = || (0..self.is_there.len()).filter(|&it| self.is_there[it]);
        let leaf = there().find(|&it| self.degree(it) == 1);
        // Of equals the first.
        let busiest = there().rev().max_by_key(|&it| self.degree(it));
        let Some(busiest) = busiest.filter(|&it| self.degree(it) > 0) else {
            *best = gone.min(*best);
            return;
        };
        self.choices += 1;
        if gone + self.pairs() >= *best || self.choices > MOST_CHOICES {
            return;
        }
        let before = self.is_there.clone();
        if let Some(leaf) = leaf {
            let taken = self.without_neighbours(leaf);
            self.improve(gone + taken, best);
        } else {
            let taken = self.without_neighbours(busiest);
            self.improve(gone + taken, best);
            self.is_there.clone_from(&before);
            self.is_there[busiest] = false;
            self.improve(gone + 1, best);
        }
        self.is_there = before;
    }

    /// Of every two that cannot hear each other one must go: as many as are paired one by one.
    fn pairs(&self) -> usize {
        let mut is_paired = vec![false; self.is_there.len()];
        let mut pairs = 0;
        for one in (0..self.is_there.len()).filter(|&it| self.is_there[it]) {
            if is_paired[one] {
                continue;
            }
            if let Some(other) = self.neighbours(one).find(|&it| !is_paired[it]) {
                (is_paired[one], is_paired[other]) = (true, true);
                pairs += 1;
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: u32) -> Vec<NodeId> {
        (0..count).map(NodeId).collect()
    }

    fn out(count: u32, cuts: &[(u32, u32)]) -> Vec<u32> {
        let is_cut = |one: NodeId, other: NodeId| {
            cuts.contains(&(one.0, other.0)) || cuts.contains(&(other.0, one.0))
        };
        fewest(&nodes(count), is_cut).iter().map(|it| it.0).collect()
    }

    #[test]
    fn of_two_that_cannot_hear_each_other_the_first_stays() {
        assert_eq!(out(5, &[]), [0; 0]);
        assert_eq!(out(5, &[(1, 2)]), [2]);
        assert_eq!(out(5, &[(1, 2), (3, 4)]), [2, 4]);
        let theirs = fewest(&[NodeId(4), NodeId(1)], |_, _| true);
        assert_eq!(theirs, [NodeId(1)].into_iter().collect(), "first in the list");
    }

    #[test]
    fn whoever_misses_several_goes_and_they_stay() {
        assert_eq!(out(5, &[(0, 1), (0, 2)]), [0]);
        assert_eq!(out(5, &[(0, 1), (1, 2), (0, 2)]), [1, 2]);
        assert_eq!(out(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]), [1, 3, 5]);
    }

    /// Against every subset, for all graphs of five nodes and some of seven.
    #[test]
    fn none_is_left_out_without_need() {
        let check = |count: u32, pairs: &[(u32, u32)], bits: u32| {
            let cuts: Vec<_> = pairs
                .iter()
                .enumerate()
                .filter(|it| bits >> it.0 & 1 == 1)
                .map(|it| *it.1)
                .collect();
            let found = out(count, &cuts);
            let is_enough = |gone: u32| {
                cuts.iter().all(|&(one, other)| gone >> one & 1 == 1 || gone >> other & 1 == 1)
            };
            let bits_of = found.iter().fold(0, |bits, it| bits | 1 << it);
            assert!(is_enough(bits_of), "{cuts:?} {found:?}");
            let best = (0..1_u32 << count).filter(|&it| is_enough(it)).map(u32::count_ones).min();
            assert_eq!(best, Some(found.len() as u32), "{cuts:?} {found:?}");
        };
        let pairs = |count: u32| {
            let all = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
            all.collect::<Vec<_>>()
        };
        for bits in 0..1 << 10 {
            check(5, &pairs(5), bits);
        }
        for seed in 1..300_u32 {
            check(7, &pairs(7), seed.wrapping_mul(2_654_435_761) >> 11);
        }
    }

    /// Two halves of 32 that do not hear each other, a ring of 64, and a mesh: none takes long.
    #[test]
    fn large_groups_take_no_longer() {
        let size = |is_cut: &dyn Fn(u32, u32) -> bool| {
            fewest(&nodes(64), |one, other| is_cut(one.0, other.0)).len()
        };
        assert_eq!(size(&|one, other| (one < 32) != (other < 32)), 32);
        assert_eq!(size(&|one, other| one.abs_diff(other) == 1 || one.abs_diff(other) == 63), 32);
        let far = |one: u32, other: u32| [1, 7, 57, 63].contains(&one.abs_diff(other));
        assert!((32..=40).contains(&size(&far)));
    }
}
