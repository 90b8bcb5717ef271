//! All nodes must agree: no crash is tolerated.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet};

use super::{Construction, Known, power};

#[derive(Debug)]
pub(super) struct All(pub(super) Group);

impl Construction for All {
    fn quorum(&self, _of: NodeId, _turn: u64) -> Vec<NodeId> {
        self.0.members().collect()
    }

    fn family(&self, most: usize) -> Option<Vec<Vec<NodeId>>> {
        (self.0.size() as usize <= most).then(|| vec![self.0.members().collect()])
    }

    fn live(&self, dead: &NodeSet) -> Option<Vec<NodeId>> {
        dead.is_empty().then(|| self.0.members().collect())
    }

    fn known(&self) -> Known {
        let size = Some(self.0.size() as usize);
        Known {
            smallest: size,
            largest: size,
            coterie: Some(true),
            symmetric: Some(true),
            nondominated: Some(self.0.size() == 1),
            // Any two quorums meet in one node: there are no two.
            ideal: Some(true),
            resilience: Some(0),
            load: Some(1.0),
        }
    }

    fn failure(&self, dead: f64) -> Option<f64> {
        Some(1.0 - power(1.0 - dead, self.0.size()))
    }
}
