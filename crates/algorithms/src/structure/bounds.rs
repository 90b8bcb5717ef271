//! What can be said of an information structure before anything runs: how many messages an entry
//! takes, and how long it is from one node's exit to another's entry.

use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::Sets;

/// For each node the nodes that inform it of their exits: St.
pub fn informed_by(sets: &[Sets]) -> Vec<NodeSet> {
    let mut all: Vec<NodeSet> = sets.iter().map(|_| NodeSet::EMPTY).collect();
    for (id, sets) in (0..).map(NodeId).zip(sets) {
        for informed in &sets.informs {
            all[informed.index()].insert(id);
        }
    }
    all
}

/// How many messages an entry of a node takes at least and at most, by the paper.
///
/// At least it asks, is answered, and informs: |I − i| + 2|R − i|. Besides, each node that is asked
/// may refuse (1 message) if nobody but itself and the requester informs it, and else cause 4 more.
/// The sum runs over the node itself as well, though nothing it tells itself is a message: no run
/// that we have seen comes near it.
pub fn messages(me: NodeId, sets: &Sets, informed_by: &[NodeSet]) -> (u32, u32) {
    let others = |set: &[NodeId]| set.iter().filter(|&&id| id != me).count() as u32;
    let least = others(&sets.informs) + 2 * others(&sets.asks);
    let more = |arbiter: &NodeId| {
        let is_simple = informed_by[arbiter.index()].iter().all(|it| it == me || it == *arbiter);
        if is_simple { 1 } else { 4 }
    };
    (least, least + sets.asks.iter().map(more).sum::<u32>())
}

/// D, as it is published: how many message delays it is at most from the exit of one node to the
/// entry of another that waits, if nobody else wants in.
///
/// Two if both inform a common node, which must hear of the exit before it gives permission; else
/// one, since each asks the other.
pub fn published_delay(sets: &[Sets], from: NodeId, to: NodeId) -> u32 {
    let [one, other] = [from, to].map(|id| &sets[id.index()].informs);
    match (from == to, meet(one, other).next()) {
        (true, _) => 0,
        (false, Some(_)) => 2,
        (false, None) => 1,
    }
}

/// The same, exactly: of every node that the first informs and the second asks, a message from the
/// first and a message to the second, where that is another node.
///
/// So it is less than D where the common node is one of the two. It is more where the first informs
/// a third node that the second asks and does not inform: D looks only at whom both inform, and
/// is a bound for structures in which that does not occur.
pub fn delay(sets: &[Sets], from: NodeId, to: NodeId) -> u32 {
    if from == to {
        return 0;
    }
    let common = meet(&sets[from.index()].informs, &sets[to.index()].asks);
    let mut most = 0;
    for it in common {
        // Mostly one of the first: who looks at all pairs of many nodes need not see them all.
        if it != from && it != to {
            return 2;
        }
        most = 1;
    }
    most
}

/// The members of both sets.
fn meet<'a>(one: &'a [NodeId], other: &'a [NodeId]) -> impl Iterator<Item = NodeId> + 'a {
    one.iter().copied().filter(|it| other.binary_search(it).is_ok())
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use vorrang_protocol::Group;

    use super::*;
    use crate::structure::Structures;

    fn sets(text: &str, nodes: u32) -> Vec<Sets> {
        let structure: Structures = text.parse().unwrap();
        structure.sets(Group::of(nodes), &"grid".parse().unwrap()).unwrap()
    }

    fn matrix(sets: &[Sets], of: fn(&[Sets], NodeId, NodeId) -> u32) -> Vec<Vec<u32>> {
        let all = || (0..sets.len() as u32).map(NodeId);
        all().map(|from| all().map(|to| of(sets, from, to)).collect()).collect()
    }

    const EXAMPLE: &str = "sets:0-1/0,0-1/1,0-1-2,0-1-3";

    /// The four processes of the literature, which counts them from 1.
    #[test]
    fn the_example_has_the_figures_that_are_published() {
        let sets = sets(EXAMPLE, 4);
        let informed_by = informed_by(&sets);
        let told: Vec<Vec<u32>> =
            informed_by.iter().map(|it| it.iter().map(|id| id.0).collect()).collect();
        assert_eq!(told, [vec![0, 2, 3], vec![1, 2, 3], vec![2], vec![3]]);
        let bounds: Vec<(u32, u32)> =
            (0..).map(NodeId).zip(&sets).map(|(id, it)| messages(id, it, &informed_by)).collect();
        assert_eq!(bounds, [(2, 10), (2, 10), (6, 15), (6, 15)]);
        let published = [[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]];
        assert_eq!(matrix(&sets, published_delay), published);
        // One hop where the common arbiter is the one that leaves.
        let exact = [[0, 1, 1, 1], [1, 0, 1, 1], [2, 2, 0, 2], [2, 2, 2, 0]];
        assert_eq!(matrix(&sets, delay), exact);
    }

    #[test]
    fn the_known_algorithms_have_the_delays_that_they_have() {
        let at = |text: &str, nodes, from, to| {
            let sets = sets(text, nodes);
            let (from, to) = (NodeId(from), NodeId(to));
            (published_delay(&sets, from, to), delay(&sets, from, to))
        };
        assert_eq!(at("ricart-agrawala", 3, 0, 1), (1, 1));
        assert_eq!(at("central", 3, 1, 2), (2, 2));
        assert_eq!(at("central", 3, 0, 2), (2, 1), "the coordinator itself leaves");
        assert_eq!(at("lamport", 3, 0, 1), (2, 2));
        assert_eq!(at("lamport", 2, 0, 1), (2, 1));
        assert_eq!(at("maekawa", 9, 0, 8), (2, 2));
    }

    /// 0 and 1 ask each other and inform nobody in common; but 0 informs 2, and 1 asks it.
    #[test]
    fn the_published_delay_is_too_short_where_one_informs_whom_the_other_only_asks() {
        let sets = sets("sets:0-1-2/0-2,0-1-2/1,0-1-2", 3);
        assert_eq!(published_delay(&sets, NodeId(0), NodeId(1)), 1);
        assert_eq!(delay(&sets, NodeId(0), NodeId(1)), 2);
        assert_eq!(delay(&sets, NodeId(1), NodeId(0)), 1);
    }
}
