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

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet};

use super::{QuorumSystem, Quorums, sets};
use crate::unfit::Unfit;

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
    /// Two nodes whose sets do not meet, if there are such.
    pub apart: Option<(NodeId, NodeId)>,
    /// The nodes that are not in their own set, lowest first.
    pub outside: Vec<NodeId>,
    /// Whose set has the fewest members, and whose the most.
    pub smallest_of: (NodeId, NodeId),
    /// Which node is in the fewest sets, and which in the most.
    pub rarest: (NodeId, NodeId),
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
    let turns = (0..turns).flat_map(|turn| system.group.members().map(move |id| (id, turn)));
    Some(judge(&turns.map(|(id, turn)| (id, system.of_turn(id, turn))).collect::<Vec<_>>()))
}

/// The same of sets that need not be a quorum system: one whose sets do not all meet is told as
/// well.
///
/// # Errors
///
/// If there are no such sets of so many nodes.
pub fn of_any(quorums: &Quorums, group: Group) -> Result<Option<Conditions>, Unfit> {
    let (Quorums::Sets(all), nodes) = (quorums, group.size()) else {
        return quorums.system(group).map(|system| conditions(&system));
    };
    let unfit = |why: String| Unfit(format!("--quorum {}: {why}", quorums.in_short()));
    if all.len() != nodes as usize {
        let own = all.len();
        return Err(unfit(format!("it is for {own} nodes, not {nodes}: say --nodes {own}")));
    }
    sets::are_sets(all, |node| format!("node {node}")).map_err(unfit)?;
    Ok(Some(judge(&group.members().zip(all.iter().cloned()).collect::<Vec<_>>())))
}

/// Looks at any assignment: every node with its set, or with several. Sets have members, each of
/// which is one of the nodes, and no two of which are the same.
///
/// # Panics
///
/// If there is no set, or one has a node that has none.
pub fn judge(assigned: &[(NodeId, Vec<NodeId>)]) -> Conditions {
    let last = assigned.iter().map(|(id, _)| id.index()).max().expect("a set");
    let mut memberships = vec![0; last + 1];
    let mut outside = NodeSet::EMPTY;
    for (id, set) in assigned {
        for member in set {
            memberships[member.index()] += 1;
        }
        if !set.contains(id) {
            outside.insert(*id);
        }
    }
    let bits: Vec<NodeSet> =
        assigned.iter().map(|(_, set)| set.iter().copied().collect()).collect();
    let mut shared: Option<(usize, usize)> = None;
    let mut apart = None;
    for (at, (one, set)) in assigned.iter().enumerate() {
        for (place, other) in bits[..at].iter().enumerate().filter(|(_, it)| **it != bits[at]) {
            let common = set.iter().filter(|&&id| other.contains(id)).count();
            let (low, high) = shared.unwrap_or((common, common));
            shared = Some((low.min(common), high.max(common)));
            if common == 0 {
                apart = apart.or(Some((assigned[place].0, *one)));
            }
        }
    }
    let (sizes, smallest_of) = ends(assigned.iter().map(|(id, set)| (set.len(), *id)));
    let (memberships, rarest) = ends(memberships.into_iter().zip((0..).map(NodeId)));
    let outside: Vec<NodeId> = outside.iter().collect();
    Conditions {
        meet: apart.is_none(),
        outsiders: outside.len(),
        sizes,
        memberships,
        shared,
        apart,
        outside,
        smallest_of,
        rarest,
    }
}

/// The least and the largest, and of which node each is: of several, the lowest.
fn ends(of: impl Iterator<Item = (usize, NodeId)>) -> ((usize, usize), (NodeId, NodeId)) {
    let (mut low, mut high) = ((usize::MAX, NodeId(0)), (0, NodeId(0)));
    for (count, id) in of {
        if count < low.0 {
            low = (count, id);
        }
        if count > high.0 {
            high = (count, id);
        }
    }
    ((low.0, high.0), (low.1, high.1))
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

    #[test]
    fn any_assignment_is_judged_with_the_nodes_that_are_to_blame() {
        let nodes = |set: &[u32]| set.iter().copied().map(NodeId).collect::<Vec<_>>();
        let sets: [&[u32]; 4] = [&[0, 1], &[1, 2, 3], &[2, 3], &[0, 1]];
        let assigned: Vec<_> =
            (0..).map(NodeId).zip(sets).map(|(id, set)| (id, nodes(set))).collect();
        let found = judge(&assigned);
        assert_eq!(found.hold(), [false, false, false, false]);
        assert_eq!(found.apart, Some((NodeId(0), NodeId(2))));
        assert_eq!(found.outside, [NodeId(3)]);
        assert_eq!((found.sizes, found.smallest_of), ((2, 3), (NodeId(0), NodeId(1))));
        assert_eq!((found.memberships, found.rarest), ((2, 3), (NodeId(0), NodeId(1))));
    }
}
