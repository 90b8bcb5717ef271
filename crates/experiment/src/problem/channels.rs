//! Any algorithm over the layer of reliable channels: compiled once for every problem.

use std::sync::Arc;
use std::time::Duration;

use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::layer::flaws::NoDuplicateFilter;
use vorrang_algorithms::layer::reliable::{self, Peers, Reliable, Retries};
use vorrang_algorithms::recipe::Node;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{Entry, NodeOf};
use vorrang_erased::AnyNode;
use vorrang_protocol::{Graph, Guard, NodeId, parse_duration_ns, show_duration_ns};
use vorrang_trace::Header;

use super::{Nodes, ProblemDriver, Scene};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::options::check::{Channels, CheckArgs};
use crate::options::choice::{Choice as _, name};

/// How often something is sent again in a simulation before a peer is left alone: with time-outs
/// that double up to 64 times, that is after some six thousand message delays.
const TRIES: u8 = 16;

/// A layer of reliable channels, as a trace tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Whether they are correct.
    pub how: Channels,
    within: Duration,
    tries: u8,
}

impl Layer {
    /// Those of a check.
    pub const fn checked(how: Channels, within: Duration, tries: u8) -> Self {
        Self { how, within, tries }
    }

    /// Those of a simulation.
    pub fn simulated(environment: &Environment) -> Self {
        let within = Duration::from_nanos(environment.nearly_longest_ns());
        Self { how: Channels::Correct, within, tries: TRIES }
    }

    /// Adds it to the head of a run.
    pub fn note(self, header: Header) -> Header {
        header
            .with("channels", &name(&self.how))
            .with("channels_within", &show_duration_ns(self.within.as_nanos() as u64))
            .with("channels_tries", &self.tries)
    }

    /// The layer that a run was over, if it was.
    pub fn noted(header: &Header) -> Option<Self> {
        let how = Channels::named(header.get("channels")?)?;
        let within = parse_duration_ns(header.get("channels_within")?).ok()?;
        let tries = header.get("channels_tries")?.parse().ok()?;
        Some(Self { how, within: Duration::from_nanos(within), tries })
    }
}

impl CheckArgs {
    /// The layer of reliable channels, if there is one.
    pub fn layer(&self, setup: &Setup) -> Option<Layer> {
        self.reliable.map(|how| Layer::checked(how, setup.within, self.tries()))
    }
}

type Over<Q> = Reliable<NodeOf<Q>>;

/// The nodes of an algorithm over reliable channels.
fn over<Q: ProblemDriver>(
    node: Node<NodeOf<Q>>,
    setup: &Setup,
    graph: Option<Graph>,
    patience: Retries,
) -> impl Fn(NodeId) -> Over<Q> + Send + Sync + Clone + 'static {
    let (group, graph) = (setup.group, graph.map(Arc::new));
    move |id| {
        let peers = Peers::of(id, group, graph.as_deref());
        Reliable::new(id, node(id), peers, patience)
    }
}

/// The same without a type, for the checker and a stage; and what holds of them.
pub(super) fn any<Q: ProblemDriver>(
    layer: Layer,
    (node, guards): (Node<NodeOf<Q>>, &[Guard<NodeOf<Q>>]),
    (setup, graph): (&Setup, Option<Graph>),
) -> super::subject::MadeOf<Q> {
    let node = over::<Q>(node, setup, graph, Retries::within(layer.within, layer.tries));
    match layer.how {
        Channels::Correct => {
            let guards = guards.iter().cloned().map(Reliable::guard).map(AnyNode::guard_of);
            (Arc::new(move |id| AnyNode::new(node(id))), guards.collect())
        }
        Channels::NoDuplicateFilter => {
            let flawed = move |id| AnyNode::new(Flawed::new(node(id), &NoDuplicateFilter));
            (Arc::new(flawed), Vec::new())
        }
    }
}

/// The nodes of an algorithm, or of one with a mistake, over reliable channels.
pub(crate) fn reliable<Q: ProblemDriver>(
    of: &Entry<Q>,
    scenario: &Q::Scenario,
) -> Result<Nodes<Q>, Failure> {
    const WHY: &str = "--reliable is for the simulator: TCP is reliable by itself";
    let (setup, environment) = (scenario.setup(), scenario.between());
    let node = super::make(&of.recipe, setup)?;
    let graph = scenario.about().assumes.layout.graph(setup);
    let graph = graph.map_err(|unfit| Failure::Usage(unfit.0))?;
    let Layer { within, tries, .. } = Layer::simulated(environment);
    let node = over::<Q>(node, setup, graph, Retries::within(within, tries));
    let guards = of.guards.iter().cloned().map(Reliable::guard).collect();
    let kinds = reliable::kinds(of.kinds).leak();
    Ok(Nodes::simulated(setup.group.size(), Arc::new(node), guards, (kinds, WHY)))
}
