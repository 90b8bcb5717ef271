//! All algorithms of all problems, as objects of one type: what a run, a comparison or a check knows
//! of an algorithm.

mod erased_algorithm;
mod worker;

use std::path::Path;
use std::sync::LazyLock;

use vorrang_algorithms::card::About;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::wave::Wave;

use self::erased_algorithm::Of;
use crate::failure::Failure;
use crate::figures::Measured;
use crate::network::worker::Work;
use crate::network::{Future, OverTcp, Place};
use crate::options::RunArgs;
use crate::options::axis::Axis;
use crate::problem::{Driven, Kinds, Posts, Role, Seen, Subject, SubjectOf};
use crate::progress::Progress;

pub use worker::work;

/// An algorithm, and it with each of its known mistakes.
pub struct Entry {
    pub algorithm: Box<dyn Algorithm>,
    /// The algorithm as it should be, for the checker and for a stage.
    pub correct: Box<dyn Subject>,
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
        add::<Grouping>(&mut all);
        all
    });
    &CATALOGUE
}

/// Adds the algorithms of a problem, each with its mistakes, which follow it in the catalogue.
fn add<Q: Driven + OverTcp>(all: &mut Vec<Entry>) {
    for any in Q::entries() {
        match (any.flaw, all.last_mut()) {
            (Some(flaw), Some(entry)) => entry.flawed.push((flaw, Box::new(SubjectOf(any)))),
            (None, _) | (_, None) => {
                let (algorithm, correct) = (Box::new(Of { any }), Box::new(SubjectOf(any)));
                all.push(Entry { algorithm, correct, flawed: Vec::new() });
            }
        }
    }
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
