//! Which nodes can hear each other in a partition, for monitors of several problems.

use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

/// Where a network was ever cut.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cuts {
    partitions: Vec<Cut>,
    /// The links that were ever cut, by sender and receiver; whether they are now.
    links: Vec<(NodeId, NodeId, bool)>,
}

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
    pub const NONE: Self = Self { partitions: Vec::new(), links: Vec::new() };

    /// Whether a node could hear another all along.
    pub fn could_hear(&self, one: NodeId, other: NodeId) -> bool {
        !self.partitions.iter().any(|cut| cut.separates(one, other))
            && !self.links.iter().any(|&(from, to, _)| (from, to) == (other, one))
    }

    /// Whether a node can hear another now.
    pub fn hears(&self, one: NodeId, other: NodeId) -> bool {
        self.is_on_one_side(one, other) && !self.links.contains(&(other, one, true))
    }

    /// Whether the two can hear each other now.
    pub fn can_hear(&self, one: NodeId, other: NodeId) -> bool {
        self.hears(one, other) && self.hears(other, one)
    }

    /// Whether no partition separates the two now.
    pub fn is_on_one_side(&self, one: NodeId, other: NodeId) -> bool {
        !self.partitions.iter().any(|cut| !cut.is_healed && cut.separates(one, other))
    }

    /// Whether any link is cut now.
    pub fn has_cut_links(&self) -> bool {
        self.links.iter().any(|it| it.2)
    }

    /// A link is cut, as a [`Monitor`](vorrang_protocol::Monitor) is told.
    pub fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.links.retain(|it| (it.0, it.1) != (from, to));
        self.links.push((from, to, true));
        self.links.sort_unstable();
    }

    /// It is mended.
    pub fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        for it in self.links.iter_mut().filter(|it| (it.0, it.1) == (from, to)) {
            it.2 = false;
        }
    }

    /// The network falls apart, as a [`Monitor`](vorrang_protocol::Monitor) is told.
    pub fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.partitions.push(Cut { sides: sets(sides), is_healed: false });
    }

    /// The partition that [`on_cut`](Self::on_cut) reported with the same sides heals.
    pub fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        let sides = sets(sides);
        if let Some(cut) =
            self.partitions.iter_mut().find(|cut| !cut.is_healed && cut.sides == sides)
        {
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

    #[test]
    fn over_a_link_that_is_cut_one_end_hears_nothing_of_the_other() {
        let [one, two, three] = [1, 2, 3].map(NodeId);
        let mut cuts = Cuts::NONE;
        cuts.on_link_cut(one, two);
        assert!(!cuts.hears(two, one) && cuts.hears(one, two) && !cuts.can_hear(one, two));
        assert!(cuts.can_hear(one, three) && cuts.is_on_one_side(one, two) && cuts.has_cut_links());
        cuts.on_link_mended(one, two);
        assert!(cuts.can_hear(one, two) && !cuts.has_cut_links());
        assert!(!cuts.could_hear(two, one) && cuts.could_hear(one, two));
    }
}
