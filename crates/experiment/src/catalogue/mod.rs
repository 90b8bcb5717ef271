//! All algorithms of all problems, as objects of one type: what a run, a comparison or a check
//! knows of an algorithm.

mod erased_algorithm;
mod worker;

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use vorrang_algorithms::card::{About, Quantity};
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::wave::Wave;
use vorrang_trace::Recording;

use self::erased_algorithm::ErasedAlgorithm;
use crate::failure::Failure;
use crate::figures::Measured;
use crate::network::worker::Work;
use crate::network::{Future, OverTcp, Place};
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::problem::{
    InitialRoles, Kinds, Observation, ProblemDriver, Role, Subject, SubjectOf, Survives,
};
use crate::progress::Progress;
use crate::tracefile::Keep;

pub use worker::work;

/// An algorithm, and it with each of its known mistakes.
#[derive(Debug)]
pub struct Entry {
    /// The algorithm.
    pub algorithm: Box<dyn Algorithm>,
    /// The algorithm as it should be, for the checker and for a stage.
    pub correct: Box<dyn Subject>,
    /// It with each of its known mistakes, by name.
    pub flawed: Vec<(&'static str, Box<dyn Subject>)>,
}

/// All algorithms, in the order of the catalogue.
pub fn catalogue() -> &'static [Entry] {
    static CATALOGUE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let mut all = Vec::new();
        add::<Mutex>(&mut all);
        add::<Election>(&mut all);
        add::<Wave>(&mut all);
        add::<Detection>(&mut all);
        add::<Multicast>(&mut all);
        add::<GroupCommunication>(&mut all);
        all
    });
    &CATALOGUE
}

/// Adds the algorithms of a problem, each with its mistakes, which follow it in the catalogue.
fn add<Q: ProblemDriver + OverTcp>(all: &mut Vec<Entry>) {
    for any in Q::entries() {
        if let (Some(flaw), Some(entry)) = (any.flaw, all.last_mut()) {
            entry.flawed.push((flaw, Box::new(SubjectOf(any))));
        } else {
            let (algorithm, correct) =
                (Box::new(ErasedAlgorithm { any }), Box::new(SubjectOf(any)));
            all.push(Entry { algorithm, correct, flawed: Vec::new() });
        }
    }
}

/// The theory of an algorithm at both ends of the contrast that its problem knows.
#[derive(Clone, Debug)]
pub struct Costs {
    /// What both have in common, as it would be typed.
    pub common: String,
    /// What the two are called.
    pub ends: [&'static str; 2],
    /// A row a quantity.
    pub rows: Vec<CostRow>,
}

/// The theory of a quantity at both ends.
#[derive(Clone, Debug)]
pub struct CostRow {
    /// The quantity.
    pub of: Quantity,
    /// Its theory at each end, with its unit.
    pub spans: [String; 2],
}

impl Costs {
    /// As a table, its header first.
    pub fn cells(self) -> Vec<Vec<String>> {
        let mut header = vec![format!("COSTS WITH {}", self.common)];
        header.extend(self.ends.map(str::to_owned));
        let row = |CostRow { of, spans: [one, other] }| vec![of.name.to_owned(), one, other];
        [header].into_iter().chain(self.rows.into_iter().map(row)).collect()
    }
}

/// An algorithm, with its types gone.
pub trait Algorithm: Send + Sync + fmt::Debug {
    /// Its card.
    fn about(&self) -> About;
    /// The theory, as a table.
    fn costs(&self, setup: &Setup) -> Result<Costs, Failure>;
    /// The option that a comparison goes through if nothing is said of it.
    fn contrast(&self) -> Axis;
    /// A run with these options, if they fit together and fit the algorithm.
    fn run(&self, args: &RunArgs) -> Result<Box<dyn Run>, Failure>;
    /// The roles of a node when it crashes.
    fn roles(&self) -> &'static [Role];
    /// What it claims to survive by itself.
    fn survives(&self, setup: &Setup) -> Survives;
    /// Some short runs of so many nodes that show all that it does.
    fn trials(&self, nodes: u32) -> Vec<RunArgs>;
    /// Runs one node of many, as its parent process says.
    fn work(&self, work: Work) -> Future<'static>;
}

/// A run of an algorithm that has been decided on.
pub trait Run: Send + Sync + fmt::Debug {
    /// The card of the algorithm.
    fn about(&self) -> About;
    /// The options as they would be typed, for the simulator or for a real network.
    fn options(&self, net: bool) -> String;
    /// The heading under which a comparison shows it.
    fn page(&self) -> String;
    /// How far it goes, as its progress is counted.
    fn total(&self) -> u64;
    /// The figures of a run that has not begun: what all others have, too.
    fn blank(&self) -> Result<Measured, Failure>;
    /// Runs it in the simulator, writes a trace if that is wanted, and tells how far it has come.
    fn simulate(
        &self,
        trace: Option<&Path>,
        bar: Option<Progress<'_>>,
    ) -> Result<Measured, Failure>;
    /// Runs it over TCP, and keeps it where that is wanted.
    fn over_tcp(&self, place: Place<'_>, keep: Keep<'_>) -> Result<Measured, Failure>;
    /// Whether a process that was killed may be started again, without its memory.
    fn may_return(&self) -> bool;
    /// As [`simulate`](Self::simulate), and hands back its record, also of a run that ends early
    /// because a node refused a command.
    fn record(&self) -> Result<Recording, Failure>;
    /// As [`simulate`](Self::simulate), with all that happened.
    fn observe(&self) -> Result<(Measured, Vec<Observation>), Failure>;
    /// The names of the kinds of messages.
    fn kinds(&self) -> Kinds;
    /// The coordinators, and the kinds of messages that carry a token.
    fn posts(&self) -> InitialRoles;
}
