//! The scenario of a run, and its theory.

use serde_json::{Value, json};
use vorrang_algorithms::card::{About, Quantity, Span};
use vorrang_algorithms::setup::{Aggregate, Setup, Values};
use vorrang_algorithms::topology::Topology;
use vorrang_algorithms::wave::card::{Card, DURATION, MESSAGES, Setting, TREE_DEPTH, Terms};
use vorrang_algorithms::wave::spec::Watch;
use vorrang_algorithms::wave::{Gathered, Value as Aggregated};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::figures::{Figure, Reading};
use crate::options::RunArgs;
use crate::problem::Scene;
use vorrang_workload::wave::Tally;

/// Options that fit together and fit the algorithm.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) card: &'static Card,
    pub(crate) setup: Setup,
    /// The topology as it was asked for: without a seed, if that is the seed of the run.
    pub(crate) asked: Topology,
    pub(crate) monitor: Watch,
    pub(crate) setting: Setting,
    pub(crate) environment: Environment,
}

impl Scenario {
    /// Options that fit together and fit the algorithm, or why they do not.
    pub(super) fn new(card: &'static Card, args: &RunArgs) -> Result<Self, Failure> {
        let asked = args.setup.setup(&card.about(), args.common.nodes)?.topology;
        let (setup, environment) = args.placed(&card.about())?;
        let graph = setup.topology.graph(setup.group).map_err(|unfit| Failure::Usage(unfit.0))?;
        let setting = Setting::new(&graph, setup.initiator).working(setup.work);
        let monitor = card.watch(&setup).map_err(|unfit| Failure::Usage(unfit.0))?;
        Ok(Self { card, setup, asked, monitor, setting, environment })
    }
}

impl Scenario {
    /// The theory of a quantity, if any: none with faults, and for times only if every message
    /// takes T.
    pub(crate) fn theory(&self, of: Quantity) -> Option<Span> {
        let latency = &self.environment.latency;
        let is_plain = latency.is_constant() && latency.mean_ns() > 0.0;
        let speaks = !self.environment.is_altered() && (is_plain || !of.is_time);
        self.card.cost(of, &self.setting).filter(|_| speaks)
    }

    /// The same over a real network: none for times, since message delays are not known.
    pub(crate) fn theory_over_tcp(&self, of: Quantity) -> Option<Span> {
        self.theory(of).filter(|_| !of.is_time)
    }

    /// The figures of a run, with times in a unit of so many nanoseconds.
    pub(crate) fn figures(
        &self,
        tally: &Tally,
        (unit, unit_ns): (&'static str, f64),
        theory: impl Fn(Quantity) -> Option<Span>,
    ) -> Vec<Figure> {
        let span_ns = tally
            .began_ns
            .zip(tally.ended.as_ref())
            .map(|(from, (to, _))| to.saturating_sub(from) as f64);
        let ended = tally.ended.as_ref().map(|(_, it)| it);
        let depth = u64::from(tally.depth.iter().copied().max().unwrap_or(0));
        let count = match self.card.terms {
            Terms::Traversal => "nodes counted",
            Terms::Termination => "pieces of work counted",
        };
        let counted = ended.map_or(Reading::Unknown, |it| Reading::Count(it.count));
        let [sum, result] = self.gathered(ended);
        vec![
            Figure::of("count", counted).labelled(count),
            sum,
            result,
            Figure::count(MESSAGES.key, MESSAGES.name, tally.traffic.messages())
                .column("MESSAGES")
                .theory(theory(MESSAGES), None),
            Figure::of("messages_by_kind", Reading::Counts(tally.traffic.by_kind())),
            Figure::real(DURATION.key, span_ns.filter(|_| unit_ns > 0.0).map(|it| it / unit_ns))
                .labelled(DURATION.name)
                .unit(unit)
                .column("DURATION/T")
                .theory(theory(DURATION), None),
            Figure::count(TREE_DEPTH.key, TREE_DEPTH.name, depth)
                .column("DEPTH")
                .theory(theory(TREE_DEPTH), None),
            Figure::count("edges", "links", self.setting.edges).column("LINKS"),
            Figure::count("bytes", "bytes", tally.traffic.bytes()).column("BYTES"),
        ]
    }
}

impl Scenario {
    /// What the initiator was told of the nodes' values: the sum, if that was asked for, and in
    /// any case in words, which people are shown if there is no number for it.
    fn gathered(&self, ended: Option<&Gathered>) -> [Figure; 2] {
        let sum = ended.and_then(|it| match it.value {
            Aggregated::Sum(sum) => Some(sum),
            Aggregated::Max(_)
            | Aggregated::Min(_)
            | Aggregated::Count
            | Aggregated::Collect(_) => None,
        });
        let sum = Figure::of("sum", sum.map_or(Reading::Unknown, Reading::Count));
        let result = ended.map(|it| match &it.value {
            Aggregated::Count => format!("count {}", it.count),
            it @ (Aggregated::Sum(_)
            | Aggregated::Max(_)
            | Aggregated::Min(_)
            | Aggregated::Collect(_)) => it.to_string(),
        });
        let result = Figure::of("result", result.map_or(Reading::Unknown, Reading::Text));
        let are_ids = self.setup.values == Values::IDS;
        match (self.card.terms, self.setup.aggregate) {
            (Terms::Termination, _) => [sum.labelled("sum of the workers' numbers"), result],
            (Terms::Traversal, Aggregate::Sum) if are_ids => {
                [sum.labelled("sum of their numbers"), result]
            }
            (Terms::Traversal, Aggregate::Sum) => [sum.labelled("sum of their values"), result],
            (Terms::Traversal, Aggregate::Count) => [sum, result],
            (Terms::Traversal, Aggregate::Max | Aggregate::Min) => {
                [sum, result.labelled("of their values")]
            }
            (Terms::Traversal, Aggregate::Collect) => [sum, result.labelled("values by node")],
        }
    }
}

impl Scene for Scenario {
    fn about(&self) -> About {
        self.card.about()
    }
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn between(&self) -> &Environment {
        &self.environment
    }
    fn total(&self) -> u64 {
        u64::from(self.setup.group.size())
    }
    fn title(&self) -> String {
        "wave".to_owned()
    }
    /// There are none: initiator and topology are part of the set-up.
    fn own_options(&self, _net: bool) -> String {
        String::new()
    }
    fn page(&self) -> String {
        let asked = Setup { topology: self.asked.clone(), ..self.setup.clone() };
        format!("{}: {} {}", self.title(), asked.text(self.card.takes), self.environment.page())
    }
    fn own_head(&self, _net: bool) -> Vec<(&'static str, Value)> {
        vec![
            ("topology", json!(self.asked.to_string())),
            ("initiator", json!(self.setup.initiator)),
        ]
    }
}
