//! Information structures: which nodes a node asks before it enters, and which it informs when it
//! has left.
//!
//! Beverly Sanders, "The information structure of distributed mutual exclusion algorithms", ACM
//! TOCS 5(3), 1987, describes algorithms that ask for permission by two sets a node: R, those that
//! it asks, and I, those that it informs of its exit. The sets that she calls St, those that inform
//! a node, follow from them.
//!
//! ```
//! use vorrang_algorithms::structure::Structures;
//! use vorrang_protocol::{Group, NodeId};
//!
//! let example: Structures = "sets:0-1/0,0-1/1,0-1-2,0-1-3".parse().unwrap();
//! let sets = example.sets(Group::of(4), &"grid".parse().unwrap()).unwrap();
//! assert_eq!(sets[0].asks, [NodeId(0), NodeId(1)]);
//! assert_eq!(sets[0].informs, [NodeId(0)]);
//!
//! let unsafe_one: Structures = "sets:0-1/0,0-1/1,0-2,0-1-3".parse().unwrap();
//! let why = unsafe_one.sets(Group::of(4), &"grid".parse().unwrap()).unwrap_err();
//! assert!(why.0.contains("nodes 1 and 2"), "{why}");
//! ```

pub mod bounds;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use vorrang_protocol::{Group, NodeId};

use crate::quorum::Quorums;
use crate::unfit::Unfit;

/// How the sets are made.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Structures {
    /// All ask node 0 and inform it.
    Central,
    /// All ask all and inform all, as in Lamport's algorithm.
    Lamport,
    /// All ask all and inform themselves, as in Ricart and Agrawala's.
    RicartAgrawala,
    /// A node asks its quorum and informs it, as in Maekawa's.
    #[default]
    Maekawa,
    /// These, one a node.
    Sets(Arc<[Sets]>),
}

/// The sets of a node, lowest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sets {
    /// The nodes that it asks: R.
    pub asks: Vec<NodeId>,
    /// The nodes that it informs: I.
    pub informs: Vec<NodeId>,
}

impl Sets {
    fn same(nodes: Vec<NodeId>) -> Self {
        Self { informs: nodes.clone(), asks: nodes }
    }
}

impl Structures {
    /// All ways to write one.
    pub const FORMS: &'static str = "central, lamport, ricart-agrawala, maekawa, or \
        sets:0-1/0,0-1/1,0-1-2 (for every node whom it asks and, after a slash, whom it informs \
        if that is not the same)";

    /// The sets of a group, if no two of its nodes can be inside together.
    ///
    /// # Errors
    ///
    /// If they can, with the nodes that could be, or if there are no such sets.
    pub fn sets(&self, group: Group, quorums: &Quorums) -> Result<Vec<Sets>, Unfit> {
        let sets = self.unchecked(group, quorums)?;
        match self {
            // Safe by construction: a common node, all nodes, or a quorum system.
            Self::Central | Self::Lamport | Self::RicartAgrawala | Self::Maekawa => Ok(sets),
            Self::Sets(_) => safety(&sets)
                .map_err(|why| Unfit(format!("--structure {}: {why}", self.in_short())))
                .map(|()| sets),
        }
    }

    /// The sets of a group, whether they are safe or not.
    ///
    /// # Errors
    ///
    /// If there are no such sets.
    pub fn unchecked(&self, group: Group, quorums: &Quorums) -> Result<Vec<Sets>, Unfit> {
        /// Where everyone asks everyone, as many as fit into memory.
        const MOST_NODES: u32 = 10_000;
        let all = || group.members().collect::<Vec<_>>();
        if matches!(self, Self::Lamport | Self::RicartAgrawala) && group.size() > MOST_NODES {
            return Err(Unfit(format!(
                "--structure {self}: everyone asks everyone, so there may be {MOST_NODES} nodes at \
                 most, not {}",
                group.size()
            )));
        }
        Ok(match self {
            Self::Central => group.members().map(|_| Sets::same(vec![NodeId(0)])).collect(),
            Self::Lamport => group.members().map(|_| Sets::same(all())).collect(),
            Self::RicartAgrawala => {
                group.members().map(|id| Sets { asks: all(), informs: vec![id] }).collect()
            }
            Self::Maekawa => {
                let system = quorums.system(group)?;
                group.members().map(|id| Sets::same(system.of(id))).collect()
            }
            Self::Sets(sets) => {
                let (own, nodes) = (sets.len(), group.size());
                if own != nodes as usize {
                    return Err(Unfit(format!(
                        "--structure {}: it is for {own} nodes, not {nodes}: say --nodes {own}",
                        self.in_short()
                    )));
                }
                are_nodes(sets)
                    .map_err(|why| Unfit(format!("--structure {}: {why}", self.in_short())))?;
                sets.to_vec()
            }
        })
    }

    /// For how many nodes it is, if it says so.
    pub fn nodes(&self) -> Option<u32> {
        match self {
            Self::Sets(sets) => Some(sets.len() as u32),
            Self::Central | Self::Lamport | Self::RicartAgrawala | Self::Maekawa => None,
        }
    }

    /// As it is written, but for a list of sets, of which only the number is told.
    pub fn in_short(&self) -> String {
        match self {
            Self::Sets(sets) => format!("of {} sets", sets.len()),
            Self::Central | Self::Lamport | Self::RicartAgrawala | Self::Maekawa => {
                self.to_string()
            }
        }
    }
}

/// Every node asks somebody, and all of them are there.
fn are_nodes(sets: &[Sets]) -> Result<(), String> {
    let group = Group::of(sets.len() as u32);
    let last = group.size() - 1;
    for (id, Sets { asks, informs }) in group.members().zip(sets) {
        if asks.is_empty() {
            return Err(format!("node {id} asks nobody"));
        }
        for (set, verb) in [(asks, "asks"), (informs, "informs")] {
            if let Some(stranger) = set.iter().find(|&&it| !group.contains(it)) {
                return Err(format!("node {id} {verb} node {stranger}: the last node is {last}"));
            }
        }
    }
    Ok(())
}

/// Sanders' theorem: of any two nodes, both inform a common one, or each asks the other. The second
/// is worth something only if both also inform themselves, so that each knows when it is inside.
///
/// # Errors
///
/// If some two are not kept apart so: which could be inside together, or who is informed unasked.
pub fn safety(sets: &[Sets]) -> Result<(), String> {
    let group = Group::of(sets.len() as u32);
    for (id, Sets { asks, informs }) in group.members().zip(sets) {
        if let Some(unasked) = informs.iter().find(|it| asks.binary_search(it).is_err()) {
            return Err(format!("node {id} informs node {unasked}, which it does not ask"));
        }
    }
    // Almost always the first node asked is a common one; so this is not as slow as it looks.
    for (place, one) in sets.iter().enumerate() {
        for (other_place, other) in sets.iter().enumerate().skip(place + 1) {
            let (i, j) = (NodeId(place as u32), NodeId(other_place as u32));
            let is_shared = one.informs.iter().any(|it| other.informs.binary_search(it).is_ok());
            let has = |set: &[NodeId], id: NodeId| set.binary_search(&id).is_ok();
            let ask_each_other = has(&one.asks, j) && has(&other.asks, i);
            let inform_themselves = has(&one.informs, i) && has(&other.informs, j);
            let why = match (is_shared, ask_each_other, inform_themselves) {
                (true, _, _) | (false, true, true) => continue,
                (false, false, _) => "inform nobody in common and do not ask each other",
                (false, true, false) => {
                    "inform nobody in common, and ask each other without informing themselves"
                }
            };
            return Err(format!("nodes {i} and {j} could be inside together: they {why}"));
        }
    }
    Ok(())
}

fn set(text: &str) -> Result<Vec<NodeId>, String> {
    let node =
        |it: &str| it.parse().map(NodeId).map_err(|_| format!("'{it}' is not a node's number"));
    let mut set = match text {
        "" => Vec::new(),
        _ => text.split('-').map(node).collect::<Result<Vec<_>, String>>()?,
    };
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

impl FromStr for Structures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "central" => Ok(Self::Central),
            "lamport" => Ok(Self::Lamport),
            "ricart-agrawala" => Ok(Self::RicartAgrawala),
            "maekawa" => Ok(Self::Maekawa),
            _ => {
                let Some(sets) = text.strip_prefix("sets:") else {
                    return Err(format!(
                        "'{text}' is not an information structure: say {}",
                        Self::FORMS
                    ));
                };
                let one = |it: &str| match it.split_once('/') {
                    None => set(it).map(Sets::same),
                    Some((asks, informs)) => Ok(Sets { asks: set(asks)?, informs: set(informs)? }),
                };
                sets.split(',')
                    .map(one)
                    .collect::<Result<Vec<_>, _>>()
                    .map(|it| Self::Sets(it.into()))
            }
        }
    }
}

impl fmt::Display for Structures {
    /// Writes what [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined =
            |nodes: &[NodeId]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join("-");
        let sets = match self {
            Self::Central => return f.write_str("central"),
            Self::Lamport => return f.write_str("lamport"),
            Self::RicartAgrawala => return f.write_str("ricart-agrawala"),
            Self::Maekawa => return f.write_str("maekawa"),
            Self::Sets(sets) => sets,
        };
        let one = |Sets { asks, informs }: &Sets| {
            let asked = joined(asks);
            if asks == informs { asked } else { format!("{asked}/{}", joined(informs)) }
        };
        write!(f, "sets:{}", sets.iter().map(one).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "sets:0-1/0,0-1/1,0-1-2,0-1-3";

    fn checked(text: &str, nodes: u32) -> Result<Vec<Sets>, String> {
        let structures: Structures = text.parse().unwrap();
        structures.sets(Group::of(nodes), &Quorums::usual(Group::of(nodes))).map_err(|it| it.0)
    }

    #[test]
    fn structures_are_read_as_they_are_written() {
        for text in ["central", "lamport", "ricart-agrawala", "maekawa", EXAMPLE, "sets:0/"] {
            assert_eq!(text.parse::<Structures>().unwrap().to_string(), text);
        }
        assert_eq!("sets:1-0/1".parse::<Structures>().unwrap().to_string(), "sets:0-1/1");
        let wrong = |text: &str| text.parse::<Structures>().unwrap_err();
        assert!(wrong("ring").starts_with("'ring' is not an information structure: say central"));
        assert_eq!(wrong("sets:0-x"), "'x' is not a node's number");
    }

    #[test]
    fn the_known_ones_and_the_example_are_safe() {
        for text in ["central", "lamport", "ricart-agrawala", "maekawa"] {
            for nodes in [1, 2, 3, 7, 10] {
                assert_eq!(checked(text, nodes).unwrap().len(), nodes as usize, "{text}");
            }
        }
        checked(EXAMPLE, 4).unwrap();
    }

    #[test]
    fn what_is_not_safe_is_refused_with_the_nodes_that_could_be_inside() {
        let why = |text: &str, nodes| checked(text, nodes).unwrap_err();
        assert_eq!(
            why("sets:0-1/0,0-1/1,0-2,0-1-3", 4),
            "--structure of 4 sets: nodes 1 and 2 could be inside together: they inform nobody in \
             common and do not ask each other"
        );
        assert_eq!(
            why("sets:0-1/,0-1/1", 2),
            "--structure of 2 sets: nodes 0 and 1 could be inside together: they inform nobody in \
             common, and ask each other without informing themselves"
        );
        assert_eq!(
            why("sets:0/1,0-1", 2),
            "--structure of 2 sets: node 0 informs node 1, which it does not ask"
        );
        assert_eq!(why("sets:0,/", 2), "--structure of 2 sets: node 1 asks nobody");
        assert_eq!(
            why("sets:0-5,0", 2),
            "--structure of 2 sets: node 0 asks node 5: the last node is 1"
        );
        assert_eq!(
            why("sets:0/5,0", 2),
            "--structure of 2 sets: node 0 informs node 5: the last node is 1"
        );
        assert_eq!(
            why(EXAMPLE, 5),
            "--structure of 4 sets: it is for 4 nodes, not 5: say --nodes 4"
        );
    }
}
