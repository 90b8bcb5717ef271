//! The traits by which drivers run any algorithm of a problem: one for each job.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use vorrang_algorithms::card::{Card, Quantity, Span};
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::Node;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_catalogue::{self as any, Catalogued, NodeOf};
use vorrang_check as check;
use vorrang_draw::Look;
use vorrang_protocol::{NodeId, NodeSet, Transition};
use vorrang_sim::Workload;
use vorrang_trace::{Header, Meter, Recording};
use vorrang_workload::Explored;

use super::nodes::Nodes;
use super::observation::{Activity, ApplicationEvent, InitialRoles, Role};
use super::question::Question;
use super::retrace::{Retraced, Watching};
use super::scene::Scene;
use super::staged::Staged;
use super::survives::Survives;
use super::verify::Query;
use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;

/// Comparison.
pub trait Compared: Catalogued {
    /// Two settings that show what costs depend on, with what they are called; and what both have
    /// in common.
    fn extremes(card: &'static Card<Self>, setup: &Setup) -> Result<Extremes<Self>, Unfit>;
    /// Quantities that follow from those on the card, and how.
    const DERIVED: &'static [Derived<Self>] = &[];
    /// The option of a run, and its values, that a comparison goes through if nothing is said.
    fn contrast(card: &'static Card<Self>) -> Axis;
}

/// A quantity that follows from those on a card, and how.
pub type Derived<Q> = (Quantity, fn(&Card<Q>, &<Q as Problem>::Setting) -> Option<Span>);

/// Two settings to give costs for: what they have in common, and each with its name.
pub struct Extremes<Q: Problem> {
    /// Their common options, as they would be typed.
    pub common: String,
    /// Each with its name.
    pub settings: [(&'static str, Q::Setting); 2],
}

impl<Q: Problem> fmt::Debug for Extremes<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extremes").field("common", &self.common).finish_non_exhaustive()
    }
}

/// Simulation, and its measurements.
pub trait Simulated: Catalogued + vorrang_workload::Simulated {
    /// The scenario of a run.
    type Scenario: Scene;
    /// The scenario of these options, if they fit together and fit the algorithm.
    fn scenario(card: &'static Card<Self>, args: &RunArgs) -> Result<Self::Scenario, Failure>;
    /// The monitor of a run.
    fn monitor(scenario: &Self::Scenario) -> Self::Monitor;
    /// The workload of a run.
    fn workload(scenario: &Self::Scenario) -> Self::Workload;
    /// The figures of a run, from what its meter has counted.
    fn figures(scenario: &Self::Scenario, summary: &SummaryOf<Self>) -> Vec<Figure>;
    /// Violations of a run besides those of the monitor.
    fn complaint(_scenario: &Self::Scenario, _summary: &SummaryOf<Self>) -> Option<String> {
        None
    }
    /// Work that was not done, though there is no open obligation.
    fn undone(_scenario: &Self::Scenario, _summary: &SummaryOf<Self>) -> Option<String> {
        None
    }
    /// The nodes of a run on views, if it is one.
    fn on_views(
        _of: &any::Entry<Self>,
        _scenario: &Self::Scenario,
    ) -> Result<Option<Nodes<Self>>, Failure> {
        Ok(None)
    }
    /// The nodes of a recorded run on views, and how they were set up.
    fn again_on_views(
        _of: &any::Entry<Self>,
        _header: &Header,
    ) -> Result<Option<Node<NodeOf<Self>>>, Failure> {
        Ok(None)
    }
    /// Replays a recorded run whose nodes take other commands than those of the problem, as where
    /// they are told whom to suspect, if it is one.
    fn retrace_told(
        _of: &any::Entry<Self>,
        _run: &Recording,
        _watch: Watching<'_>,
    ) -> Result<Option<Retraced>, Failure> {
        Ok(None)
    }
}

/// The summary of a problem's meter.
pub type SummaryOf<Q> = <<<Q as vorrang_workload::Simulated>::Workload as Workload<
    <Q as Problem>::Command,
    <Q as Problem>::Notice,
>>::Meter as Meter<<Q as Problem>::Command, <Q as Problem>::Notice>>::Summary;

/// Fault injection.
pub trait Faulted: Simulated {
    /// The roles of a node when it crashes; the first is the default.
    const ROLES: &'static [Role];
    /// What an algorithm claims to survive by itself.
    fn survives(_card: &'static Card<Self>, _setup: &Setup) -> Survives {
        Survives::NOTHING
    }
    /// Some short runs of so many nodes that show all that an algorithm does.
    fn trials(card: &'static Card<Self>, nodes: u32) -> Vec<RunArgs>;
    /// The new activity of a node, if this changes it.
    fn activity(said: ApplicationEvent<'_, Self::Command, Self::Notice>) -> Option<Activity>;
    /// The coordinators, and the kinds of messages that carry a token.
    fn posts(_scenario: &Self::Scenario) -> InitialRoles {
        InitialRoles::default()
    }
}

/// Drawing.
pub trait Drawn: Faulted {
    /// The appearance of a command or a notice: by default, of the activity that follows.
    fn look(at: NodeId, said: ApplicationEvent<'_, Self::Command, Self::Notice>) -> Look {
        Self::activity(said).map_or_else(Look::default, |doing| doing.look(at))
    }
    /// The kinds of messages that carry a token.
    fn tokens(_card: &'static Card<Self>) -> &'static [&'static str] {
        &[]
    }
    /// The kinds of messages that only say that their sender is up, of nodes on views or not.
    fn beats(_card: &'static Card<Self>, _on_views: bool) -> &'static [&'static str] {
        &[]
    }
}

/// Model checking.
pub trait Checked: Catalogued + Explored {
    /// The question of these options about an algorithm, or about it with a mistake.
    fn question(
        card: &'static Card<Self>,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure>;

    /// The question about the algorithm on views, if that is what was asked.
    fn question_on_views(_: &any::Entry<Self>, _: &CheckArgs) -> Result<Option<Query>, Failure> {
        Ok(None)
    }

    /// What is asked about the past, which nodes must remember for that.
    fn asks_of_the_past(_: &CheckArgs) -> Option<Past<'_>> {
        None
    }

    /// Why entries have no order of stamps, if those of the algorithm are not compared.
    fn why_unstamped(_: &'static Card<Self>, _: &Setup) -> &'static str {
        "there are no stamps"
    }
}

/// Questions for which nodes must remember what the algorithm has no use for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Past<'a> {
    /// Whether entries are in the order of stamps.
    Stamps,
    /// Whether these lemmas hold.
    Lemmas(&'a [String]),
}

/// Stepping.
pub trait Stepped: Checked {
    /// The monitor: all promises, and those that the flaw breaks.
    fn staged(card: &'static Card<Self>, setup: &Setup, flaw: Option<&str>) -> Self::Watch;
    /// The algorithm on views on a stage, if that is what was asked.
    fn staged_on_views(
        _: &any::Entry<Self>,
        _: &CheckArgs,
    ) -> Result<Option<Box<dyn Staged>>, Failure> {
        Ok(None)
    }
    /// All that an application does for one request; nothing if it never asks.
    fn turn(card: &'static Card<Self>, setup: &Setup, at: NodeId)
    -> Vec<check::Ask<Self::Command>>;
    /// Commands besides requests.
    fn offers(_card: &'static Card<Self>, _setup: &Setup) -> Vec<Self::Command> {
        Vec::new()
    }
    /// How many more requests a node can make after these steps, if so many are wanted.
    fn turns_left(_steps: &[Transition<NodeOf<Self>>], wanted: u32) -> u32 {
        wanted
    }
}

/// Runs over a real network, where nodes get one command each.
pub trait Networked: Simulated {
    /// The commands of nodes, and until when to run.
    fn told(scenario: &Self::Scenario) -> (Vec<(NodeId, Self::Command)>, Until);
    /// The commands that nodes get later, and when.
    fn later(_scenario: &Self::Scenario) -> Vec<(Duration, NodeId, Self::Command)> {
        Vec::new()
    }
    /// The command of the application of a node that was started again by then.
    fn again(_: &Self::Scenario, _node: NodeId, _by: Duration) -> Option<Self::Command> {
        None
    }
    /// Whether all is as it is to be in the end if these nodes are up and were last told this: then
    /// a run in which messages go on for ever need not go on.
    fn is_settled(_up: &NodeSet, _last: &BTreeMap<NodeId, Self::Notice>) -> bool {
        false
    }
    /// The figures of such a run, with times in microseconds.
    fn net_figures(scenario: &Self::Scenario, summary: &SummaryOf<Self>) -> Vec<Figure>;
}

/// When all that comes of what nodes were told has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// When no message is under way.
    Quiet,
    /// Then, and not before every node has told its application something: timers may still run.
    Told,
    /// Never: after so long they are stopped.
    Over(Duration),
}

/// A problem that all drivers know, but for a real network.
pub trait ProblemDriver: Compared + Drawn + Stepped {}

impl<Q: Compared + Drawn + Stepped> ProblemDriver for Q {}
