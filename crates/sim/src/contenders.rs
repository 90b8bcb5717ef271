//! The nodes that ever ask.

use std::sync::Arc;

use vorrang_protocol::NodeId;

/// The nodes that ever ask, of a group of some size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contenders {
    /// All nodes.
    All,
    /// The first so many nodes.
    First(u32),
    /// These nodes, lowest first.
    These(Arc<[NodeId]>),
}

impl Contenders {
    /// These nodes and no others, in any order.
    pub fn these(nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self::These(nodes.into())
    }

    /// How many there are.
    pub fn count(&self, size: u32) -> u32 {
        match self {
            Self::All => size,
            Self::First(count) => size.min(*count),
            Self::These(nodes) => nodes.len() as u32,
        }
    }

    /// The node at a place below [`count`](Self::count).
    pub fn nth(&self, place: u32) -> NodeId {
        match self {
            Self::All | Self::First(_) => NodeId(place),
            Self::These(nodes) => nodes[place as usize],
        }
    }

    /// The place of a node among them, if it ever asks.
    pub fn place(&self, node: NodeId, size: u32) -> Option<u32> {
        match self {
            Self::All | Self::First(_) => Some(node.0).filter(|&it| it < self.count(size)),
            Self::These(nodes) => nodes.binary_search(&node).ok().map(|it| it as u32),
        }
    }

    /// Each of them, lowest first.
    pub fn iter(&self, size: u32) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.count(size)).map(|place| self.nth(place))
    }

    /// How many of so many entries a node makes in a closed loop: as many as every other that
    /// competes, and the first few one more if they do not come out even.
    ///
    /// It is the same in the simulator and over the network.
    pub fn share(&self, entries: u64, node: NodeId, size: u32) -> u64 {
        let count = u64::from(self.count(size));
        let share = |place| entries / count + u64::from(u64::from(place) < entries % count);
        self.place(node, size).map_or(0, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_as_even_as_can_be_and_add_up() {
        let shares = |entries, who: &Contenders| -> Vec<u64> {
            (0..5).map(|node| who.share(entries, NodeId(node), 5)).collect()
        };
        assert_eq!(shares(17, &Contenders::All), [4, 4, 3, 3, 3]);
        assert_eq!(shares(17, &Contenders::First(3)), [6, 6, 5, 0, 0]);
        assert_eq!(shares(2, &Contenders::All), [1, 1, 0, 0, 0]);
        assert_eq!(shares(0, &Contenders::All), [0; 5]);
        assert_eq!(shares(9, &Contenders::First(0)), [0; 5]);
        assert_eq!(shares(9, &Contenders::First(7)), [2, 2, 2, 2, 1], "no more than there are");
        assert_eq!(shares(u64::MAX, &Contenders::All).iter().sum::<u64>(), u64::MAX);
        let some = Contenders::these([4, 1, 4].map(NodeId));
        assert_eq!(shares(5, &some), [0, 3, 0, 0, 2]);
        assert_eq!(shares(5, &Contenders::these([])), [0; 5]);
    }

    #[test]
    fn every_contender_has_a_place_and_no_other_node_has() {
        for who in [Contenders::All, Contenders::First(2), Contenders::these([3, 1].map(NodeId))] {
            let all: Vec<NodeId> = who.iter(4).collect();
            assert_eq!(all.len() as u32, who.count(4));
            for node in (0..4).map(NodeId) {
                let place = who.place(node, 4);
                assert_eq!(place.map(|it| who.nth(it)), all.contains(&node).then_some(node));
            }
        }
    }
}
