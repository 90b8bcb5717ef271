//! Maekawa's conditions on an assignment of quorums S₁, …, Sₙ, each by itself: what is left of the
//! ideal where there is no plane (M. Maekawa, "A √N algorithm for mutual exclusion in decentralized
//! systems", 1985).
//!
//! | condition | says |
//! | --- | --- |
//! | 1 | any two sets meet: without it there is no exclusion |
//! | 2 | every node is in its own set |
//! | 3 | all sets have the same size: all have the same to do for an entry |
//! | 4 | every node is in as many sets: all have the same to do for others |

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::NodeSet;

use super::QuorumSystem;

/// Which of Maekawa's conditions an assignment meets, and how far it is from the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// 1: any two sets meet.
    pub meet: bool,
    /// 2: how many nodes are not in their own set.
    pub outsiders: usize,
    /// 3: the fewest and the most members of a set.
    pub sizes: (usize, usize),
    /// 4: in how few and in how many sets a node is.
    pub memberships: (usize, usize),
    /// The fewest and the most members that two different sets have in common, if there are two.
    pub shared: Option<(usize, usize)>,
}

impl Conditions {
    /// Whether 1, 2, 3 and 4 hold.
    pub const fn hold(&self) -> [bool; 4] {
        let (sizes, memberships) = (self.sizes, self.memberships);
        [self.meet, self.outsiders == 0, sizes.0 == sizes.1, memberships.0 == memberships.1]
    }
}

/// As many words compared as take a second.
const MOST_COMPARED: u64 = 100_000_000;

/// Looks at the set of every node, or at all that it takes in turn; none if there are too many.
pub fn conditions(system: &QuorumSystem) -> Option<Conditions> {
    let (nodes, turns) = (u64::from(system.group.size()), system.turns());
    let count = nodes * turns;
    if count.saturating_mul(count).saturating_mul(nodes.div_ceil(64)) > MOST_COMPARED {
        return None;
    }
    let mut memberships = vec![0; nodes as usize];
    let mut sets = Vec::new();
    let mut outsiders = NodeSet::EMPTY;
    for turn in 0..turns {
        for id in system.group.members() {
            let quorum = system.of_turn(id, turn);
            for member in &quorum {
                memberships[member.index()] += 1;
            }
            if !quorum.contains(&id) {
                outsiders.insert(id);
            }
            sets.push(quorum);
        }
    }
    let bits: Vec<NodeSet> = sets.iter().map(|set| set.iter().copied().collect()).collect();
    let mut shared: Option<(usize, usize)> = None;
    for (at, one) in sets.iter().enumerate() {
        for other in bits[..at].iter().filter(|&other| *other != bits[at]) {
            let common = one.iter().filter(|&&id| other.contains(id)).count();
            let (low, high) = shared.unwrap_or((common, common));
            shared = Some((low.min(common), high.max(common)));
        }
    }
    let ends = |of: &mut dyn Iterator<Item = usize>| {
        of.fold((usize::MAX, 0), |(low, high), it| (low.min(it), high.max(it)))
    };
    Some(Conditions {
        meet: shared.is_none_or(|(low, _)| low > 0),
        outsiders: outsiders.iter().count(),
        sizes: ends(&mut sets.iter().map(Vec::len)),
        memberships: ends(&mut memberships.iter().copied()),
        shared,
    })
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;
    use crate::quorum::Quorums;

    fn of(text: &str, nodes: u32) -> Conditions {
        let quorums: Quorums = text.parse().unwrap();
        conditions(&quorums.system(Group::of(nodes)).unwrap()).unwrap()
    }

    #[test]
    fn a_plane_meets_all_and_any_two_sets_have_one_node_in_common() {
        for (text, nodes) in [("plane", 7), ("plane:printed", 13), ("plane:reduced", 21)] {
            let found = of(text, nodes);
            assert_eq!((found.hold(), found.shared), ([true; 4], Some((1, 1))), "{text}");
        }
    }

    #[test]
    fn a_cyclic_system_meets_all_for_any_number_of_nodes() {
        for nodes in 1..=60 {
            assert_eq!(of("cyclic", nodes).hold(), [true; 4], "{nodes}");
        }
        assert_eq!(of("cyclic", 13).shared, Some((1, 1)));
        assert_eq!(of("cyclic", 8).shared, Some((1, 2)), "there is no plane of 8");
    }

    #[test]
    fn a_reduced_plane_gives_up_the_third_and_the_fourth() {
        for nodes in 1..=60 {
            assert_eq!(of("plane:reduced", nodes).hold()[..2], [true; 2], "{nodes}");
        }
        let found = of("plane:reduced", 12);
        assert_eq!(found.hold(), [true, true, false, false]);
        assert_eq!((found.sizes, found.memberships), ((3, 4), (3, 6)));
    }

    #[test]
    fn whatever_fails_is_told() {
        assert_eq!(of("singleton", 3).hold(), [true, false, true, false]);
        assert_eq!(of("singleton", 3).outsiders, 2);
        assert_eq!(of("sets:0-1-2,0-1,0-2", 3).hold(), [true, true, false, false]);
        assert_eq!(of("sets:0-1,0-2,0-1", 3).hold(), [true, false, true, false]);
        assert_eq!(of("all", 4).shared, None, "there is only one");
    }
}
