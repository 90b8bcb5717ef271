//! Cyclic quorums (W. S. Luk and T. T. Wong, "Two new quorum based algorithms for distributed
//! mutual exclusion", ICDCS 1997): the quorum of node i is {i + d mod N | d ∈ D}, where D is a
//! difference cover: every number below N is a difference of two of D, modulo N.
//!
//! **Why any two meet.** j − i = d − e for some d, e of D, so i + d = j + e is in both. All sets
//! have
//! |D| members and every node is in |D| of them, for any N: of the ideal only that two meet in a
//! *single* node is given up, and where N = q² + q + 1 with a prime power q not even that, since
//! the smallest cover is a perfect difference set then (J. Singer, 1938).
//!
//! Up to [`SMALLEST_UP_TO`] nodes D is the smallest that there is, found by trying. Beyond, it is
//! {0, …, r − 1} and the multiples of r up to N / 2: every number up to N / 2 is a multiple of r
//! less one of the first. With r near √(N/2) that makes √(2N) members, where a grid has 2√N − 1.

use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known, all_alive, distinct};

#[derive(Debug)]
pub(super) struct Cyclic {
    nodes: u32,
    cover: Vec<u32>,
}

/// As many nodes as the smallest cover is searched for.
const SMALLEST_UP_TO: u32 = 40;

impl Cyclic {
    pub(super) fn new(nodes: u32) -> Self {
        let cover = if nodes <= SMALLEST_UP_TO { smallest(nodes) } else { composed(nodes) };
        Self { nodes, cover }
    }
}

/// A smallest difference cover: by turning, it may be taken to have 0 and 1, which differ by 1.
fn smallest(nodes: u32) -> Vec<u32> {
    let mut cover: Vec<u32> = (0..nodes.min(2)).collect();
    for size in 1.. {
        let mut search = Search { nodes, size, covered: 0 };
        search.covered = search.with(&[], 0, 0);
        if nodes > 1 {
            search.covered = search.with(&[0], 1, search.covered);
        }
        if search.extend(&mut cover, search.covered) {
            break;
        }
    }
    cover
}

struct Search {
    nodes: u32,
    size: usize,
    /// The differences of the first two, one a bit.
    covered: u64,
}

impl Search {
    /// The differences, once one more is in the cover.
    fn with(&self, cover: &[u32], one: u32, covered: u64) -> u64 {
        let differences = cover.iter().flat_map(|&it| [one - it, self.nodes + it - one]);
        differences.fold(covered | 1, |all, it| all | 1 << it)
    }

    fn extend(&self, cover: &mut Vec<u32>, covered: u64) -> bool {
        let missing = self.nodes - covered.count_ones();
        if missing == 0 {
            return true;
        }
        let (has, left) = (cover.len(), self.size.saturating_sub(cover.len()));
        // Each of the others differs from each, in two ways.
        let most = 2 * left * has + left * left.saturating_sub(1);
        if left == 0 || missing as usize > most {
            return false;
        }
        let next = cover.last().map_or(0, |last| last + 1);
        for one in next..self.nodes {
            let covered = self.with(cover, one, covered);
            cover.push(one);
            if self.extend(cover, covered) {
                return true;
            }
            cover.pop();
        }
        false
    }
}

/// The first few, and multiples of their number up to a half.
fn composed(nodes: u32) -> Vec<u32> {
    let half = nodes / 2;
    let few = half.isqrt().max(1);
    (0..few).chain((1..=half.div_ceil(few)).map(|it| it * few)).collect()
}

impl Construction for Cyclic {
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        let turned =
            |it: &u32| NodeId(((u64::from(of.0) + u64::from(*it)) % u64::from(self.nodes)) as u32);
        let mut quorum: Vec<NodeId> = self.cover.iter().map(turned).collect();
        quorum.sort_unstable();
        quorum
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        distinct(self, self.nodes, most)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        let quorums = (0..self.nodes).map(|id| self.quorum(NodeId(id), 0));
        quorums.into_iter().find(|quorum| all_alive(quorum, dead))
    }

    fn effort(&self) -> u64 {
        self.cover.len() as u64
    }

    fn known(&self) -> Known {
        let size = self.cover.len();
        Known {
            smallest: Some(size),
            largest: Some(size),
            symmetric: Some(true),
            ..Known::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition: every number is a difference.
    fn covers(cover: &[u32], nodes: u32) -> bool {
        (0..nodes).all(|wanted| {
            cover.iter().any(|one| cover.iter().any(|it| (nodes + one - it) % nodes == wanted))
        })
    }

    #[test]
    fn every_number_is_a_difference() {
        for nodes in (1..=200).chain([1000, 4999]) {
            let cover = Cyclic::new(nodes).cover;
            assert!(covers(&cover, nodes), "{nodes}: {cover:?}");
            assert!(cover.is_sorted_by(|a, b| a < b) && cover.iter().all(|&it| it < nodes));
        }
        assert!(!covers(&[0, 1], 4), "2 is no difference");
    }

    /// Against all sets of up to 13 nodes; beyond, against what k elements can cover at most.
    #[test]
    fn covers_are_as_small_as_can_be() {
        for nodes in 1..=13_u32 {
            let all = (1_u32..1 << nodes)
                .map(|mask| (0..nodes).filter(|it| mask & 1 << it != 0).collect::<Vec<u32>>());
            let least = all.filter(|set| covers(set, nodes)).map(|set| set.len()).min();
            assert_eq!(Some(smallest(nodes).len()), least, "{nodes}");
        }
        for (nodes, size) in [(7, 3), (13, 4), (21, 5), (31, 6)] {
            assert_eq!(smallest(nodes).len(), size, "a perfect difference set");
        }
        for nodes in 14..=SMALLEST_UP_TO {
            let size = smallest(nodes).len() as u32;
            assert!(size * (size - 1) + 1 >= nodes && size <= 8, "{nodes}: {size}");
        }
        assert_eq!(smallest(7), [0, 1, 3], "Fano's plane");
    }

    #[test]
    fn large_ones_have_about_the_root_of_twice_as_many() {
        for nodes in [41_u32, 100, 1000, 100_000] {
            let size = composed(nodes).len() as f64;
            assert!(size <= f64::from(2 * nodes).sqrt() + 2.0, "{nodes}: {size}");
        }
    }
}
