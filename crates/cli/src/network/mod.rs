//! A scenario over real TCP on loopback: all nodes in this process, or a process a node.
//!
//! Under heavy load every node's application takes its turns by itself. Under light and burst load
//! this process tells the nodes when to ask, one at a time or all at once, and waits until all is
//! at rest. Afterwards the records of all nodes are merged, judged and measured like a simulated
//! run.

mod local;
mod processes;
mod turns;
pub(crate) mod worker;

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::sync::mpsc::UnboundedReceiver;
use vorrang_algorithms::card::Card;
use vorrang_algorithms::mutex::spec::{BoundedBypass, HappenedBefore};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_sim::Random;
use vorrang_trace::{Measure, Record, Trace, What, judge};

use crate::failure::Failure;
use crate::measured::{Clock, Measured};
use crate::output::{progress, show_after_a_second};
use crate::workload::{LoadKind, Scenario};

/// Where the nodes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// All in this process.
    Here,
    /// Each in a process of its own.
    Processes,
}

/// Runs a scenario over TCP and hands back what came of it, with its trace if `save` wants it.
pub(crate) fn run(
    scenario: &Scenario,
    place: Place,
    save: Option<&std::path::Path>,
) -> Result<Measured, Failure> {
    registry::visit(scenario.card.name, scenario.setup, OverTcp { scenario, place, save })
        .expect("a card's algorithm can be made")
}

struct OverTcp<'a> {
    scenario: &'a Scenario,
    place: Place,
    save: Option<&'a std::path::Path>,
}

impl Visit for OverTcp<'_> {
    type Output = Result<Measured, Failure>;

    fn visit<P>(self, _: &'static Card, node: impl Make<P>) -> Self::Output
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let start = Instant::now();
        // One thread for all nodes of a process: then a hand-over wakes no other thread.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let records = runtime.block_on(async {
            match self.place {
                Place::Here => {
                    let (group, news) = local::start(self.scenario, node).await?;
                    orchestrate(self.scenario, group, news).await
                }
                Place::Processes => {
                    let (group, news) = processes::start(self.scenario).await?;
                    orchestrate(self.scenario, group, news).await
                }
            }
        })?;
        if let Some(path) = self.save {
            save(self.scenario, &records, path)?;
        }
        Ok(measured(self.scenario, &records, start.elapsed()))
    }
}

/// What a node's application reports.
#[derive(Clone, PartialEq, Eq, Debug)]
enum News {
    /// It has left, and will not ask again by itself.
    Left(NodeId),
    /// It cannot go on.
    Failed(NodeId, String),
}

/// Nodes that can be told to ask, wherever they run.
trait Nodes<P: Protocol> {
    /// Tells a node's application to take a turn.
    async fn ask(&mut self, node: NodeId, command: Command) -> Result<(), Failure>;
    /// Messages sent and messages handled so far, over all nodes.
    async fn counts(&mut self) -> Result<(u64, u64), Failure>;
    /// Stops all nodes and collects their records, in an order that respects cause.
    async fn stop(self) -> Result<Vec<Record<P>>, Failure>;
}

/// How many turns each node takes by itself: under heavy load an even share, otherwise none.
fn quota(scenario: &Scenario, node: NodeId) -> u64 {
    let contenders = u64::from(scenario.contenders());
    let id = u64::from(node.0);
    match scenario.load {
        LoadKind::Heavy if id < contenders => {
            scenario.entries / contenders + u64::from(id < scenario.entries % contenders)
        }
        LoadKind::Heavy | LoadKind::Light | LoadKind::Burst => 0,
    }
}

/// Lets the nodes do what the scenario says, to the end.
async fn orchestrate<P: Protocol, N: Nodes<P>>(
    scenario: &Scenario,
    mut nodes: N,
    mut news: UnboundedReceiver<News>,
) -> Result<Vec<Record<P>>, Failure> {
    let bar = progress(scenario.entries, "{bar:40} {human_pos} of {human_len} entries");
    let mut random = Random::new(scenario.seed);
    let contenders = u64::from(scenario.contenders());
    match scenario.load {
        LoadKind::Heavy => {
            // A node with nothing to do is done without saying so.
            for _ in 0..contenders.min(scenario.entries) {
                wait(&mut news, &bar).await?;
            }
        }
        LoadKind::Light => {
            for entry in 0..scenario.entries {
                let node = NodeId(random.below(contenders) as u32);
                nodes.ask(node, acquire(scenario, &mut random)).await?;
                wait(&mut news, &bar).await?;
                settle(&mut nodes).await?;
                bar.set_position(entry);
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
                    wait(&mut news, &bar).await?;
                }
                settle(&mut nodes).await?;
                left -= asking;
                bar.set_position(scenario.entries - left);
            }
        }
    }
    settle(&mut nodes).await?;
    bar.finish_and_clear();
    nodes.stop().await
}

/// One of the claims that the algorithm grants.
fn acquire(scenario: &Scenario, random: &mut Random) -> Command {
    let claims = scenario.card.claims;
    Command::Acquire(claims[random.below(claims.len() as u64) as usize])
}

/// Waits until a node has left and will not ask again by itself.
async fn wait(news: &mut UnboundedReceiver<News>, bar: &ProgressBar) -> Result<(), Failure> {
    loop {
        let heard = tokio::time::timeout(Duration::from_secs(1), news.recv()).await;
        match heard {
            Err(_elapsed) => show_after_a_second(bar),
            Ok(Some(News::Left(_))) => return Ok(()),
            Ok(Some(News::Failed(node, why))) => {
                return Err(Failure::Failed(format!("node {node}: {why}")));
            }
            Ok(None) => return Err(Failure::Failed("all nodes have gone".to_owned())),
        }
    }
}

/// Waits until every message that was sent has been handled. Handling one may send another, so the
/// count must hold still once.
async fn settle<P: Protocol>(nodes: &mut impl Nodes<P>) -> Result<(), Failure> {
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

/// Judges and measures a recorded run.
fn measured<P>(scenario: &Scenario, records: &[Record<P>], wall: Duration) -> Measured
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let promises = scenario.card.promises;
    let ordering = promises.ordering.then(HappenedBefore::default);
    let bypass = promises.bypass.map(BoundedBypass::new);
    let verdict = judge(records, (scenario.monitor(), (ordering, bypass)));
    let overtakings = judge(records, HappenedBefore::default());
    let is_event = |record: &&Record<P>| {
        matches!(record.what, What::Command(_) | What::Receive { .. } | What::Timer(_))
    };
    let first = verdict.violations.first().map(|(_, violation)| violation);
    Measured {
        scenario: scenario.clone(),
        clock: Clock::Real,
        summary: Measure::of(scenario.nodes(), records).summary(),
        overtakes: Some(overtakings.count("ordering")),
        safe: verdict.is_safe(),
        quiescent: verdict.is_quiescent(),
        violation: first.or(verdict.at_rest.as_ref()).map(ToString::to_string),
        events: records.iter().filter(is_event).count() as u64,
        wall_seconds: wall.as_secs_f64(),
    }
}

fn save<P>(
    scenario: &Scenario,
    records: &[Record<P>],
    path: &std::path::Path,
) -> Result<(), Failure>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let wrong = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let file = std::io::BufWriter::new(std::fs::File::create(path).map_err(wrong)?);
    let trace = Trace { header: scenario.header(), records: records.to_vec() };
    trace.write(file).map_err(wrong)
}
