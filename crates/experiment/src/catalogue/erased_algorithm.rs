//! An algorithm of any problem, and its runs, as objects.

use std::path::Path;

use vorrang_algorithms::card::{About, Card, Quantity, Span};
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_catalogue as any;
use vorrang_protocol::{NodeId, Protocol as _};
use vorrang_trace::Recording;

use super::{Algorithm, CostRow, Costs, Run};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::figures::{Measured, span};
use crate::network::worker::Work;
use crate::network::{Future, OverTcp, Place};
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::problem::channels::reliable;
use crate::problem::{
    Compared, Extent, Extremes, FLAW_OVER_TCP, GuardedNodes, InitialRoles, Kinds, Nodes,
    Observation, ProblemDriver, Role, Scene, Survives, holder_at, make, measure, observe, overhear,
    record,
};
use crate::progress::Progress;
use crate::tracefile::Keep;

/// An algorithm of a problem that is known.
#[derive(Debug)]
pub(super) struct ErasedAlgorithm<Q: Problem> {
    pub(super) any: &'static any::Entry<Q>,
}

impl<Q: ProblemDriver + OverTcp> Algorithm for ErasedAlgorithm<Q> {
    fn about(&self) -> About {
        self.any.card.about()
    }
    fn costs(&self, setup: &Setup) -> Result<Costs, Failure> {
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
    fn survives(&self, setup: &Setup) -> Survives {
        Q::survives(self.any.card, setup)
    }
    fn trials(&self, nodes: u32) -> Vec<RunArgs> {
        Q::trials(self.any.card, nodes)
    }
    fn work(&self, work: Work) -> Future<'static> {
        Q::work(self.any.card, &self.any.recipe, work)
    }
}

impl<Q: ProblemDriver + OverTcp> ErasedAlgorithm<Q> {
    /// The same options, with the numbers of holders filled in.
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
            let heard = overhear(&scenario, &nodes)?;
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
            Environment { is_reliable: true, .. } => reliable::<Q>(any, &scenario)?,
            Environment { flaw: Some(_), .. } => {
                make(&any.recipe, setup)?;
                Nodes::of(any, setup, Err(FLAW_OVER_TCP))
            }
            Environment { .. } => {
                Nodes::of(any, setup, Ok(GuardedNodes { node, entry: any, kinds: any.kinds }))
            }
        };
        Ok(RunOf { scenario, nodes })
    }
}

/// A run: only its nodes know which algorithm it is.
#[derive(Debug)]
struct RunOf<Q: ProblemDriver + OverTcp> {
    scenario: Q::Scenario,
    nodes: Nodes<Q>,
}

impl<Q: ProblemDriver + OverTcp> Run for RunOf<Q> {
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
        measure(&self.scenario, &self.nodes, None, Extent::Begun)
    }
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<Progress<'_>>,
    ) -> Result<Measured, Failure> {
        measure(&self.scenario, &self.nodes, trace, Extent::Over(bar))
    }
    fn record(&self) -> Result<Recording, Failure> {
        record(&self.scenario, &self.nodes)
    }
    fn over_tcp(&self, place: Place<'_>, keep: Keep<'_>) -> Result<Measured, Failure> {
        match &self.nodes.over_tcp {
            Ok(made) => Q::over_tcp(&self.scenario, made, place, keep),
            Err(why) => Err(Failure::usage(*why)),
        }
    }
    fn may_return(&self) -> bool {
        let made = self.nodes.over_tcp.as_ref();
        made.is_ok_and(|made| (made.node)(NodeId(0)).without_memory(0).is_some())
    }
    fn observe(&self) -> Result<(Measured, Vec<Observation>), Failure> {
        observe(&self.scenario, &self.nodes)
    }
    fn kinds(&self) -> Kinds {
        self.nodes.kinds
    }
    fn posts(&self) -> InitialRoles {
        Q::posts(&self.scenario)
    }
}

/// The theory of every quantity, at both extremes.
fn costs<Q: Compared>(card: &'static Card<Q>, setup: &Setup) -> Result<Costs, Unfit> {
    let Extremes { common, settings } = Q::extremes(card, setup)?;
    let ends = settings.each_ref().map(|(name, _)| *name);
    let row = |of: Quantity, spans: [Option<Span>; 2]| {
        let unit = if of.is_time { " T" } else { "" };
        let text = |it: Option<Span>| it.map_or_else(|| "–".to_owned(), |it| span(it) + unit);
        CostRow { of, spans: spans.map(text) }
    };
    let of_card = card
        .theory
        .iter()
        .map(|cost| row(cost.of, settings.each_ref().map(|(_, at)| Some((cost.span)(at)))));
    let derived = Q::DERIVED
        .iter()
        .map(|&(of, span)| row(of, settings.each_ref().map(|(_, at)| span(card, at))));
    Ok(Costs { common, ends, rows: of_card.chain(derived).collect() })
}
