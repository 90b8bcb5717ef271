//! A scenario over real TCP on loopback: all nodes in this process, or a process a node.
//!
//! Under heavy load every node's application takes its turns by itself. Under light and burst load
//! this process tells the nodes when to ask, one at a time or all at once, and waits until all is
//! at rest. Afterwards the records of all nodes are merged, judged and measured like a simulated
//! run.

mod kills;
mod local;
mod once;
mod processes;
mod turns;
pub mod worker;

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use vorrang_algorithms::card::Card;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::spec::HappenedBefore;
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_algorithms::registry::Recipe;
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::NodeOf;
use vorrang_net::{Clock, Config, Handle, Log, Starting};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_sim::{FaultCounts, Random, share};
use vorrang_trace::{Measure, Record, Summary, Verdict, What, judge};

use self::kills::{Kills, in_order};
use self::turns::Turns;
use self::worker::{Orders, Shift, Work};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::options::mutex::LoadKind;
use crate::problem::mutex::Scenario;
use crate::problem::mutex::figures::figures;
use crate::problem::{Made, Scene, Simulated, run_header};
use crate::progress::Progress;
use crate::tracefile::{Keep, Tape};

/// Where the nodes run, and who is told how far they have come.
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

/// What a worker does, to its end.
pub type Future<'a> = Pin<Box<dyn std::future::Future<Output = Result<(), Failure>> + 'a>>;

/// A problem that runs over TCP.
pub trait OverTcp: Simulated {
    /// Runs a scenario, and keeps it where that is wanted.
    fn over_tcp(
        scenario: &Self::Scenario,
        made: &Made<Self>,
        place: Place<'_>,
        keep: Keep<'_>,
    ) -> Result<Measured, Failure>;
    /// What a process does that is one node of many.
    fn work(
        card: &'static Card<Self>,
        recipe: &Recipe<NodeOf<Self>>,
        work: Work,
    ) -> Future<'static>;
}

impl OverTcp for Mutex {
    fn over_tcp(
        scenario: &Scenario,
        made: &Made<Self>,
        place: Place<'_>,
        keep: Keep<'_>,
    ) -> Result<Measured, Failure> {
        run(scenario, made, place, keep)
    }
    fn work(
        card: &'static Card<Self>,
        recipe: &Recipe<NodeOf<Self>>,
        work: Work,
    ) -> Future<'static> {
        worker::take_turns(work, card, recipe)
    }
}

macro_rules! told_once {
    ($($problem:ty),*) => {$(
        impl OverTcp for $problem {
            fn over_tcp(
                scenario: &Self::Scenario,
                made: &Made<Self>,
                place: Place<'_>,
                keep: Keep<'_>,
            ) -> Result<Measured, Failure> {
                once::run(scenario, made, place, keep)
            }
            fn work(
                card: &'static Card<Self>,
                recipe: &Recipe<NodeOf<Self>>,
                work: Work,
            ) -> Future<'static> {
                worker::be_told(work, card, recipe)
            }
        }
    )*};
}

told_once!(Election, Wave, Detection, Multicast, Grouping);

/// Runs a scenario over TCP and hands back what came of it, kept where that is wanted.
fn run(
    scenario: &Scenario,
    made: &Made<Mutex>,
    place: Place,
    keep: Keep<'_>,
) -> Result<Measured, Failure> {
    let start = Instant::now();
    let tape = Tape::create(keep)?;
    let records = match place.at {
        Processes::One => {
            let log = Log::new();
            let clock = Clock::start();
            let launch = |config: Config, listener, turns| {
                let machine = (made.node)(config.id);
                let node = vorrang_net::Node::new(machine, config).listener(listener);
                node.record(log.clone(), clock).start_with(turns)
            };
            here(scenario, &launch, place.progress)?;
            log.take()
        }
        Processes::OneEach => {
            let recorded = runtime()?.block_on(async {
                let orders =
                    |id| Orders { shift: Some(shift(scenario, id)), ..orders(scenario, id) };
                let (mut group, news) = processes::start(scenario.nodes(), orders).await?;
                // Before all have met, nobody can be missed.
                group.started().await?;
                orchestrate(scenario, &mut group, news, place.progress).await?;
                group.stop().await
            })?;
            in_order(&(made.node)(NodeId(0)), recorded)?
        }
    };
    let mut observed = Observed::of(scenario, made.kinds(), &records);
    observed.objection = made.objection(scenario, &records).map(|it| it.to_string());
    let measured = measured(scenario, observed, start.elapsed());
    tape.save(run_header(scenario, true), &records, measured.wrong())?;
    Ok(measured)
}

/// Starts a node with its application.
type Launch<'a> = &'a dyn Fn(Config, TcpListener, Turns) -> Starting<Handle<Command>>;

/// Runs a scenario with all nodes in this process.
fn here(
    scenario: &Scenario,
    launch: Launch<'_>,
    progress: Option<Progress<'_>>,
) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let (mut group, news) = local::start(scenario, launch).await?;
        orchestrate(scenario, &mut group, news, progress).await?;
        group.stop().await
    })
}

/// What a process must know to be a node of a scenario, but for when its clock began.
fn orders(scene: &impl Scene, id: NodeId) -> Orders {
    let about = scene.about();
    Orders {
        algorithm: about.name.to_owned(),
        setup: scene.setup().text(about.takes),
        id: id.0,
        shift: None,
        seed: scene.seed(),
        epoch_ns: 0,
        tells_at_once: !kills::planned(scene).is_empty(),
    }
}

/// The turns that a process takes.
fn shift(scenario: &Scenario, id: NodeId) -> Shift {
    Shift {
        turns: quota(scenario, id),
        think: scenario.think.to_string(),
        hold: scenario.hold_over_tcp().to_string(),
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

/// What a node's application reports.
#[derive(Clone, PartialEq, Eq, Debug)]
enum News {
    /// It has done what it was to do, and will not ask again by itself.
    Done(NodeId),
    /// It cannot go on.
    Failed(NodeId, String),
}

/// Nodes whose messages can be counted, wherever they run.
trait Counted {
    /// Messages sent and messages handled so far, over all nodes.
    async fn counts(&mut self) -> Result<(u64, u64), Failure>;
    /// Kills a node, where it can be: its messages count no more.
    async fn kill(&mut self, node: NodeId) -> Result<(), Failure>;
}

/// Nodes that can be told to ask, wherever they run.
trait Nodes: Counted {
    /// Tells a node's application to take a turn.
    async fn ask(&mut self, node: NodeId, command: Command) -> Result<(), Failure>;
}

/// How many turns each node takes by itself: under heavy load its share, as in the simulator,
/// otherwise none.
fn quota(scenario: &Scenario, node: NodeId) -> u64 {
    match scenario.load {
        LoadKind::Heavy => share(scenario.entries, scenario.contenders(), node),
        LoadKind::Light | LoadKind::Burst => 0,
    }
}

/// Lets the nodes do what the scenario says, to the end.
async fn orchestrate(
    scenario: &Scenario,
    nodes: &mut impl Nodes,
    mut news: UnboundedReceiver<News>,
    progress: Option<Progress<'_>>,
) -> Result<(), Failure> {
    let bar: Progress<'_> = progress.unwrap_or(&|_| {});
    let (mut kills, mut random) = (Kills::of(scenario), Random::new(scenario.seed()));
    let contenders = u64::from(scenario.contenders());
    match scenario.load {
        LoadKind::Heavy => {
            // A node with nothing to do is done without saying so.
            let busy = (0..contenders.min(scenario.entries) as u32).map(NodeId).collect();
            if !take_turns(scenario, nodes, &mut news, busy, (&mut kills, bar)).await? {
                return Ok(());
            }
        }
        LoadKind::Light => {
            for entry in 0..scenario.entries {
                let node = NodeId(random.below(contenders) as u32);
                nodes.ask(node, acquire(scenario, &mut random)).await?;
                wait(nodes, &mut news, &mut kills).await?;
                rest(scenario, nodes).await?;
                bar(entry);
            }
        }
        LoadKind::Burst => {
            let mut left = scenario.entries;
            while left > 0 {
                let asking = left.min(contenders);
                for node in (0..asking as u32).map(NodeId) {
                    nodes.ask(node, acquire(scenario, &mut random)).await?;
                }
                for _ in 0..asking {
                    wait(nodes, &mut news, &mut kills).await?;
                }
                rest(scenario, nodes).await?;
                left -= asking;
                bar(scenario.entries - left);
            }
        }
    }
    rest(scenario, nodes).await
}

/// Waits until all of these have taken their turns, but for those that are killed meanwhile; false
/// if some never will.
async fn take_turns(
    scenario: &Scenario,
    nodes: &mut impl Nodes,
    news: &mut UnboundedReceiver<News>,
    mut busy: BTreeSet<NodeId>,
    (kills, bar): (&mut Kills, Progress<'_>),
) -> Result<bool, Failure> {
    let patience = kills::patience(scenario);
    let (mut last, mut moved) = (None, Instant::now());
    while !busy.is_subset(kills.killed()) {
        if let Some(node) = kills.next_done(nodes, news).await? {
            busy.remove(&node);
            continue;
        }
        bar(0);
        // A node that has failed says nothing any more; asked, it says why.
        let counts = Some(nodes.counts().await?);
        if counts != last {
            (last, moved) = (counts, Instant::now());
        }
        if !kills.killed().is_empty() && moved.elapsed() > patience {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One of the claims that the algorithm grants.
fn acquire(scenario: &Scenario, random: &mut Random) -> Command {
    let claims = scenario.card.terms.claims;
    Command::Acquire(claims[random.below(claims.len() as u64) as usize])
}

/// Waits until a node has left and will not ask again by itself.
async fn wait(
    nodes: &mut impl Counted,
    news: &mut UnboundedReceiver<News>,
    kills: &mut Kills,
) -> Result<(), Failure> {
    while kills.next_done(nodes, news).await?.is_none() {
        // A node that has failed says nothing any more; asked, it says why.
        nodes.counts().await?;
    }
    Ok(())
}

/// Waits until all is done; where messages travel for ever, until every node has done what it was
/// told: asked for its counts, it has.
async fn rest(scenario: &Scenario, nodes: &mut impl Nodes) -> Result<(), Failure> {
    // What is sent to the dead is never handled.
    if scenario.card.terms.perpetual || scenario.faults().is_some() {
        return nodes.counts().await.map(drop);
    }
    settle(nodes).await
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

/// What records tell.
struct Observed {
    verdict: Verdict,
    summary: Summary,
    events: u64,
    /// What those who did it once more object to.
    objection: Option<String>,
    faults: Option<FaultCounts>,
    /// When it was that something happened which never should.
    violated_ns: Option<u64>,
}

impl Observed {
    fn of(
        scenario: &Scenario,
        kinds: &'static [&'static str],
        records: &[Record<NodeOf<Mutex>>],
    ) -> Self {
        let (card, setup) = (scenario.card, &scenario.setup);
        let verdict = judge(records, card.watch(setup, card.promised(setup)));
        Self {
            violated_ns: verdict.violations.first().map(|&(place, _)| records[place].at_ns),
            verdict,
            summary: Summary {
                overtakes: Some(judge(records, HappenedBefore::default()).count("ordering")),
                ..Measure::of(scenario.nodes(), kinds, records).summary()
            },
            events: events(records),
            objection: None,
            faults: kills::counts(scenario, records),
        }
    }
}

/// Judges and measures a recorded run.
fn measured(scenario: &Scenario, observed: Observed, wall: Duration) -> Measured {
    let Observed { verdict, summary, events, objection, faults, violated_ns } = observed;
    let first = verdict.violations.first().map(|(_, violation)| violation);
    let card = scenario.card;
    let is_perpetual = card.terms.perpetual || scenario.faults().is_some();
    let owed = if is_perpetual { &verdict.owed } else { &verdict.at_rest };
    let owed = owed.as_ref().map(ToString::to_string);
    Measured {
        name: card.name,
        seed: scenario.seed(),
        head: scenario.head(true),
        figures: figures(scenario.card, &summary, (" us", 1_000.0), (" per s", 1e9), &|of| {
            scenario.theory_over_tcp(of)
        }),
        faults,
        safe: verdict.is_safe() && objection.is_none(),
        quiescent: if is_perpetual { owed.is_none() } else { verdict.is_quiescent() },
        violation: first.map(ToString::to_string).or(objection).or(owed),
        violated_ns,
        events,
        wall_seconds: wall.as_secs_f64(),
    }
}

/// How many things happened to nodes.
fn events<P: Protocol>(records: &[Record<P>]) -> u64 {
    let is_event = |record: &&Record<P>| {
        matches!(record.what, What::Command(_) | What::Receive { .. } | What::Timer(_))
    };
    records.iter().filter(is_event).count() as u64
}
