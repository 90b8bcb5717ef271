//! Algorithms and runs, where types end.

use std::path::Path;
use std::sync::Arc;

use vorrang_algorithms::card::About;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::Node;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{self as any, NodeOf, PopulationOf};
use vorrang_erased::{AnyNode, Population};
use vorrang_protocol::{Guard, Protocol};
use vorrang_trace::replay::Cast;
use vorrang_trace::{Line, Objection, Record, replay};

use super::channels::reliable;
use super::holder::holder_at;
use super::seen::Seen;
use super::simulate::{self, Kinds, Until};
use super::{Algorithm, Driven, Future, Posts, Role, Run, Scene, costs, make};
use crate::environment::Between;
use crate::failure::Failure;
use crate::figures::Measured;
use crate::network::Place;
use crate::network::worker::Work;
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::progress::Progress;

/// An algorithm of a problem that is known.
pub(super) struct Of<Q: Problem> {
    pub(super) any: &'static any::Entry<Q>,
}

impl<Q: Driven> Algorithm for Of<Q> {
    fn about(&self) -> About {
        self.any.card.about()
    }
    fn costs(&self, setup: &Setup) -> Result<Vec<Vec<String>>, Failure> {
        costs(self.any.card, setup).map_err(|unfit| Failure::Usage(unfit.0))
    }
    fn contrast(&self) -> Axis {
        Q::contrast(self.any.card)
    }
    fn run(&self, args: &RunArgs) -> Result<Box<dyn Run>, Failure> {
        Ok(Box::new(self.run_of(&self.settled(args)?)?))
    }
    fn roles(&self) -> &'static [Role] {
        Q::ROLES
    }
    fn trials(&self, nodes: u32) -> Vec<RunArgs> {
        Q::trials(self.any.card, nodes)
    }
    fn work(&self, work: Work) -> Future<'static> {
        Q::work(self.any.card, &self.any.recipe, work)
    }
}

impl<Q: Driven> Of<Q> {
    /// The same options, with the number of whoever is inside where something happens to it.
    fn settled(&self, args: &RunArgs) -> Result<RunArgs, Failure> {
        args.check()?;
        let mut args = args.clone();
        while let Some((at_ns, typed)) = args.faults.first_of_holder() {
            if !Q::ROLES.contains(&Role::Holder) || args.common.is_real {
                return Err(Failure::usage(format!(
                    "{typed}: 'holder' is the node inside a lock, in a simulation"
                )));
            }
            let faults = args.faults.without_holders();
            let RunOf { scenario, nodes } = self.run_of(&RunArgs { faults, ..args.clone() })?;
            let heard = simulate::overhear(&scenario, &nodes)?;
            let Some((node, now_ns)) = holder_at(&heard, at_ns) else {
                return Err(Failure::usage(format!(
                    "{typed}: no node is inside then, and none enters later"
                )));
            };
            args.faults.settle_first(node, now_ns);
        }
        Ok(args)
    }

    fn run_of(&self, args: &RunArgs) -> Result<RunOf<Q>, Failure> {
        let scenario = Q::scenario(self.any.card, args)?;
        if let Some(nodes) = Q::on_views(self.any, &scenario)? {
            return Ok(RunOf { scenario, nodes });
        }
        let setup = scenario.setup();
        let node = make(&self.any.recipe, setup)?;
        if scenario.between().is_guarded && self.any.guards.is_empty() {
            let name = self.any.card.name;
            return Err(Failure::usage(format!("--invariants: none are declared for {name}")));
        }
        let any = match scenario.between().flaw {
            None => self.any,
            flaw => any::find(self.any.card.name, flaw).map_err(|unfit| Failure::Usage(unfit.0))?,
        };
        let nodes = match scenario.between() {
            Between { is_reliable: true, .. } => reliable::<Q>(any, &scenario)?,
            Between { flaw: Some(_), .. } => {
                make(&any.recipe, setup)?;
                const WHY: &str = "--flaw is for the simulator and the checker: a real network is \
                                   no place for it";
                Nodes::of(any, setup, Err(WHY))
            }
            Between { .. } => Nodes::of(any, setup, Ok(Made { node, entry: any })),
        };
        Ok(RunOf { scenario, nodes })
    }
}

/// A run: only its nodes know which algorithm it is.
struct RunOf<Q: Driven> {
    scenario: Q::Scenario,
    nodes: Nodes<Q>,
}

/// Nodes that can be simulated, and perhaps run over TCP.
pub struct Nodes<Q: Driven> {
    /// The names of the kinds of their messages.
    pub kinds: Kinds,
    /// Makes them for the simulator, with or without their invariants.
    populate: Box<dyn Fn(bool) -> PopulationOf<Q> + Send + Sync>,
    /// How they are made for TCP, or why they do not run there.
    over_tcp: Result<Made<Q>, &'static str>,
}

impl<Q: Driven> Nodes<Q> {
    /// The nodes of a set-up that fits.
    fn of(
        entry: &'static any::Entry<Q>,
        setup: &Setup,
        over_tcp: Result<Made<Q>, &'static str>,
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

    /// Nodes of any type, for the simulator alone.
    pub(super) fn simulated<P>(
        size: u32,
        node: Node<P>,
        guards: Vec<Guard<P>>,
        (kinds, why_not_over_tcp): (Kinds, &'static str),
    ) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let populate = move |is_guarded| {
            let guards = if is_guarded { &guards[..] } else { &[] };
            let population = Population::of(size, Arc::clone(&node)).with_kinds(kinds);
            population.guarded(guards.iter().cloned()).into()
        };
        Self { kinds, populate: Box::new(populate), over_tcp: Err(why_not_over_tcp) }
    }

    /// The nodes for the simulator, with or without their invariants.
    pub(super) fn population(&self, is_guarded: bool) -> PopulationOf<Q> {
        (self.populate)(is_guarded)
    }
}

/// Nodes for a real network, and what holds of them.
pub struct Made<Q: Problem> {
    pub node: Node<NodeOf<Q>>,
    pub entry: &'static any::Entry<Q>,
}

impl<Q: Problem> Made<Q> {
    /// The names of the kinds of their messages.
    pub fn kinds(&self) -> Kinds {
        self.entry.kinds
    }

    /// What is wrong with a recorded run of these nodes, if the scene wants it done once more.
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
        replay(&cast, &lines, true, &mut |_, _, _| {}).err()
    }
}

impl<Q: Driven> Run for RunOf<Q> {
    fn about(&self) -> About {
        self.scenario.about()
    }
    fn options(&self, net: bool) -> String {
        self.scenario.options(net)
    }
    fn page(&self) -> String {
        self.scenario.page()
    }
    fn total(&self) -> u64 {
        self.scenario.total()
    }
    fn blank(&self) -> Result<Measured, Failure> {
        simulate::measure(&self.scenario, &self.nodes, None, Until::Begun)
    }
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<Progress<'_>>,
    ) -> Result<Measured, Failure> {
        simulate::measure(&self.scenario, &self.nodes, trace, Until::Over(bar))
    }
    fn over_tcp(&self, place: Place, trace: Option<&Path>) -> Result<Measured, Failure> {
        match &self.nodes.over_tcp {
            Ok(made) => Q::over_tcp(&self.scenario, made, place, trace),
            Err(why) => Err(Failure::usage(*why)),
        }
    }
    fn observe(&self) -> Result<(Measured, Vec<Seen>), Failure> {
        simulate::observe(&self.scenario, &self.nodes)
    }
    fn kinds(&self) -> Kinds {
        self.nodes.kinds
    }
    fn posts(&self) -> Posts {
        Q::posts(&self.scenario)
    }
}
