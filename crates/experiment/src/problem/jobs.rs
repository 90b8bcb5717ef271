//! What the drivers must know of a problem to run any algorithm of it: a trait a job.

use std::fmt;
use std::time::Duration;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::Node;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_catalogue::{self as any, Catalogued, NodeOf};
use vorrang_check as check;
use vorrang_draw::Look;
use vorrang_protocol::{Monitor, NodeId};
use vorrang_sim::Workload;
use vorrang_trace::{Header, Meter};

use super::nodes::Nodes;
use super::observation::{Activity, ApplicationEvent, InitialRoles, Role};
use super::remarks::Remarks;
use super::scene::Scene;
use crate::failure::Failure;
use crate::figures::Figure;
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::options::command_line::CommandLine;

/// What is compared.
pub trait Compared: Catalogued {
    /// Two settings that show what costs depend on, with what they are called; and what both have
    /// in common.
    fn extremes(card: &'static Card<Self>, setup: &Setup) -> Result<Extremes<Self>, Unfit>;
    /// The option of a run, and its values, that a comparison goes through if nothing is said.
    fn contrast(card: &'static Card<Self>) -> Axis;
}

/// Two settings to give costs for: what they have in common, and each with its name.
pub struct Extremes<Q: Problem> {
    /// What they have in common, as it would have to be typed.
    pub common: String,
    /// Each with its name.
    pub settings: [(&'static str, Q::Setting); 2],
}

impl<Q: Problem> fmt::Debug for Extremes<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extremes").field("common", &self.common).finish_non_exhaustive()
    }
}

/// What runs in the simulator, and what is measured there.
pub trait Simulated: Catalogued + vorrang_workload::Simulated {
    /// What a run is a run of.
    type Scenario: Scene;
    /// What a run with these options is a run of, if they fit together and fit the algorithm.
    fn scenario(card: &'static Card<Self>, args: &RunArgs) -> Result<Self::Scenario, Failure>;
    /// What must hold in a run.
    fn monitor(scenario: &Self::Scenario) -> Self::Monitor;
    /// What the applications do in a run.
    fn workload(scenario: &Self::Scenario) -> Self::Workload;
    /// The figures of a run, from what its meter has counted.
    fn figures(scenario: &Self::Scenario, summary: &SummaryOf<Self>) -> Vec<Figure>;
    /// What is wrong with a run besides what the monitor says.
    fn complaint(_scenario: &Self::Scenario, _summary: &SummaryOf<Self>) -> Option<String> {
        None
    }
    /// What was to be done and was not, though nobody is owed anything.
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
}

/// What the meter of a problem's runs comes to.
pub type SummaryOf<Q> = <<<Q as vorrang_workload::Simulated>::Workload as Workload<
    <Q as Problem>::Command,
    <Q as Problem>::Notice,
>>::Meter as Meter<<Q as Problem>::Command, <Q as Problem>::Notice>>::Summary;

/// What faults strike.
pub trait Faulted: Simulated {
    /// What a node may be to the others when it crashes; first, if nothing else is known of it.
    const ROLES: &'static [Role];
    /// Some short runs of so many nodes that show all that an algorithm does.
    fn trials(card: &'static Card<Self>, nodes: u32) -> Vec<RunArgs>;
    /// What a node does from now on, if this changes it.
    fn activity(said: ApplicationEvent<'_, Self::Command, Self::Notice>) -> Option<Activity>;
    /// Who coordinates, and which messages carry a token.
    fn posts(_scenario: &Self::Scenario) -> InitialRoles {
        InitialRoles::default()
    }
}

/// What is drawn.
pub trait Drawn: Faulted {
    /// What something that a node is asked or tells looks like: by default, as what it then does.
    fn look(at: NodeId, said: ApplicationEvent<'_, Self::Command, Self::Notice>) -> Look {
        Self::activity(said).map_or_else(Look::default, |doing| doing.look(at))
    }
    /// The kinds of messages that carry a token.
    fn tokens(_card: &'static Card<Self>) -> &'static [&'static str] {
        &[]
    }
}

/// What the checker explores.
pub trait Checked: Catalogued {
    /// What must hold there.
    type Watch: Monitor<Command = Self::Command, Notice = Self::Notice>;
    /// What these options ask of an algorithm, or of it with a mistake.
    fn question(
        card: &'static Card<Self>,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure>;
}

/// What is to be explored.
pub struct Question<Q: Checked> {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// What the applications ask.
    pub plan: check::Plan<Q::Command>,
    /// What must hold.
    pub monitor: Q::Watch,
    /// What lies between the nodes.
    pub links: check::Links,
    /// What may go wrong.
    pub faults: check::Faults,
    /// Whether nobody may wait for ever in any fair run.
    pub fair: bool,
    /// The names of what must hold.
    pub properties: Vec<String>,
    /// Which nodes and which surroundings the answer is about, in words.
    pub covers: String,
    /// What a reader should know of what was asked.
    pub remarks: Remarks,
    /// What would have to be typed to ask exactly this again.
    pub line: CommandLine,
}

impl<Q: Checked> fmt::Debug for Question<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("line", &self.line).finish_non_exhaustive()
    }
}

/// What is driven step by step.
pub trait Stepped: Checked {
    /// What must hold: all that is promised, and what the flaw takes away.
    fn staged(card: &'static Card<Self>, setup: &Setup, flaw: Option<&str>) -> Self::Watch;
    /// All that an application does for one request; nothing if it never asks.
    fn turn(card: &'static Card<Self>, setup: &Setup, at: NodeId)
    -> Vec<check::Ask<Self::Command>>;
    /// What else can be asked of nodes, besides what a request takes.
    fn offers(_card: &'static Card<Self>, _setup: &Setup) -> Vec<Self::Command> {
        Vec::new()
    }
    /// How many more requests a node can make after these moves, if so many are wanted.
    fn turns_left(_moves: &[String], wanted: u32) -> u32 {
        wanted
    }
}

/// What runs over a real network, where nodes are told something once.
pub trait Networked: Simulated {
    /// What which nodes are told, and until when.
    fn told(scenario: &Self::Scenario) -> (Vec<(NodeId, Self::Command)>, Until);
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
