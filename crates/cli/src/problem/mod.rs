//! Problems and algorithms as the commands see them.
//!
//! A [`Problem`] says, in types, what the drivers must know to run any algorithm of its class: what
//! the applications do, what must hold, what is measured. An [`Algorithm`] is one algorithm of any
//! class with its types gone: each driver is compiled once for it, here, and every command calls
//! that. So commands know neither classes nor algorithms, and a further command costs nothing to
//! compile.

pub(crate) mod election;
pub(crate) mod mutex;
mod simulate;
mod verify;

use std::fmt::Display;
use std::path::Path;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::LazyLock;

use indicatif::ProgressBar;
use vorrang_algorithms as algorithms;
use vorrang_algorithms::card::{About, Mistake, Setup};
use vorrang_algorithms::registry::{self, Node, Recipe, Register};
use vorrang_check as check;
use vorrang_protocol::{Data, Monitor, Protocol};
use vorrang_sim::{Faults, Network, Workload};
use vorrang_trace::Meter;

use crate::commands::check::CheckArgs;
use crate::commands::node::Served;
use crate::failure::Failure;
use crate::figures::{Figure, Measured};
use crate::network::Place;
use crate::network::worker::Work;
use crate::options::RunArgs;

pub(crate) use verify::Query;

/// A class of problems: what the drivers must know to run any algorithm of it.
pub(crate) trait Problem: Sized + 'static {
    type Command: Data + Display + FromStr<Err = String>;
    type Notice: Data + Display;
    /// What an algorithm says of itself.
    type Card: Sync + 'static;

    fn about(card: &'static Self::Card) -> About;
    fn mistakes(card: &'static Self::Card) -> Vec<Mistake>;
    /// What the theory says for so many nodes, as a table.
    fn costs(card: &'static Self::Card, nodes: u32) -> Vec<Vec<String>>;
    /// The option of a run, and its values, that a comparison goes through if nothing is said.
    const CONTRAST: (&'static str, &'static [&'static str]);

    // --- in the simulator
    /// What a run is a run of.
    type Scenario: Scene;
    type Monitor: Monitor<Command = Self::Command, Notice = Self::Notice>;
    type Workload: Workload<Self::Command, Self::Notice>;
    fn scenario(card: &'static Self::Card, args: &RunArgs) -> Result<Self::Scenario, Failure>;
    fn monitor(scenario: &Self::Scenario) -> Self::Monitor;
    fn workload(scenario: &Self::Scenario) -> Self::Workload;
    fn figures(scenario: &Self::Scenario, summary: &SummaryOf<Self>) -> Vec<Figure>;
    /// What is wrong with a run besides what the monitor says.
    fn complaint(_scenario: &Self::Scenario, _summary: &SummaryOf<Self>) -> Option<String> {
        None
    }

    // --- in the checker
    /// What must hold there.
    type Watch: Monitor<Command = Self::Command, Notice = Self::Notice>;
    fn question(
        card: &'static Self::Card,
        flaw: Option<&str>,
        args: &CheckArgs,
    ) -> Result<Question<Self>, Failure>;

    // --- over the network
    /// What a node that leaves the group says before, if it can.
    fn farewell() -> Option<Self::Command> {
        None
    }
    /// What a person is told of a command that was obeyed and has no other answer.
    fn obeyed(_command: &Self::Command) -> Option<&'static str> {
        None
    }
    fn over_tcp<P>(
        _card: &'static Self::Card,
        _scenario: &Self::Scenario,
        _node: Node<P>,
        _place: Place,
        _trace: Option<&Path>,
    ) -> Result<Measured, Failure>
    where
        P: Protocol<Command = Self::Command, Notice = Self::Notice>,
    {
        Err(Failure::usage("--net does not know yet what to do with this problem"))
    }
    fn work<P>(_card: &'static Self::Card, _recipe: Recipe<P>, _work: Work) -> Future<'static>
    where
        P: Protocol<Command = Self::Command, Notice = Self::Notice>,
    {
        Box::pin(async { Err(Failure::usage("--net does not know yet what to do here")) })
    }
}

pub(crate) type SummaryOf<Q> = <<<Q as Problem>::Workload as Workload<
    <Q as Problem>::Command,
    <Q as Problem>::Notice,
>>::Meter as Meter<<Q as Problem>::Command, <Q as Problem>::Notice>>::Summary;

/// What every run has, whatever the problem.
pub(crate) trait Scene: Clone + Send + Sync + 'static {
    fn setup(&self) -> Setup;
    fn network(&self) -> Network;
    fn faults(&self) -> Option<Faults>;
    fn seed(&self) -> u64;
    /// How far the run goes, as its meter counts it.
    fn total(&self) -> u64;
    /// What would have to be typed, in one line.
    fn options(&self) -> String;
    /// What it is called on a page of a comparison, without the seed.
    fn page(&self) -> String;
    /// What the run's figures begin with.
    fn head(&self) -> Vec<(&'static str, serde_json::Value)>;
}

/// What is to be explored.
pub(crate) struct Question<Q: Problem> {
    pub(crate) setup: Setup,
    pub(crate) plan: check::Plan<Q::Command>,
    pub(crate) monitor: Q::Watch,
    pub(crate) links: check::Links,
    pub(crate) faults: check::Faults,
    /// The names of what must hold.
    pub(crate) properties: Vec<&'static str>,
    /// What would have to be typed to ask exactly this again.
    pub(crate) line: String,
}

pub(crate) type Future<'a> = Pin<Box<dyn std::future::Future<Output = Result<(), Failure>> + 'a>>;

/// Something that can be checked: an algorithm, or one with a mistake.
pub(crate) trait Subject: Send + Sync {
    fn question(&self, args: &CheckArgs) -> Result<Query, Failure>;
}

/// An algorithm, with its types gone.
pub(crate) trait Algorithm: Subject {
    fn about(&self) -> About;
    fn mistakes(&self) -> Vec<Mistake>;
    fn costs(&self, nodes: u32) -> Vec<Vec<String>>;
    fn contrast(&self) -> (&'static str, &'static [&'static str]);
    fn run(&self, args: &RunArgs) -> Result<Box<dyn Run>, Failure>;
    fn serve(&self, setup: &Setup, node: Served) -> Result<Future<'static>, Failure>;
    fn work(&self, work: Work) -> Future<'static>;
}

/// A run of an algorithm that has been decided on.
pub(crate) trait Run: Send + Sync {
    fn about(&self) -> About;
    fn options(&self) -> String;
    fn page(&self) -> String;
    fn total(&self) -> u64;
    /// The figures of a run that has not begun: what all others have, too.
    fn blank(&self) -> Result<Measured, Failure>;
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<&ProgressBar>,
    ) -> Result<Measured, Failure>;
    fn over_tcp(&self, place: Place, trace: Option<&Path>) -> Result<Measured, Failure>;
}

/// An algorithm while its types are known.
struct Of<Q: Problem, P> {
    card: &'static Q::Card,
    flaw: Option<String>,
    recipe: Recipe<P>,
}

impl<Q, P> Subject for Of<Q, P>
where
    Q: Problem,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn question(&self, args: &CheckArgs) -> Result<Query, Failure> {
        let question = Q::question(self.card, self.flaw.as_deref(), args)?;
        let node = make(self.recipe, &question.setup)?;
        Ok(verify::query::<Q, P>(question, &node, args))
    }
}

impl<Q, P> Algorithm for Of<Q, P>
where
    Q: Problem,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn about(&self) -> About {
        Q::about(self.card)
    }
    fn mistakes(&self) -> Vec<Mistake> {
        Q::mistakes(self.card)
    }
    fn costs(&self, nodes: u32) -> Vec<Vec<String>> {
        Q::costs(self.card, nodes)
    }
    fn contrast(&self) -> (&'static str, &'static [&'static str]) {
        Q::CONTRAST
    }
    fn run(&self, args: &RunArgs) -> Result<Box<dyn Run>, Failure> {
        let scenario = Q::scenario(self.card, args)?;
        let node = make(self.recipe, &scenario.setup())?;
        Ok(Box::new(RunOf::<Q, P> { card: self.card, scenario, node }))
    }
    fn serve(&self, setup: &Setup, node: Served) -> Result<Future<'static>, Failure> {
        let make = make(self.recipe, setup)?;
        Ok(crate::commands::node::serve::<Q, P>(node, &make))
    }
    fn work(&self, work: Work) -> Future<'static> {
        Q::work(self.card, self.recipe, work)
    }
}

struct RunOf<Q: Problem, P> {
    card: &'static Q::Card,
    scenario: Q::Scenario,
    node: Node<P>,
}

impl<Q, P> Run for RunOf<Q, P>
where
    Q: Problem,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn about(&self) -> About {
        Q::about(self.card)
    }
    fn options(&self) -> String {
        self.scenario.options()
    }
    fn page(&self) -> String {
        self.scenario.page()
    }
    fn total(&self) -> u64 {
        self.scenario.total()
    }
    fn blank(&self) -> Result<Measured, Failure> {
        simulate::simulate::<Q, P>(self.card, &self.scenario, &self.node, None, None, true)
    }
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<&ProgressBar>,
    ) -> Result<Measured, Failure> {
        simulate::simulate::<Q, P>(self.card, &self.scenario, &self.node, trace, bar, false)
    }
    fn over_tcp(&self, place: Place, trace: Option<&Path>) -> Result<Measured, Failure> {
        Q::over_tcp(self.card, &self.scenario, self.node.clone(), place, trace)
    }
}

fn make<P>(recipe: Recipe<P>, setup: &Setup) -> Result<Node<P>, Failure> {
    recipe(setup).map_err(|unfit| Failure::Usage(unfit.0))
}

/// An algorithm, and it with each of its known mistakes.
pub(crate) struct Entry {
    pub(crate) algorithm: Box<dyn Algorithm>,
    pub(crate) flawed: Vec<(String, Box<dyn Subject>)>,
}

/// All algorithms, in the order of the catalogue.
pub(crate) fn catalogue() -> &'static [Entry] {
    static CATALOGUE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let mut catalogue = Catalogue(Vec::new());
        registry::register(&mut catalogue);
        catalogue.0
    });
    &CATALOGUE
}

struct Catalogue(Vec<Entry>);

impl Catalogue {
    fn add<Q, P>(&mut self, card: &'static Q::Card, recipe: Recipe<P>)
    where
        Q: Problem,
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let of = Of::<Q, P> { card, flaw: None, recipe };
        self.0.push(Entry { algorithm: Box::new(of), flawed: Vec::new() });
    }

    fn add_flawed<Q, P>(&mut self, card: &'static Q::Card, flaw: &str, recipe: Recipe<P>)
    where
        Q: Problem,
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let of = Of::<Q, P> { card, flaw: Some(flaw.to_owned()), recipe };
        self.file(Q::about(card).name, flaw, Box::new(of));
    }

    fn file(&mut self, name: &str, flaw: &str, subject: Box<dyn Subject>) {
        let entry = self.0.iter_mut().find(|it| it.algorithm.about().name == name);
        let entry = entry.expect("an algorithm comes before its mistakes");
        entry.flawed.push((flaw.to_owned(), subject));
    }
}

impl Register for Catalogue {
    fn mutex<P>(&mut self, card: &'static algorithms::mutex::Card, recipe: Recipe<P>)
    where
        P: Protocol<Command = algorithms::mutex::Command, Notice = algorithms::mutex::Notice>,
    {
        self.add::<mutex::Mutex, P>(card, recipe);
    }
    fn flawed_mutex<P>(
        &mut self,
        card: &'static algorithms::mutex::Card,
        flaw: &str,
        recipe: Recipe<P>,
    ) where
        P: Protocol<Command = algorithms::mutex::Command, Notice = algorithms::mutex::Notice>,
    {
        self.add_flawed::<mutex::Mutex, P>(card, flaw, recipe);
    }

    fn election<P>(&mut self, card: &'static algorithms::election::Card, recipe: Recipe<P>)
    where
        P: Protocol<Command = algorithms::election::Command, Notice = algorithms::election::Notice>,
    {
        self.add::<election::Election, P>(card, recipe);
    }
    fn flawed_election<P>(
        &mut self,
        card: &'static algorithms::election::Card,
        flaw: &str,
        recipe: Recipe<P>,
    ) where
        P: Protocol<Command = algorithms::election::Command, Notice = algorithms::election::Notice>,
    {
        self.add_flawed::<election::Election, P>(card, flaw, recipe);
    }
}
