//! The layer of reliable channels beneath an algorithm, as it was asked for.

use std::time::Duration;

use vorrang_algorithms::layer::reliable::Retries;
use vorrang_algorithms::registry::Node;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{self as any, Kinds, NodeOf};
use vorrang_protocol::{Graph, Guard, parse_duration_ns, show_duration_ns};
use vorrang_trace::Header;

use super::{Nodes, ProblemDriver, Scene};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::options::check::{Channels, CheckArgs};
use crate::options::choice::{Choice as _, name};

/// How nodes are made, and what holds of them.
pub(super) type MadeOf<Q> = (Node<NodeOf<Q>>, Vec<Guard<NodeOf<Q>>>);

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

/// The nodes of an algorithm over such a layer, and what holds of them.
pub(super) fn over<Q: ProblemDriver>(
    layer: Layer,
    (inner, kinds): (MadeOf<Q>, Kinds),
    (setup, graph): (&Setup, Option<Graph>),
) -> any::Nodes<Q> {
    let channels = any::channels::Channels {
        group: setup.group,
        graph,
        retries: Retries::within(layer.within, layer.tries),
        is_flawed: match layer.how {
            Channels::Correct => false,
            Channels::NoDuplicateFilter => true,
        },
    };
    Q::over_channels(inner, kinds, channels)
}

/// The nodes of an algorithm, or of one with a mistake, over reliable channels in a simulation.
pub(crate) fn reliable<Q: ProblemDriver>(
    of: &any::Entry<Q>,
    scenario: &Q::Scenario,
) -> Result<Nodes<Q>, Failure> {
    const WHY: &str = "--reliable is for the simulator: TCP is reliable by itself";
    let setup = scenario.setup();
    let inner = (super::make(&of.recipe, setup)?, of.guards.clone());
    let graph = scenario.about().assumes.layout.graph(setup);
    let graph = graph.map_err(|unfit| Failure::Usage(unfit.0))?;
    let layer = Layer::simulated(scenario.between());
    Ok(Nodes::simulated(over(layer, (inner, of.kinds), (setup, graph)), WHY))
}
