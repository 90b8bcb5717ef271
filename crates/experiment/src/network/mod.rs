//! A scenario over real TCP on loopback: all nodes in this process, or a process a node.

mod kills;
mod link_proxies;
mod local;
mod lock;
mod member_on_views;
mod once;
mod processes;
mod turns;
mod views;
pub mod worker;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::{self, Mutex};
use vorrang_algorithms::registry::Recipe;
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::NodeOf;
use vorrang_protocol::{NodeId, Protocol};
use vorrang_trace::{Record, What};

use self::worker::{Work, WorkerSetup};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::problem::{GuardedNodes, Scene, Simulated};
use crate::progress::Progress;
use crate::tracefile::Keep;

/// Where the nodes run, and the receiver of progress reports.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// In which processes.
    pub at: Processes,
    /// Told how many entries have been made.
    pub progress: Option<Progress<'a>>,
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("at", &self.at).finish_non_exhaustive()
    }
}

/// In which processes nodes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Processes {
    /// All in this one.
    One,
    /// Each in one of its own: this program once more, told `worker`.
    OneEach,
}

impl Processes {
    /// The options that say so, as they would have to be typed.
    pub const fn typed(self) -> &'static str {
        match self {
            Self::One => " --net",
            Self::OneEach => " --net --processes",
        }
    }
}

/// The work of a worker, to its end.
pub type Future<'a> = Pin<Box<dyn std::future::Future<Output = Result<(), Failure>> + 'a>>;

/// A problem that runs over TCP.
pub trait OverTcp: Simulated {
    /// Runs a scenario, and keeps it where that is wanted.
    fn over_tcp(
        scenario: &Self::Scenario,
        made: &GuardedNodes<Self>,
        place: Place<'_>,
        keep: Keep<'_>,
    ) -> Result<Measured, Failure>;
    /// The work of a process that is one node of a run.
    fn work(
        card: &'static Card<Self>,
        recipe: &Recipe<NodeOf<Self>>,
        work: Work,
    ) -> Future<'static>;
}

/// Says by which run and by which worker the algorithms of a problem go over TCP.
macro_rules! over_tcp {
    ($run:path, $work:path: $($problem:ty),*) => {$(
        impl OverTcp for $problem {
            fn over_tcp(
                scenario: &Self::Scenario,
                made: &GuardedNodes<Self>,
                place: Place<'_>,
                keep: Keep<'_>,
            ) -> Result<Measured, Failure> {
                $run(scenario, made, place, keep)
            }
            fn work(
                card: &'static Card<Self>,
                recipe: &Recipe<NodeOf<Self>>,
                work: Work,
            ) -> Future<'static> {
                $work(work, card, recipe)
            }
        }
    )*};
}

over_tcp!(run_lock, worker::take_turns: Mutex);

fn run_lock(
    scenario: &<Mutex as Simulated>::Scenario,
    made: &GuardedNodes<Mutex>,
    place: Place<'_>,
    keep: Keep<'_>,
) -> Result<Measured, Failure> {
    match &scenario.views {
        Some(on_views) => views::run(scenario, (on_views, made), place, keep),
        None => lock::run(scenario, made, place, keep),
    }
}

over_tcp!(once::run, worker::be_told: Election, Wave, Detection, Multicast, GroupCommunication);

/// The set-up of a process as a node of a scenario, without the start of its clock.
fn orders(scene: &impl Scene, id: NodeId) -> WorkerSetup {
    let about = scene.about();
    WorkerSetup {
        algorithm: about.name.to_owned(),
        setup: scene.setup().text(about.takes),
        id: id.0,
        shift: None,
        seed: scene.seed(),
        epoch_ns: 0,
        listen: None,
        returns: kills::restarts(scene),
        tells_at_once: !kills::planned(scene).is_empty(),
        views: None,
    }
}

/// Sees to it that so many nodes have room in this process: both ends of every connection are here.
fn make_room(nodes: u32) -> Result<(), Failure> {
    let nodes = u64::from(nodes);
    vorrang_net::reserve_files(nodes * nodes).map_err(|why| {
        Failure::World(format!("{nodes} nodes in one process: {why}, or give --processes"))
    })
}

/// One thread for all nodes of a process: then a hand-over wakes no other thread.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The reports of a node's application.
#[derive(Clone, PartialEq, Eq, Debug)]
enum News {
    /// It has done what it was to do, and will not ask again by itself.
    Done(NodeId),
    /// It has entered, if it is to tell that.
    Entered(NodeId),
    /// It cannot go on.
    Failed(NodeId, String),
    /// Its process has gone.
    Gone(NodeId),
}

/// Nodes whose messages can be counted, wherever they run.
trait Counted {
    /// Messages sent and messages handled so far, over all nodes.
    async fn counts(&mut self) -> Result<(u64, u64), Failure>;
    /// Kills a node, where it can be: its messages count no more.
    async fn kill(&mut self, node: NodeId) -> Result<(), Failure>;
    /// Starts a killed node again, without its memory.
    async fn restart(&mut self, node: NodeId) -> Result<(), Failure>;
}

/// Nodes of a lock that can be told to ask, wherever they run.
trait Nodes: Counted {
    /// Tells a node's application to take a turn.
    async fn ask(&mut self, node: NodeId, command: mutex::Command) -> Result<(), Failure>;
}

/// Waits until every message that was sent has been handled. Handling one may send another, so the
/// count must hold still once.
async fn settle(nodes: &mut impl Counted) -> Result<(), Failure> {
    let mut last = None;
    loop {
        let counts = nodes.counts().await?;
        if counts.0 == counts.1 && last == Some(counts) {
            return Ok(());
        }
        if last == Some(counts) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        last = Some(counts);
    }
}

/// How many things happened to nodes.
fn events<P: Protocol>(records: &[Record<P>]) -> u64 {
    let is_event = |record: &&Record<P>| {
        matches!(record.what, What::Command(_) | What::Receive { .. } | What::Timer(_))
    };
    records.iter().filter(is_event).count() as u64
}
