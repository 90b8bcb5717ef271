//! Any algorithm over the layer of reliable channels: compiled once for every problem.

use std::sync::Arc;

use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::layer::flaws::NoDuplicateFilter;
use vorrang_algorithms::layer::reliable::{self, Peers, Reliable, Retries};
use vorrang_algorithms::problem::Problem;
use vorrang_erased::{AnyNode, Fresh};
use vorrang_protocol::{Graph, Group, Guard, NodeId};

use crate::nodes::kept;
use crate::{Kinds, NodeOf, Nodes};

/// The channels between the nodes of a group.
#[derive(Clone, Debug)]
pub struct Channels {
    /// The group.
    pub group: Group,
    /// Its links; none if all are linked to all.
    pub graph: Option<Graph>,
    /// When something is sent again, and how often.
    pub retries: Retries,
    /// Whether a message that comes twice is delivered twice, by mistake.
    pub is_flawed: bool,
}

/// The nodes of an algorithm over channels.
pub(crate) fn over_channels<Q: Problem>(
    (node, guards): (Fresh<NodeOf<Q>>, Vec<Guard<NodeOf<Q>>>),
    kinds: Kinds,
    channels: Channels,
) -> Nodes<Q> {
    let Channels { group, graph, retries, is_flawed } = channels;
    let graph = graph.map(Arc::new);
    let over = move |id: NodeId| {
        let peers = Peers::of(id, group, graph.as_deref());
        Reliable::new(id, node(id), peers, retries)
    };
    let kinds = kept(reliable::kinds(kinds));
    if is_flawed {
        let flawed = move |id| AnyNode::new(Flawed::new(over(id), &NoDuplicateFilter));
        return Nodes::without_types(group, Arc::new(flawed), kinds);
    }
    let guards = guards.into_iter().map(Reliable::guard).collect();
    Nodes::correct::<Reliable<NodeOf<Q>>>(group, Arc::new(over), guards, kinds)
}
