//! Any algorithm over the layer of reliable channels: compiled once for every problem.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::layer::flaws::NoDuplicateFilter;
use vorrang_algorithms::layer::reliable::{self, Patience, Peers, Reliable};
use vorrang_algorithms::recipe::Node;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{Entry, NodeOf};
use vorrang_protocol::{Data, Graph, Guard, NodeId, Protocol};
use vorrang_trace::AnyNode;

use super::seen::Told;
use super::simulate::{self, Kinds, Simulated, Until};
use super::{Driven, Nodes, Scene};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::network::Place;

/// How often something is sent again in a simulation before a peer is left alone: with time-outs
/// that double up to 64 times, that is after some six thousand message delays.
const TRIES: u8 = 16;

/// The layer as it should be, or with a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Channels {
    /// What is sent arrives once and in order
    Correct,
    /// A known mistake: what is sent again is handed up again
    NoDuplicateFilter,
}

type Over<Q> = Reliable<NodeOf<Q>>;

/// The nodes of an algorithm over reliable channels.
fn over<Q: Driven>(
    node: Node<NodeOf<Q>>,
    setup: &Setup,
    graph: Option<Graph>,
    patience: Patience,
) -> impl Fn(NodeId) -> Over<Q> + Send + Sync + Clone + 'static {
    let (group, graph) = (setup.group, graph.map(Arc::new));
    move |id| {
        let peers = Peers::of(id, group, graph.as_deref());
        Reliable::new(id, node(id), peers, patience)
    }
}

/// The same without a type, for the checker and a stage; and what holds of them.
pub(super) fn any<Q: Driven>(
    how: Channels,
    (node, guards): (Node<NodeOf<Q>>, &[Guard<NodeOf<Q>>]),
    (setup, graph): (&Setup, Option<Graph>),
    tries: u8,
) -> (Vec<NodeOf<Q>>, Vec<Guard<NodeOf<Q>>>) {
    let node = over::<Q>(node, setup, graph, Patience::within(setup.within, tries));
    let members = setup.group.members();
    match how {
        Channels::Correct => {
            let guards = guards.iter().cloned().map(Reliable::guard).map(AnyNode::guard_of);
            (members.map(|id| AnyNode::new(node(id))).collect(), guards.collect())
        }
        Channels::NoDuplicateFilter => {
            let flawed = |id| AnyNode::new(Flawed::new(node(id), NoDuplicateFilter));
            (members.map(flawed).collect(), Vec::new())
        }
    }
}

/// Nodes for the simulator whose types do not know which kinds of messages there are.
pub(super) struct Simulable<P: Protocol> {
    node: Node<P>,
    guards: Vec<Guard<P>>,
    kinds: Kinds,
    /// Why they do not run over TCP.
    why: &'static str,
}

/// An algorithm, or one with a mistake, over reliable channels.
pub(super) fn simulable<Q: Driven>(
    of: &Entry<Q>,
    scenario: &Q::Scenario,
) -> Result<Simulable<Over<Q>>, Failure> {
    let (setup, between) = (scenario.setup(), scenario.between());
    let node = super::make(&of.recipe, setup)?;
    let graph = scenario.about().assumes.layout.graph(setup);
    let graph = graph.map_err(|unfit| Failure::Usage(unfit.0))?;
    let longest = Duration::from_nanos(between.nearly_longest_ns());
    let node = over::<Q>(node, setup, graph, Patience::within(longest, TRIES));
    Ok(Simulable {
        node: Arc::new(node),
        guards: of.guards.iter().cloned().map(Reliable::guard).collect(),
        kinds: reliable::kinds(of.kinds).leak(),
        why: "--reliable is for the simulator: TCP is reliable by itself",
    })
}

impl<C: Data, N: Data> Simulable<AnyNode<C, N>> {
    /// An algorithm with a mistake.
    pub(super) fn flawed<Q>(of: &Entry<Q>, setup: &Setup) -> Result<Self, Failure>
    where
        Q: Driven<Command = C, Notice = N>,
    {
        Ok(Self {
            node: super::make(&of.recipe, setup)?,
            guards: of.guards.clone(),
            kinds: of.kinds,
            why: "--flaw is for the simulator and the checker: a real network is no place for it",
        })
    }
}

impl<Q, P> Nodes<Q> for Simulable<P>
where
    Q: Driven,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn kinds(&self) -> Kinds {
        self.kinds
    }
    fn simulate(
        &self,
        scenario: &Q::Scenario,
        recorder: Option<Told<Q>>,
        until: Until<'_>,
    ) -> Result<Simulated<Q>, Failure> {
        let nodes = (&self.node, &self.guards[..], self.kinds);
        simulate::simulate::<Q, P>(scenario, nodes, recorder, until)
    }
    fn over_tcp(&self, _: &Q::Scenario, _: Place, _: Option<&Path>) -> Result<Measured, Failure> {
        Err(Failure::usage(self.why))
    }
}
