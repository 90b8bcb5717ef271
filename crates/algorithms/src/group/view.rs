//! Views: who belongs to the group, and in which life.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, NodeSet};

use super::cover::fewest;
use crate::partition::Cuts;

/// A member: a node in one of its lives. A node that comes up again, or comes back after it was
/// excluded, is another member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// Its incarnation: from 0, or from [a number larger than all before](super::founding).
    pub incarnation: u64,
}

/// `2` in its first life, then `2'1`; and `2'` in a life that a clock has numbered.
impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.incarnation {
            0 => write!(f, "{}", self.node),
            incarnation if incarnation > u64::from(u32::MAX) => write!(f, "{}'", self.node),
            incarnation => write!(f, "{}'{incarnation}", self.node),
        }
    }
}

/// The members of the group, until the next view.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct View {
    /// The first is 1, unless it was [founded](super::founding) under another number, and the next
    /// is one more. Before the first there is 0, without members.
    pub id: u64,
    /// Lowest first, each node once. A member's place is its rank.
    pub members: Vec<Member>,
}

impl View {
    /// The first view, of these nodes in their first lives.
    pub fn first(founders: impl IntoIterator<Item = NodeId>) -> Self {
        let mut members: Vec<Member> =
            founders.into_iter().map(|node| Member { node, incarnation: 0 }).collect();
        members.sort_unstable();
        members.dedup();
        Self { id: 1, members }
    }

    /// Before the first view.
    pub const NONE: Self = Self { id: 0, members: Vec::new() };

    /// The life in which a node belongs to it, if it does.
    pub fn incarnation_of(&self, node: NodeId) -> Option<u64> {
        let place = self.members.binary_search_by_key(&node, |it| it.node).ok()?;
        Some(self.members[place].incarnation)
    }

    /// Whether it has this member.
    pub fn has(&self, member: Member) -> bool {
        self.incarnation_of(member.node) == Some(member.incarnation)
    }

    /// The nodes of its members, lowest first.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.members.iter().map(|it| it.node)
    }

    /// The sequencer, which orders messages: the lowest member.
    pub fn sequencer(&self) -> Option<NodeId> {
        self.members.first().map(|it| it.node)
    }
}

/// `2 {0, 1, 2'1}`.
impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<_> = self.members.iter().map(ToString::to_string).collect();
        write!(f, "{} {{{}}}", self.id, members.join(", "))
    }
}

/// Whether these are more than half of all, or half of them with the first: any two such sets have
/// a node in common, so at most one side of a divided network has one.
pub fn is_primary(all: &[NodeId], present: &NodeSet) -> bool {
    let here = all.iter().filter(|&&node| present.contains(node)).count();
    let has_first = all.first().is_some_and(|&node| present.contains(node));
    2 * here > all.len() || (2 * here == all.len() && has_first)
}

/// The live nodes on one side of a partition, if they are more than half of so many: they can go on
/// from any last view. Of links that are cut between them see [`unharmed`].
pub fn majority_side(all: usize, up: &NodeSet, cuts: &Cuts) -> Option<NodeSet> {
    let side =
        |one: NodeId| up.iter().filter(move |&other| cuts.is_on_one_side(one, other)).collect();
    up.iter().map(side).find(|side: &NodeSet| 2 * side.len() > all)
}

/// Those of the nodes of one side that hear and are heard by all of them: if most of so many go on
/// where links are cut, these do, whichever of the others do. None if too few hear each other.
pub fn unharmed(all: usize, side: &NodeSet, cuts: &Cuts) -> Option<NodeSet> {
    let nodes: Vec<NodeId> = side.iter().collect();
    let gone = fewest(&nodes, |one, other| !cuts.can_hear(one, other));
    let is_unharmed = |one: &NodeId| side.iter().all(|other| cuts.can_hear(*one, other));
    let enough = 2 * (side.len() - gone.len()) > all;
    enough.then(|| side.iter().filter(is_unharmed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_are_never_both_primary_and_one_often_is() {
        for size in 1..=6 {
            let all: Vec<NodeId> = (10..10 + size).map(NodeId).collect();
            for bits in 0..1_u32 << size {
                let side = |bit: u32| {
                    let is_on_it = |it: &&NodeId| bits >> (it.0 - 10) & 1 == bit;
                    all.iter().filter(is_on_it).copied().collect()
                };
                let (one, other) = (side(0), side(1));
                assert!(is_primary(&all, &one) != is_primary(&all, &other), "{one:?} {other:?}");
            }
        }
        assert!(!is_primary(&[], &NodeSet::EMPTY));
    }

    #[test]
    fn of_a_network_that_has_fallen_apart_most_that_are_up_go_on() {
        let set = |ids: &[u32]| ids.iter().copied().map(NodeId).collect::<NodeSet>();
        let mut cuts = Cuts::NONE;
        assert_eq!(majority_side(5, &set(&[1, 3, 4]), &cuts), Some(set(&[1, 3, 4])));
        assert_eq!(majority_side(5, &set(&[0, 4]), &cuts), None);
        cuts.on_cut(&[[0, 1].map(NodeId).to_vec()]);
        assert_eq!(majority_side(5, &set(&[0, 1, 2, 3, 4]), &cuts), Some(set(&[2, 3, 4])));
        assert_eq!(majority_side(5, &set(&[0, 1, 2, 3]), &cuts), None);
    }

    #[test]
    fn where_a_link_is_cut_those_go_on_that_hear_all_others() {
        let set = |ids: &[u32]| ids.iter().copied().map(NodeId).collect::<NodeSet>();
        let (mut cuts, five) = (Cuts::NONE, set(&[0, 1, 2, 3, 4]));
        assert_eq!(unharmed(5, &five, &cuts), Some(five.clone()));
        cuts.on_link_cut(NodeId(1), NodeId(2));
        assert_eq!(majority_side(5, &five, &cuts), Some(five.clone()));
        assert_eq!(unharmed(5, &five, &cuts), Some(set(&[0, 3, 4])));
        cuts.on_link_cut(NodeId(3), NodeId(4));
        assert_eq!(unharmed(5, &five, &cuts), Some(set(&[0])));
        assert_eq!(unharmed(5, &set(&[1, 2, 3, 4]), &cuts), None, "two of five");
    }

    #[test]
    fn a_member_is_a_node_in_one_of_its_lives() {
        let mut view = View::first([2, 0, 1, 2].map(NodeId));
        view.members[2].incarnation = 1;
        assert_eq!(view.to_string(), "1 {0, 1, 2'1}");
        assert!(view.has(Member { node: NodeId(2), incarnation: 1 }));
        assert!(!view.has(Member { node: NodeId(2), incarnation: 0 }));
        assert_eq!((view.incarnation_of(NodeId(7)), view.sequencer()), (None, Some(NodeId(0))));
    }
}
