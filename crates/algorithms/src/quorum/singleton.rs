//! Node 0 decides alone: the smallest quorum, the highest load, and the best there is if more than
//! half of all nodes are dead (D. Barbara and H. Garcia-Molina, "The vulnerability of vote
//! assignments", 1986).

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{NodeId, NodeSet};

use super::{Construction, Known};

#[derive(Debug)]
pub(super) struct Singleton;

const CENTRE: NodeId = NodeId(0);

impl Construction for Singleton {
    fn quorum(&self, _of: NodeId, _turn: u64) -> Vec<NodeId> {
        vec![CENTRE]
    }

    fn family(&self, _most: usize) -> Option<Vec<Vec<NodeId>>> {
        Some(vec![vec![CENTRE]])
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        (!dead.contains(CENTRE)).then(|| vec![CENTRE])
    }

    fn known(&self) -> Known {
        Known {
            smallest: Some(1),
            largest: Some(1),
            coterie: Some(true),
            nondominated: Some(true),
            resilience: Some(0),
            load: Some(1.0),
            ..Known::default()
        }
    }

    fn failure(&self, dead: f64) -> Option<f64> {
        Some(dead)
    }
}
