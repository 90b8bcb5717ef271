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
use vorrang_protocol::{Data, Graph, Guard, NodeId, Protocol, parse_duration_ns, show_duration_ns};
use vorrang_trace::{AnyNode, Header};

use super::seen::Told;
use super::simulate::{self, Kinds, Simulated, Until};
use super::{Driven, Nodes, Scene};
use crate::between::Between;
use crate::failure::Failure;
use crate::figures::Measured;
use crate::network::Place;
use crate::options::name;

/// How often something is sent again in a simulation before a peer is left alone: with time-outs
/// that double up to 64 times, that is after some six thousand message delays.
const TRIES: u8 = 16;

/// The layer as it should be, or with a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Channels {
    /// Exactly-once delivery, in order
    Correct,
    /// A known mistake: retransmitted messages are delivered again
    NoDuplicateFilter,
}

/// A layer of reliable channels, as a trace tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layer {
    pub(crate) how: Channels,
    within: Duration,
    tries: u8,
}

impl Layer {
    pub(crate) const fn checked(how: Channels, within: Duration, tries: u8) -> Self {
        Self { how, within, tries }
    }

    pub(crate) fn simulated(between: &Between) -> Self {
        let within = Duration::from_nanos(between.nearly_longest_ns());
        Self { how: Channels::Correct, within, tries: TRIES }
    }

    /// Adds it to what is said of a run.
    pub(crate) fn note(self, header: Header) -> Header {
        header
            .with("channels", &name(&self.how))
            .with("channels_within", &show_duration_ns(self.within.as_nanos() as u64))
            .with("channels_tries", &self.tries)
    }

    /// The layer that a run was over, if it was.
    pub(crate) fn noted(header: &Header) -> Option<Self> {
        let how = Channels::from_str(header.get("channels")?, true).ok()?;
        let within = parse_duration_ns(header.get("channels_within")?).ok()?;
        let tries = header.get("channels_tries")?.parse().ok()?;
        Some(Self { how, within: Duration::from_nanos(within), tries })
    }
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
    layer: Layer,
    (node, guards): (Node<NodeOf<Q>>, &[Guard<NodeOf<Q>>]),
    (setup, graph): (&Setup, Option<Graph>),
) -> super::MadeOf<Q> {
    let node = over::<Q>(node, setup, graph, Patience::within(layer.within, layer.tries));
    match layer.how {
        Channels::Correct => {
            let guards = guards.iter().cloned().map(Reliable::guard).map(AnyNode::guard_of);
            (Arc::new(move |id| AnyNode::new(node(id))), guards.collect())
        }
        Channels::NoDuplicateFilter => {
            let flawed = move |id| AnyNode::new(Flawed::new(node(id), NoDuplicateFilter));
            (Arc::new(flawed), Vec::new())
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

impl<P: Protocol> Simulable<P> {
    /// Nodes of which nothing is known to hold at every moment.
    pub(super) fn new(node: Node<P>, kinds: Kinds, why: &'static str) -> Self {
        Self { node, guards: Vec::new(), kinds, why }
    }
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
    let Layer { within, tries, .. } = Layer::simulated(between);
    let node = over::<Q>(node, setup, graph, Patience::within(within, tries));
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
