//! Algorithms and runs, where types end.

use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use vorrang_algorithms::card::{About, Card};
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::{Node, Recipe};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue as any;
use vorrang_net::Sealed;
use vorrang_protocol::{Guard, Invariant, Message as _, Protocol};
use vorrang_trace::replay::Cast;
use vorrang_trace::{Line, Objection, Record, replay};

use super::channels::{Simulable, simulable};
use super::on_views::in_every_view;
use super::seen::{Seen, Told};
use super::simulate::{self, Kinds, Simulated, Until};
use super::{Algorithm, Driven, Future, Posts, Role, Run, Scene, costs, make};
use crate::between::Between;
use crate::failure::Failure;
use crate::figures::Measured;
use crate::holder::holder_at;
use crate::network::Place;
use crate::network::conversation::{Served, serve};
use crate::network::on_views::Ranked;
use crate::network::worker::Work;
use crate::options::RunArgs;
use crate::selection::Axis;

/// An algorithm while its types are known.
pub(super) struct Of<Q: Problem, P: Protocol> {
    pub(super) card: &'static Card<Q>,
    pub(super) recipe: Recipe<P>,
    /// The same without its types.
    pub(super) any: &'static any::Entry<Q>,
}

impl<Q, P> Algorithm for Of<Q, P>
where
    Q: Driven,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn about(&self) -> About {
        self.card.about()
    }
    fn costs(&self, setup: &Setup) -> Result<Vec<Vec<String>>, Failure> {
        costs(self.card, setup).map_err(|unfit| Failure::Usage(unfit.0))
    }
    fn contrast(&self) -> Axis {
        Q::contrast(self.card)
    }
    fn run(&self, args: &RunArgs) -> Result<Box<dyn Run>, Failure> {
        Ok(Box::new(self.run_of(&self.settled(args)?)?))
    }
    fn roles(&self) -> &'static [Role] {
        Q::ROLES
    }
    fn trials(&self, nodes: u32) -> Vec<String> {
        Q::trials(self.card, nodes)
    }
    fn serve(&self, setup: &Setup, node: Served) -> Result<Future<'static>, Failure> {
        if node.node.views.is_on() {
            let made = in_every_view(setup, |setup| {
                let make = make(&self.recipe, setup)?;
                Ok(Arc::new(move |id| Sealed::new(make(id))) as Ranked<_, _>)
            })?;
            return Q::serve_on_views(node, made);
        }
        let make = make(&self.recipe, setup)?;
        Ok(serve::<Q, P>(node, &make, Q::needs(self.card, setup)))
    }
    fn work(&self, work: Work) -> Future<'static> {
        Q::work(self.card, &self.recipe, work)
    }
}

impl<Q, P> Of<Q, P>
where
    Q: Driven,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    /// The same options, with the number of whoever is inside where something happens to it.
    fn settled(&self, args: &RunArgs) -> Result<RunArgs, Failure> {
        let mut args = args.clone();
        while let Some((at_ns, typed)) = args.faults.first_of_holder() {
            if !Q::ROLES.contains(&Role::Holder) || args.common.is_real {
                return Err(Failure::usage(format!(
                    "{typed}: 'holder' is the node inside a lock, in a simulation"
                )));
            }
            let faults = args.faults.without_holders();
            let RunOf { scenario, nodes } = self.run_of(&RunArgs { faults, ..args.clone() })?;
            let heard = simulate::overhear(&scenario, &*nodes)?;
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
        let scenario = Q::scenario(self.card, args)?;
        if let Some(nodes) = Q::on_views(self.any, &scenario)? {
            return Ok(RunOf { scenario, nodes });
        }
        let node = make(&self.recipe, scenario.setup())?;
        let invariants = self.recipe.invariants();
        if scenario.between().is_guarded && invariants.is_empty() {
            let name = self.card.name;
            return Err(Failure::usage(format!("--invariants: none are declared for {name}")));
        }
        let any = match scenario.between().flaw {
            None => self.any,
            flaw => any::find(self.card.name, flaw).map_err(|unfit| Failure::Usage(unfit.0))?,
        };
        let nodes: Box<dyn Nodes<Q>> = match scenario.between() {
            Between { is_reliable: true, .. } => Box::new(simulable::<Q>(any, &scenario)?),
            Between { flaw: Some(_), .. } => {
                Box::new(Simulable::flawed::<Q>(any, scenario.setup())?)
            }
            Between { .. } => Box::new(Made { node, invariants }),
        };
        Ok(RunOf { scenario, nodes })
    }
}

/// A run: only its nodes know which algorithm it is.
struct RunOf<Q: Driven> {
    scenario: Q::Scenario,
    nodes: Box<dyn Nodes<Q>>,
}

/// Nodes that can be simulated, and run over TCP.
pub(crate) trait Nodes<Q: Driven>: Send + Sync {
    fn kinds(&self) -> Kinds;
    fn simulate(
        &self,
        scenario: &Q::Scenario,
        recorder: Option<Told<Q>>,
        until: Until<'_>,
    ) -> Result<Simulated<Q>, Failure>;
    fn over_tcp(
        &self,
        scenario: &Q::Scenario,
        place: Place,
        trace: Option<&Path>,
    ) -> Result<Measured, Failure>;
}

/// Nodes, and what holds of them.
pub(crate) struct Made<P: Protocol> {
    pub(crate) node: Node<P>,
    pub(crate) invariants: &'static [Invariant<P>],
}

impl<P: Protocol> Made<P> {
    /// What is wrong with a recorded run of these nodes, if the scene wants it done once more.
    pub(crate) fn objection(&self, scene: &impl Scene, records: &[Record<P>]) -> Option<Objection> {
        if !scene.between().is_guarded {
            return None;
        }
        let guards: Vec<Guard<P>> = self.invariants.iter().map(Into::into).collect();
        let cast = Cast::new(scene.setup().group.size(), &*self.node).guarded(&guards);
        let lines: Vec<Line> = records.iter().map(Into::into).collect();
        replay(&cast, &lines, true, &mut |_, _, _| {}).err()
    }
}

impl<Q, P> Nodes<Q> for Made<P>
where
    Q: Driven,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn kinds(&self) -> Kinds {
        P::Message::KINDS
    }
    fn simulate(
        &self,
        scenario: &Q::Scenario,
        recorder: Option<Told<Q>>,
        until: Until<'_>,
    ) -> Result<Simulated<Q>, Failure> {
        let guards: Vec<Guard<P>> = self.invariants.iter().map(Into::into).collect();
        let nodes = (&self.node, &guards[..], P::Message::KINDS);
        simulate::simulate::<Q, P>(scenario, nodes, recorder, until)
    }
    fn over_tcp(
        &self,
        scenario: &Q::Scenario,
        place: Place,
        trace: Option<&Path>,
    ) -> Result<Measured, Failure> {
        Q::over_tcp(scenario, self, place, trace)
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
        simulate::measure(&self.scenario, &*self.nodes, None, Until::Begun)
    }
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<&ProgressBar>,
    ) -> Result<Measured, Failure> {
        simulate::measure(&self.scenario, &*self.nodes, trace, Until::Over(bar))
    }
    fn over_tcp(&self, place: Place, trace: Option<&Path>) -> Result<Measured, Failure> {
        self.nodes.over_tcp(&self.scenario, place, trace)
    }
    fn observe(&self) -> Result<(Measured, Vec<Seen>), Failure> {
        simulate::observe(&self.scenario, &*self.nodes)
    }
    fn kinds(&self) -> Kinds {
        self.nodes.kinds()
    }
    fn posts(&self) -> Posts {
        Q::posts(&self.scenario)
    }
}
