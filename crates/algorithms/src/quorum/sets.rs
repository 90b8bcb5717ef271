//! Explicit sets, one a node.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, all_alive, distinct};

#[derive(Debug)]
pub(super) struct Sets(Vec<Vec<NodeId>>);

/// As many sets as can be compared with each other in some seconds.
const MOST_SETS: usize = 5_000;

impl Sets {
    pub(super) fn new(sets: &[Vec<NodeId>]) -> Result<Self, String> {
        check(sets, |node| format!("node {node}"))?;
        Ok(Self(sets.to_vec()))
    }
}

/// Looks for a set that is empty or has a node that does not exist. What a set is called is for the
/// caller to say.
pub(super) fn are_sets(sets: &[Vec<NodeId>], name: impl Fn(usize) -> String) -> Result<(), String> {
    let nodes = sets.len();
    if nodes > MOST_SETS {
        return Err(format!("{nodes} sets are more than {MOST_SETS}"));
    }
    for (at, set) in sets.iter().enumerate() {
        if set.is_empty() {
            return Err(format!("the set of {} is empty", name(at)));
        }
        if let Some(id) = set.iter().find(|id| id.index() >= nodes) {
            return Err(format!(
                "{}: there is no node {id}: {nodes} sets make {nodes} nodes, the last of which is \
                 {}",
                name(at),
                nodes - 1
            ));
        }
    }
    Ok(())
}

/// The same, and for two that do not meet.
pub(super) fn check(sets: &[Vec<NodeId>], name: impl Fn(usize) -> String) -> Result<(), String> {
    are_sets(sets, &name)?;
    let bits: Vec<NodeSet> = sets.iter().map(|set| set.iter().copied().collect()).collect();
    for (one, set) in sets.iter().enumerate() {
        let apart = bits[..one].iter().position(|other| all_alive(set, other));
        if let Some(other) = apart {
            return Err(format!(
                "the sets of {} and {} do not meet: {} and {}",
                name(other),
                name(one),
                shown(&sets[other]),
                shown(set)
            ));
        }
    }
    Ok(())
}

fn shown(set: &[NodeId]) -> String {
    const MOST: usize = 20;
    let mut text = set.iter().take(MOST).map(ToString::to_string).collect::<Vec<_>>().join("-");
    if set.len() > MOST {
        text.push_str("-…");
    }
    text
}

impl Construction for Sets {
    fn quorum(&self, of: NodeId, _turn: u64) -> Vec<NodeId> {
        self.0[of.index()].clone()
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        distinct(self, self.0.len() as u32, most)
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        self.0.iter().find(|quorum| all_alive(quorum, dead)).cloned()
    }
}
