//! The nodes of a run.

use std::fmt;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::{Node, Recipe};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{self as any, NodeOf, PopulationOf};
use vorrang_erased::AnyNode;
use vorrang_protocol::{Graph, Protocol};
use vorrang_trace::replay::Cast;
use vorrang_trace::{Line, Objection, Record};
use vorrang_workload::Simulated;

use super::Scene;
use crate::failure::Failure;
use vorrang_catalogue::Kinds;

/// Nodes that can be simulated, and perhaps run over TCP.
pub struct Nodes<Q: Problem> {
    /// The names of the kinds of their messages.
    pub kinds: Kinds,
    /// Makes them for the simulator, with or without their invariants.
    populate: Box<dyn Fn(bool) -> PopulationOf<Q> + Send + Sync>,
    /// How they are made for TCP, or why they do not run there.
    pub(crate) over_tcp: Result<GuardedNodes<Q>, &'static str>,
}

impl<Q: Problem> Nodes<Q> {
    /// The nodes of a set-up that fits.
    pub(crate) fn of(
        entry: &'static any::Entry<Q>,
        setup: &Setup,
        over_tcp: Result<GuardedNodes<Q>, &'static str>,
    ) -> Self {
        let setup = setup.clone();
        let populate = move |is_guarded| {
            let made = if is_guarded {
                entry.guarded_population(&setup)
            } else {
                entry.population(&setup)
            };
            made.expect("the set-up was found to fit")
        };
        Self { kinds: entry.kinds, populate: Box::new(populate), over_tcp }
    }

    /// Nodes for the simulator alone, and why they do not run over TCP.
    pub(super) fn simulated(nodes: any::Nodes<Q>, why_not_over_tcp: &'static str) -> Self {
        Self::apart(nodes, Err(why_not_over_tcp))
    }

    /// Nodes for the simulator, and how others are made for TCP, or why they do not run there.
    pub(super) fn apart(
        nodes: any::Nodes<Q>,
        over_tcp: Result<GuardedNodes<Q>, &'static str>,
    ) -> Self {
        let any::Nodes { kinds, populate, .. } = nodes;
        Self { kinds, populate, over_tcp }
    }

    /// The nodes for the simulator, with or without their invariants.
    pub(super) fn population(&self, is_guarded: bool) -> PopulationOf<Q> {
        (self.populate)(is_guarded)
    }
}

impl<Q: Problem> fmt::Debug for Nodes<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

/// Nodes for a real network, and what holds of them.
pub struct GuardedNodes<Q: Problem> {
    /// How each is made.
    pub node: Node<NodeOf<Q>>,
    /// The algorithm.
    pub entry: &'static any::Entry<Q>,
    /// The names of the kinds of their messages.
    pub kinds: Kinds,
}

impl<Q: Problem> fmt::Debug for GuardedNodes<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedNodes").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl<Q: Simulated> GuardedNodes<Q> {
    /// The violation in a replay of a recorded run, if the scenario asks for one.
    pub fn objection(
        &self,
        scene: &impl Scene,
        records: &[Record<NodeOf<Q>>],
    ) -> Option<Objection> {
        if !scene.between().is_guarded {
            return None;
        }
        let cast = Cast::new(scene.setup().group.size(), &*self.node)
            .guarded(&self.entry.guards)
            .reading(&AnyNode::message);
        let lines: Vec<Line> = records.iter().map(Into::into).collect();
        Q::replay(&cast, &lines, true, &mut |_, _, _| {}).err()
    }
}

/// How the nodes of an algorithm are made, if it can be set up so.
pub fn make<P: Protocol>(recipe: &Recipe<P>, setup: &Setup) -> Result<Node<P>, Failure> {
    recipe.nodes(setup).map_err(|unfit| Failure::Usage(unfit.0))
}

/// The communication graph; none if it is complete. A flawed algorithm is not held to the links:
/// its applications may communicate directly.
pub(super) fn graph<Q: Problem>(
    (card, flaw): (&Card<Q>, Option<&str>),
    setup: &Setup,
) -> Result<Option<Graph>, Failure> {
    if flaw.is_some() {
        return Ok(None);
    }
    card.assumes.layout.graph(setup).map_err(|unfit| Failure::Usage(unfit.0))
}
