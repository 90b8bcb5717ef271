//! Problems and algorithms as the commands see them.
//!
//! A [`Driven`] problem says, in types, what the drivers must know to run any algorithm of it: what
//! the applications do, what must hold, what is measured. An [`Algorithm`] is one algorithm of any
//! problem with its types gone: simulator and network are compiled once for it, here, and every
//! command calls that. What is checked and staged, mistakes among it, is a [`Subject`]: behind it
//! are [nodes of any algorithm](NodeOf), and all of it is compiled once for every problem. So
//! commands know neither problems nor algorithms, and a further command costs nothing to compile.

mod casting;
mod catalogue;
pub mod channels;
mod counterexample;
pub mod detection;
pub mod election;
pub mod election_question;
pub mod group;
pub mod group_question;
mod group_tally;
mod grouping;
mod holder;
pub mod multicast;
pub mod multicast_question;
pub mod mutex;
pub mod mutex_figures;
pub mod mutex_question;
mod mutex_scope;
mod of;
pub mod on_views;
mod remarks;
mod resource;
mod retrace;
mod scene;
mod seen;
mod simulate;
mod staged;
mod subject;
mod suspicion;
mod verify;
pub mod wave;

use std::path::Path;
use std::pin::Pin;

use vorrang_algorithms::card::{About, Card};
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::{Node, Recipe};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_catalogue::{self as any, Catalogued, NodeOf};
use vorrang_check as check;
use vorrang_draw::Look;
use vorrang_net::Steps;
use vorrang_protocol::{Graph, Monitor, Needs, NodeId, Protocol, Refused};
use vorrang_sim::Workload;
use vorrang_trace::{Header, Meter, Recording};

use crate::failure::Failure;
use crate::figures::{Figure, Measured, span};
use crate::network::Place;
use crate::network::worker::{Work, be_told};
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::options::check::CheckArgs;
use crate::progress::Progress;

pub use catalogue::{Entry, catalogue};
use of::Of;
pub use of::{Made, Nodes};
pub use remarks::Remarks;
pub use retrace::{Retraced, Watching, sides};
pub use scene::Scene;
pub use seen::{Doing, Posts, Role, Said, Seen, Sight};
pub use simulate::{Kinds, header, run_header};
pub use staged::{Ahead, Look as Glance, Staged};
use subject::{MadeOf, SubjectOf};
pub use verify::{Looked, Query, Watcher};

/// A problem, and what the drivers must know to run any algorithm of it.
pub trait Driven: Catalogued {
    /// Two settings that show what costs depend on, with what they are called; and what both have
    /// in common.
    fn extremes(card: &'static Card<Self>, setup: &Setup) -> Result<Extremes<Self>, Unfit>;
    /// The option of a run, and its values, that a comparison goes through if nothing is said.
    fn contrast(card: &'static Card<Self>) -> Axis;

    // --- in the simulator
    /// What a run is a run of.
    type Scenario: Scene;
    type Monitor: Monitor<Command = Self::Command, Notice = Self::Notice>;
    type Workload: Workload<Self::Command, Self::Notice>;
    fn scenario(card: &'static Card<Self>, args: &RunArgs) -> Result<Self::Scenario, Failure>;
    fn monitor(scenario: &Self::Scenario) -> Self::Monitor;
    fn workload(scenario: &Self::Scenario) -> Self::Workload;
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

    // --- where things go wrong
    /// What a node may be to the others when it crashes; first, if nothing else is known of it.
    const ROLES: &'static [Role];
    /// Some short runs of so many nodes that show all that an algorithm does.
    fn trials(card: &'static Card<Self>, nodes: u32) -> Vec<RunArgs>;
    /// What a node does from now on, if this changes it.
    fn doing(said: Said<'_, Self::Command, Self::Notice>) -> Option<Doing>;
    fn posts(_scenario: &Self::Scenario) -> Posts {
        Posts::default()
    }

    // --- in pictures
    /// What something that a node is asked or tells looks like: by default, as what it then does.
    fn look(at: NodeId, said: Said<'_, Self::Command, Self::Notice>) -> Look {
        Self::doing(said).map_or_else(Look::default, |doing| doing.look(at))
    }
    /// The kinds of messages that carry a token.
    fn tokens(_card: &'static Card<Self>) -> &'static [&'static str] {
        &[]
    }

    // --- in the checker
    /// What must hold there.
    type Watch: Monitor<Command = Self::Command, Notice = Self::Notice>;
    fn question(
        card: &'static Card<Self>,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure>;

    // --- on a stage
    /// What must hold there: all that is promised, and what the flaw takes away.
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

    // --- over the network
    /// What can be typed at a node, a line each, and what it means.
    const COMMANDS: &'static [(&'static str, &'static str)];
    /// What asks, enters and leaves, if that is what the problem is about: then requests can be
    /// given up, and a node that leaves the group releases what it has.
    fn steps() -> Option<Steps<Self::Command, Self::Notice>> {
        None
    }
    /// What a line means that is none of the words which every node knows, if any line means
    /// something. Then lines are obeyed one after the other, and each waits until the node takes
    /// it.
    fn said(_line: &str) -> Option<Self::Command> {
        None
    }
    /// Whether a command that was refused is to be given again in a while.
    fn waits(_refused: Refused) -> bool {
        false
    }
    /// Whether a node takes more from now on, if this notice says so.
    fn room(_notice: &Self::Notice) -> Option<bool> {
        None
    }
    /// Whom an algorithm needs, to do what it is asked.
    fn needs(card: &'static Card<Self>, setup: &Setup) -> Needs;
    /// What a person is told of a command that was obeyed and has no other answer.
    fn obeyed(_command: &Self::Command) -> Option<&'static str> {
        None
    }
    fn over_tcp(
        scenario: &Self::Scenario,
        _made: &Made<Self>,
        _place: Place,
        _trace: Option<&Path>,
    ) -> Result<Measured, Failure> {
        Err(Failure::usage(format!(
            "--net does not know yet how to measure {}: {} runs in the simulator, in the checker \
             and, by hand, as 'vorrang node --algorithm {}'",
            Self::TITLE,
            scenario.about().name,
            scenario.about().name
        )))
    }
    /// What a process does that is one node of many.
    fn work(
        card: &'static Card<Self>,
        recipe: &Recipe<NodeOf<Self>>,
        work: Work,
    ) -> Future<'static> {
        be_told(work, card, recipe)
    }
}

/// Two settings to give costs for: what they have in common, and each with its name.
pub struct Extremes<Q: Problem> {
    pub common: String,
    pub settings: [(&'static str, Q::Setting); 2],
}

pub type SummaryOf<Q> = <<<Q as Driven>::Workload as Workload<
    <Q as Problem>::Command,
    <Q as Problem>::Notice,
>>::Meter as Meter<<Q as Problem>::Command, <Q as Problem>::Notice>>::Summary;

/// What is to be explored.
pub struct Question<Q: Driven> {
    pub setup: Setup,
    pub plan: check::Plan<Q::Command>,
    pub monitor: Q::Watch,
    pub links: check::Links,
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
    pub line: String,
}

pub type Future<'a> = Pin<Box<dyn std::future::Future<Output = Result<(), Failure>> + 'a>>;

/// Something that can be checked and staged: an algorithm, or one with a mistake.
pub trait Subject: Send + Sync {
    fn question(&self, args: &CheckArgs) -> Result<Query, Failure>;
    fn stage(&self, args: &CheckArgs) -> Result<Box<dyn Staged>, Failure>;
    /// Does a recorded run once more, and shows every node after whatever happened to it.
    fn retrace(&self, run: &Recording, watch: Watching<'_>) -> Result<Retraced, Failure>;
    /// What was asked or told in a recorded run, in words, and what it looks like.
    fn looks(&self, at: NodeId, told: &vorrang_trace::Told) -> Option<(String, Look)>;
    /// The kinds of messages that carry a token.
    fn tokens(&self) -> &'static [&'static str];
}

/// An algorithm, with its types gone.
pub trait Algorithm: Send + Sync {
    fn about(&self) -> About;
    /// What the theory says, as a table.
    fn costs(&self, setup: &Setup) -> Result<Vec<Vec<String>>, Failure>;
    fn contrast(&self) -> Axis;
    fn run(&self, args: &RunArgs) -> Result<Box<dyn Run>, Failure>;
    /// What a node may be to the others when it crashes.
    fn roles(&self) -> &'static [Role];
    /// Some short runs of so many nodes that show all that it does.
    fn trials(&self, nodes: u32) -> Vec<RunArgs>;
    fn work(&self, work: Work) -> Future<'static>;
}

/// A run of an algorithm that has been decided on.
pub trait Run: Send + Sync {
    fn about(&self) -> About;
    fn options(&self, net: bool) -> String;
    fn page(&self) -> String;
    fn total(&self) -> u64;
    /// The figures of a run that has not begun: what all others have, too.
    fn blank(&self) -> Result<Measured, Failure>;
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<Progress<'_>>,
    ) -> Result<Measured, Failure>;
    fn over_tcp(&self, place: Place, trace: Option<&Path>) -> Result<Measured, Failure>;
    /// As [`simulate`](Self::simulate), with all that happened.
    fn observe(&self) -> Result<(Measured, Vec<Seen>), Failure>;
    fn kinds(&self) -> Kinds;
    fn posts(&self) -> Posts;
}

/// How the nodes of an algorithm are made, if it can be set up so.
pub fn make<P: Protocol>(recipe: &Recipe<P>, setup: &Setup) -> Result<Node<P>, Failure> {
    recipe.nodes(setup).map_err(|unfit| Failure::Usage(unfit.0))
}

/// Who can send to whom; none if everyone can send to everyone. Whoever makes a mistake on purpose
/// is not held to the links as well: it may be that applications talk, by whatever way they have.
fn graph<Q: Problem>(
    (card, flaw): (&Card<Q>, Option<&str>),
    setup: &Setup,
) -> Result<Option<Graph>, Failure> {
    if flaw.is_some() {
        return Ok(None);
    }
    card.assumes.layout.graph(setup).map_err(|unfit| Failure::Usage(unfit.0))
}

/// What the theory says of every quantity, at both extremes.
fn costs<Q: Driven>(card: &'static Card<Q>, setup: &Setup) -> Result<Vec<Vec<String>>, Unfit> {
    let Extremes { common, settings } = Q::extremes(card, setup)?;
    let mut header = vec![format!("COSTS WITH {common}")];
    header.extend(settings.iter().map(|(name, _)| (*name).to_owned()));
    let mut rows = vec![header];
    for cost in card.theory {
        let unit = if cost.of.is_time { " T" } else { "" };
        let mut row = vec![cost.of.name.to_owned()];
        row.extend(settings.iter().map(|(_, at)| span((cost.span)(at)) + unit));
        rows.push(row);
    }
    Ok(rows)
}
