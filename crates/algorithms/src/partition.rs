//! Which nodes can hear each other in a partition, for monitors of several problems.

use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

/// Where a network was ever cut.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cuts(Vec<Cut>);

/// A network that fell apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Cut {
    /// Besides one of all other nodes.
    sides: Vec<NodeSet>,
    is_healed: bool,
}

impl Cut {
    fn side(&self, id: NodeId) -> Option<usize> {
        self.sides.iter().position(|side| side.contains(id))
    }

    fn separates(&self, one: NodeId, other: NodeId) -> bool {
        self.side(one) != self.side(other)
    }
}

impl Cuts {
    /// A network that holds together.
    pub const NONE: Self = Self(Vec::new());

    /// Whether the two could hear each other all along.
    pub fn could_hear(&self, one: NodeId, other: NodeId) -> bool {
        !self.0.iter().any(|cut| cut.separates(one, other))
    }

    /// Whether the two can hear each other now.
    pub fn can_hear(&self, one: NodeId, other: NodeId) -> bool {
        !self.0.iter().any(|cut| !cut.is_healed && cut.separates(one, other))
    }

    /// The network falls apart, as a [`Monitor`](vorrang_protocol::Monitor) is told.
    pub fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.0.push(Cut { sides: sets(sides), is_healed: false });
    }

    /// The partition that [`on_cut`](Self::on_cut) reported with the same sides heals.
    pub fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        let sides = sets(sides);
        if let Some(cut) = self.0.iter_mut().find(|cut| !cut.is_healed && cut.sides == sides) {
            cut.is_healed = true;
        }
    }
}

fn sets(sides: &[Vec<NodeId>]) -> Vec<NodeSet> {
    sides.iter().map(|side| side.iter().copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_hear_nothing_of_each_other_until_the_same_cut_is_healed() {
        let ids = |nodes: &[u32]| nodes.iter().copied().map(NodeId).collect::<Vec<_>>();
        let mut cuts = Cuts::NONE;
        assert!(cuts.can_hear(NodeId(0), NodeId(4)));
        cuts.on_cut(&[ids(&[0, 1]), ids(&[2])]);
        for (one, other, hears) in [(0, 1, true), (1, 2, false), (2, 3, false), (3, 4, true)] {
            assert_eq!(cuts.can_hear(NodeId(one), NodeId(other)), hears, "{one} {other}");
        }
        cuts.on_heal(&[ids(&[0, 1])]);
        assert!(!cuts.can_hear(NodeId(1), NodeId(2)), "that was another cut");
        cuts.on_heal(&[ids(&[0, 1]), ids(&[2])]);
        assert!(cuts.can_hear(NodeId(1), NodeId(2)));
        assert!(!cuts.could_hear(NodeId(1), NodeId(2)), "not all along");
    }
}
