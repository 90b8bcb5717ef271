//! The order of nodes on a ring.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use vorrang_protocol::{Graph, Group, NodeId};

use super::{USUAL_SEED, drawn};

/// In which order the nodes stand on a ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ring {
    /// As they are numbered.
    #[default]
    Ascending,
    /// The other way round.
    Descending,
    /// Drawn: every order is as likely as every other.
    Random {
        /// The seed of the draw; by default the seed of the run.
        seed: Option<u64>,
    },
    /// Like this.
    Given(Arc<[NodeId]>),
}

impl Ring {
    /// Reads an order of a group: `ascending`, `descending`, `random`, `random:7` or all nodes with
    /// hyphens between them.
    ///
    /// # Errors
    ///
    /// If it is none, or does not have every node of the group once.
    pub fn read(text: &str, group: Group) -> Result<Self, String> {
        let (name, seed) = text.split_once(':').map_or((text, None), |(name, it)| (name, Some(it)));
        let seeded = |seed: &str| {
            seed.parse().map_err(|_| format!("'{seed}' is not a seed: write a whole number"))
        };
        match (name, seed) {
            ("ascending", None) => Ok(Self::Ascending),
            ("descending", None) => Ok(Self::Descending),
            ("random", seed) => Ok(Self::Random { seed: seed.map(seeded).transpose()? }),
            (nodes, None) if nodes.starts_with(|c: char| c.is_ascii_digit()) => {
                listed(nodes, group)
            }
            _ => Err(format!(
                "'{text}' is not an order of nodes: say ascending, descending, random, or all \
                 nodes, as in 0-2-1"
            )),
        }
    }

    /// The same, drawn by this seed if it is drawn and nothing was said of a seed.
    #[must_use]
    pub fn seeded(self, by: u64) -> Self {
        match self {
            Self::Random { seed: None } => Self::Random { seed: Some(by) },
            said => said,
        }
    }

    /// The nodes of a group in this order; after the last comes the first.
    ///
    /// # Panics
    ///
    /// If the order was read for another group.
    pub fn order(&self, group: Group) -> Arc<[NodeId]> {
        match self {
            Self::Ascending => group.members().collect(),
            Self::Descending => group.members().rev().collect(),
            Self::Random { seed } => drawn::order(group, seed.unwrap_or(USUAL_SEED)).into(),
            Self::Given(order) => {
                assert_eq!(order.len(), group.size() as usize, "an order of another group");
                Arc::clone(order)
            }
        }
    }

    /// Links from each node to the next.
    pub(crate) fn graph(&self, group: Group) -> Graph {
        let order = self.order(group);
        let next = order.iter().copied().cycle().skip(1);
        let links = order.iter().copied().zip(next);
        Graph::new(group, links.filter(|(one, other)| one != other))
    }
}

/// All nodes of a group, each once.
fn listed(text: &str, group: Group) -> Result<Ring, String> {
    let last = group.size() - 1;
    let mut order: Vec<NodeId> = Vec::new();
    for word in text.split('-') {
        let id = match word.parse() {
            Ok(id) if group.contains(NodeId(id)) => NodeId(id),
            Ok(_) | Err(_) => {
                return Err(format!("'{word}' is not a node: the last node is {last}"));
            }
        };
        if order.contains(&id) {
            return Err(format!("node {id} is named twice"));
        }
        order.push(id);
    }
    match group.members().find(|id| !order.contains(id)) {
        None if order.is_sorted() => Ok(Ring::Ascending),
        None => Ok(Ring::Given(order.into())),
        Some(missing) => Err(format!("node {missing} is missing: a ring has all of them")),
    }
}

impl fmt::Display for Ring {
    /// Writes what [`Ring::read`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascending => f.write_str("ascending"),
            Self::Descending => f.write_str("descending"),
            Self::Random { seed: None } => f.write_str("random"),
            Self::Random { seed: Some(seed) } => write!(f, "random:{seed}"),
            Self::Given(order) => {
                for (place, id) in order.iter().enumerate() {
                    let hyphen = if place == 0 { "" } else { "-" };
                    write!(f, "{hyphen}{id}")?;
                }
                Ok(())
            }
        }
    }
}

/// A node's place on a ring: who comes after it, and after those.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RingPosition {
    order: Arc<[NodeId]>,
    place: usize,
}

impl RingPosition {
    /// The place of a node on a ring that it is on.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn of(me: NodeId, order: Arc<[NodeId]>) -> Self {
        let place = order.iter().position(|&id| id == me).expect("a node of this ring");
        Self { order, place }
    }

    /// Whose place it is.
    pub fn me(&self) -> NodeId {
        self.order[self.place]
    }

    /// How many nodes the ring has.
    pub fn size(&self) -> usize {
        self.order.len()
    }

    /// The node so many places later; the node itself if that is all the way round.
    pub fn after(&self, places: usize) -> NodeId {
        self.order[(self.place + places) % self.order.len()]
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::ToString as _;

    use super::*;

    fn read(text: &str) -> Result<Ring, String> {
        Ring::read(text, Group::of(4))
    }

    fn numbers(ring: &Ring, nodes: u32) -> Vec<u32> {
        ring.order(Group::of(nodes)).iter().map(|id| id.0).collect()
    }

    #[test]
    fn an_order_is_read_as_it_is_written() {
        for text in ["ascending", "descending", "random", "random:7", "3-1-0-2"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("0-1-2-3"), Ok(Ring::Ascending));
        assert_eq!(numbers(&read("descending").unwrap(), 4), [3, 2, 1, 0]);
        assert_eq!(numbers(&read("3-1-0-2").unwrap(), 4), [3, 1, 0, 2]);
        let wrong = |text| read(text).unwrap_err();
        assert_eq!(wrong("3-1-0"), "node 2 is missing: a ring has all of them");
        assert_eq!(wrong("3-1-1-0"), "node 1 is named twice");
        assert_eq!(wrong("3-4"), "'4' is not a node: the last node is 3");
        assert_eq!(wrong("random:x"), "'x' is not a seed: write a whole number");
        assert!(wrong("upwards").starts_with("'upwards' is not an order of nodes: say ascending"));
    }

    #[test]
    fn a_drawn_order_has_every_node_once_and_is_another_for_every_seed() {
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let mut order = numbers(&Ring::Random { seed: None }.seeded(seed), 4);
            seen.insert(order.clone());
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3]);
        }
        assert_eq!(seen.len(), 24, "all orders of four");
    }

    #[test]
    fn a_ring_is_closed() {
        let ring = read("3-1-0-2").unwrap();
        let graph = ring.graph(Group::of(4));
        let linked = |one, other| graph.has(NodeId(one), NodeId(other));
        assert!(linked(3, 1) && linked(1, 0) && linked(0, 2) && linked(2, 3));
        assert!(!linked(3, 0) && !linked(1, 2));
        assert_eq!(Ring::Ascending.graph(Group::of(1)).edges(), 0);
        let position = RingPosition::of(NodeId(0), ring.order(Group::of(4)));
        assert_eq!([1, 2, 4].map(|places| position.after(places).0), [2, 3, 0]);
        assert_eq!((position.me(), position.size()), (NodeId(0), 4));
    }
}
