//! Properties of a quorum system. Those that take more than some seconds to compute are unknown.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::NodeId;

use super::QuorumSystem;
use super::search::{Outcome, dominating, smallest_transversal};

/// The properties of a quorum system.
#[derive(Clone, PartialEq, Debug)]
pub struct Properties {
    /// The fewest members of a quorum.
    pub smallest: Option<usize>,
    /// The most members of a quorum.
    pub largest: Option<usize>,
    /// How many different quorums there are.
    pub quorums: Option<usize>,
    /// Whether any two quorums meet. True of every system here, and looked at nevertheless.
    pub intersecting: Option<bool>,
    /// Whether no quorum contains another.
    pub coterie: Option<bool>,
    /// Whether all quorums have the same size and all nodes are in as many.
    pub symmetric: Option<bool>,
    /// Whether it is a coterie, and no other coterie is better: every set of nodes, or all the
    /// others, contain a quorum.
    pub nondominated: Option<bool>,
    /// Whether it is a coterie, all nodes take part, and any two quorums meet in one node only.
    pub ideal: Option<bool>,
    /// How many crashes always leave a live quorum.
    pub resilience: Option<u32>,
    /// How often the busiest node is asked, as a share of all requests, if all nodes ask equally
    /// often and take the quorums that are theirs.
    pub assigned_load: Option<f64>,
    /// The least such share that any way to choose quorums has, where theory knows it.
    pub least_load: Option<f64>,
}

/// As many members of quorums as are listed.
pub const MOST_MEMBERS: usize = 5_000_000;

/// As many words compared as take a second.
const MOST_COMPARED: u64 = 200_000_000;

/// As many members looked at in a search as take a second.
const MOST_LOOKS: u64 = 200_000_000;

/// Measures a system.
pub fn properties(system: &QuorumSystem) -> Properties {
    let nodes = system.group.size();
    let known = system.by.known();
    let family = system.family(MOST_MEMBERS);
    let pairs = family.as_ref().and_then(|family| pairs(nodes, family));
    let counted = family.as_ref().map(|family| counted(nodes, family));
    let sizes = || family.iter().flatten().map(Vec::len);
    let search = |what: fn(u32, &[Vec<NodeId>], u64) -> Outcome| {
        let Some(family) = &family else { return Outcome::OutOfSteps };
        // A step may look at all members.
        let members: usize = family.iter().map(Vec::len).sum();
        what(nodes, family, MOST_LOOKS / members as u64)
    };
    let smallest = sizes().min().or(known.smallest);
    let assigned_load = assigned_load(system);
    let coterie = pairs.map(|pairs| !pairs.some_contains).or(known.coterie);
    // What is said of coteries alone.
    let of_coteries = |is_so: Option<bool>| if coterie == Some(false) { coterie } else { is_so };
    Properties {
        smallest,
        largest: sizes().max().or(known.largest),
        quorums: family.as_ref().map(Vec::len),
        intersecting: pairs.map(|pairs| pairs.all_meet),
        coterie,
        symmetric: counted.map(|counted| counted.is_symmetric).or(known.symmetric),
        nondominated: of_coteries(known.nondominated.or_else(|| match search(dominating) {
            Outcome::Found(_) => Some(false),
            Outcome::None => Some(true),
            Outcome::OutOfSteps => None,
        })),
        ideal: of_coteries(match (pairs, counted) {
            (Some(pairs), Some(counted)) => Some(pairs.meet_in_one && counted.all_take_part),
            _ => known.ideal,
        }),
        resilience: known.resilience.or_else(|| match search(smallest_transversal) {
            Outcome::Found(set) => Some(set.len() as u32 - 1),
            Outcome::None | Outcome::OutOfSteps => None,
        }),
        assigned_load,
        least_load: known.load.or_else(|| least_load(nodes, smallest?, assigned_load?)),
    }
}

/// The least load, if it can be told without looking further. No load is less than c / n and than
/// 1 / c, where c is the size of the smallest quorum (M. Naor and A. Wool, "The load, capacity, and
/// availability of quorum systems", 1998), so one that is not more is the least.
fn least_load(nodes: u32, smallest: usize, assigned: f64) -> Option<f64> {
    let (size, nodes) = (smallest as f64, f64::from(nodes));
    let bound = (size / nodes).max(1.0 / size);
    (assigned <= bound * (1.0 + 1e-12)).then_some(bound)
}

/// How often the busiest node is asked if every node asks once a turn.
fn assigned_load(system: &QuorumSystem) -> Option<f64> {
    let (nodes, turns) = (u64::from(system.group.size()), system.turns());
    if nodes * turns * system.by.cost() > 10 * MOST_MEMBERS as u64 {
        return None;
    }
    let mut asked = vec![0_u64; nodes as usize];
    for turn in 0..turns {
        for id in system.group.members() {
            for member in system.of_turn(id, turn) {
                asked[member.index()] += 1;
            }
        }
    }
    asked.into_iter().max().map(|most| most as f64 / (nodes * turns) as f64)
}

/// The results of counting.
#[derive(Clone, Copy, Debug)]
struct Counted {
    is_symmetric: bool,
    all_take_part: bool,
}

fn counted(nodes: u32, family: &[Vec<NodeId>]) -> Counted {
    let mut degrees = vec![0_u32; nodes as usize];
    for id in family.iter().flatten() {
        degrees[id.index()] += 1;
    }
    let is_balanced = degrees.windows(2).all(|pair| pair[0] == pair[1]);
    let are_equal = family.windows(2).all(|pair| pair[0].len() == pair[1].len());
    let all_take_part = degrees.iter().all(|&degree| degree > 0);
    Counted { is_symmetric: is_balanced && are_equal, all_take_part }
}

/// The results of comparing all pairs of quorums.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    all_meet: bool,
    some_contains: bool,
    meet_in_one: bool,
}

fn pairs(nodes: u32, family: &[Vec<NodeId>]) -> Option<Pairs> {
    let words = nodes.div_ceil(u64::BITS) as usize;
    let count = family.len() as u64;
    if count.saturating_mul(count).saturating_mul(words as u64) / 2 > MOST_COMPARED {
        return None;
    }
    let mut bits = vec![0_u64; words * family.len()];
    for (quorum, row) in family.iter().zip(bits.chunks_mut(words)) {
        for id in quorum {
            row[id.index() / 64] |= 1 << (id.index() % 64);
        }
    }
    let rows: Vec<&[u64]> = bits.chunks(words).collect();
    let mut pairs = Pairs { all_meet: true, some_contains: false, meet_in_one: true };
    for (at, (one, quorum)) in rows.iter().zip(family).enumerate() {
        for (other, second) in rows[..at].iter().zip(family) {
            let both = one.iter().zip(*other).map(|(a, b)| (a & b).count_ones() as usize);
            let shared: usize = both.sum();
            pairs.all_meet &= shared > 0;
            pairs.meet_in_one &= shared == 1;
            pairs.some_contains |= shared == quorum.len().min(second.len());
        }
    }
    Some(pairs)
}
