//! How likely it is that no quorum is alive, if nodes are dead independently of each other.

use alloc::vec;
use alloc::vec::Vec;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use vorrang_protocol::{NodeId, NodeSet};

use super::{QuorumSystem, power};

/// How likely it is that no quorum is alive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Failure {
    /// Just so.
    Exact(f64),
    /// It was so in some of the samples that were drawn.
    Drawn {
        /// In how many no quorum was alive.
        failed: u64,
        /// How many were drawn.
        samples: u64,
    },
}

/// As many steps as take a second.
const MOST_STEPS: u64 = 1 << 27;

/// As many quorums as can be joined in every way without the sum's losing more than ten digits.
const MOST_JOINED: usize = 16;

/// The probability that every quorum has a dead node, where each node is dead with the probability
/// `dead`: exactly where that can be computed, otherwise drawn by this seed.
pub fn failure(system: &QuorumSystem, dead: f64, seed: u64) -> Failure {
    let formula = || system.by.failure(dead);
    let counted = || {
        let family = system.family(1 << 16)?;
        counted(system.group.size(), &family, dead).or_else(|| joined(&family, dead))
    };
    match formula().or_else(counted) {
        Some(chance) => Failure::Exact(chance.clamp(0.0, 1.0)),
        None => drawn(system, dead, seed),
    }
}

/// Looks at every set of nodes that may be alive.
fn counted(nodes: u32, family: &[Vec<NodeId>], dead: f64) -> Option<f64> {
    if nodes > 26 || (family.len() as u64) << nodes > MOST_STEPS {
        return None;
    }
    let mask = |quorum: &Vec<NodeId>| quorum.iter().fold(0_u32, |mask, id| mask | 1 << id.0);
    let masks: Vec<u32> = family.iter().map(mask).collect();
    let mut failed = vec![0_u64; nodes as usize + 1];
    for alive in 0..1_u32 << nodes {
        if !masks.iter().any(|quorum| alive & quorum == *quorum) {
            failed[alive.count_ones() as usize] += 1;
        }
    }
    let of_so_many_alive = (0..)
        .zip(failed)
        .map(|(alive, count)| count as f64 * power(1.0 - dead, alive) * power(dead, nodes - alive));
    Some(of_so_many_alive.sum())
}

/// By inclusion and exclusion over the sets of quorums that are alive together.
fn joined(family: &[Vec<NodeId>], dead: f64) -> Option<f64> {
    fn sum(rest: &[NodeSet], union: &NodeSet, alive: f64) -> f64 {
        let Some((first, rest)) = rest.split_first() else {
            return power(alive, union.len() as u32);
        };
        let mut with = union.clone();
        with.extend_from(first);
        sum(rest, union, alive) - sum(rest, &with, alive)
    }
    if family.len() > MOST_JOINED {
        return None;
    }
    let sets: Vec<NodeSet> = family.iter().map(|it| it.iter().copied().collect()).collect();
    Some(sum(&sets, &NodeSet::EMPTY, 1.0 - dead))
}

fn drawn(system: &QuorumSystem, dead: f64, seed: u64) -> Failure {
    const OF_CRASHES: u64 = u64::from_be_bytes(*b"quorums ");
    const MOST_DRAWS: u64 = 50_000_000;
    const MOST_SAMPLES: u64 = 200_000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ OF_CRASHES);
    let threshold = (dead * (u64::MAX as f64)) as u64;
    let work = u64::from(system.group.size()) * system.by.effort();
    let samples = (MOST_DRAWS / work).clamp(100, MOST_SAMPLES);
    let mut failed = 0;
    let mut gone = NodeSet::EMPTY;
    for _ in 0..samples {
        gone.clear();
        gone.extend(system.group.members().filter(|_| random.next_u64() < threshold));
        failed += u64::from(system.live(&gone).is_none());
    }
    Failure::Drawn { failed, samples }
}
