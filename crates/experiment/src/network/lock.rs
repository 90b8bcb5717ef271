//! A lock over TCP: applications that take turns.
//!
//! Under heavy load every node's application takes its turns by itself. Under light and burst load
//! this process tells the nodes when to ask, one at a time or all at once, and waits until all is
//! at rest. Afterwards the records of all nodes are merged, judged and measured like a simulated
//! run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use vorrang_algorithms::mutex::spec::HappenedBefore;
use vorrang_algorithms::mutex::{Mutex, Notice};
use vorrang_catalogue::NodeOf;
use vorrang_net::{Clock, Config, Log};
use vorrang_protocol::NodeId;
use vorrang_sim::{FaultCounts, Random};
use vorrang_trace::{Measure, Record, Summary, Verdict, What, judge};

use super::kills::{Kills, in_order};
use super::turns::{acquire, quota};
use super::worker::{Shift, WorkerSetup};
use super::{
    Counted, News, Nodes, Place, Processes, events, kills, local, orders, processes, runtime,
    settle,
};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::options::mutex::LoadKind;
use crate::problem::mutex::Scenario;
use crate::problem::mutex::figures::{explain_throughput, figures, show_transmissions};
use crate::problem::{GuardedNodes, Scene, run_header};
use crate::progress::Progress;
use crate::tracefile::{Keep, Tape};

/// Runs a scenario over TCP and hands back what came of it, kept where that is wanted.
pub(super) fn run(
    scenario: &Scenario,
    made: &GuardedNodes<Mutex>,
    place: Place,
    keep: Keep<'_>,
) -> Result<Measured, Failure> {
    kills::check(scenario, &(made.node)(NodeId(0)))?;
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
                    |id| WorkerSetup { shift: Some(shift(scenario, id)), ..orders(scenario, id) };
                let (mut group, news) = processes::start(scenario.nodes(), orders).await?;
                // Before all are connected, none can be missed.
                group.started().await?;
                orchestrate(scenario, &mut group, news, place.progress).await?;
                group.stop().await
            })?;
            in_order(&(made.node)(NodeId(0)), recorded)?
        }
    };
    let mut observed = Observed::of(scenario, made.kinds, &records);
    observed.objection = made.objection(scenario, &records).map(|it| it.to_string());
    let measured = measured(scenario, observed, start.elapsed());
    tape.save(run_header(scenario, place.at.typed()), &records, measured.wrong())?;
    Ok(measured)
}

/// Runs a scenario with all nodes in this process.
fn here(
    scenario: &Scenario,
    launch: local::Launch<'_>,
    progress: Option<Progress<'_>>,
) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let (mut group, news) = local::start(scenario, launch).await?;
        orchestrate(scenario, &mut group, news, progress).await?;
        group.stop().await
    })
}

/// The turns that a process takes.
pub(super) fn shift(scenario: &Scenario, id: NodeId) -> Shift {
    let (turns, waits) = (quota(scenario, id), waits(scenario));
    Shift {
        turns: turns - u64::from(waits && turns > 0),
        waits,
        think: scenario.think.to_string(),
        hold: scenario.hold_over_tcp().to_string(),
    }
}

/// Whether a node is killed before anything happens: then the others wait until it is.
fn waits(scenario: &Scenario) -> bool {
    // On views faults come when there is a group.
    scenario.load == LoadKind::Heavy
        && !scenario.is_on_views()
        && kills::planned(scenario).first().is_some_and(|(at, _)| at.is_zero())
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
    let (asking, contenders) = (scenario.asking(), u64::from(scenario.contenders()));
    match scenario.load {
        LoadKind::Heavy => {
            // A node with nothing to do is done without saying so.
            let busy = contenders.min(scenario.entries) as usize;
            let busy: BTreeSet<NodeId> = asking.iter(scenario.nodes()).take(busy).collect();
            if waits(scenario) {
                kills.strike(nodes).await?;
                for &node in busy.difference(kills.killed()) {
                    nodes.ask(node, acquire(scenario, &mut random)).await?;
                }
            }
            if !take_turns(scenario, nodes, &mut news, busy, (&mut kills, bar)).await? {
                return Ok(());
            }
        }
        LoadKind::Light => {
            for entry in 0..scenario.entries {
                let node = asking.nth(random.below(contenders) as u32);
                nodes.ask(node, acquire(scenario, &mut random)).await?;
                wait(scenario, nodes, &mut news, &mut kills).await?;
                rest(scenario, nodes).await?;
                bar(entry);
            }
        }
        LoadKind::Burst => {
            let mut left = scenario.entries;
            while left > 0 {
                let count = left.min(contenders);
                for node in asking.iter(scenario.nodes()).take(count as usize) {
                    nodes.ask(node, acquire(scenario, &mut random)).await?;
                }
                for _ in 0..count {
                    if !wait(scenario, nodes, &mut news, &mut kills).await? {
                        return Ok(());
                    }
                }
                rest(scenario, nodes).await?;
                left -= count;
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
    let mut stall = Stall::new(scenario);
    while !busy.is_subset(kills.killed()) {
        if let Some(node) = kills.next_done(nodes, news, Duration::MAX).await? {
            busy.remove(&node);
            continue;
        }
        bar(0);
        // A node that has failed says nothing any more; asked, it says why.
        let lasts = stall.lasts(nodes.counts().await?);
        if lasts && (scenario.may_deadlock() || !kills.killed().is_empty()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How long no message has been sent or handled. Whoever waits then may wait for ever: its records
/// show what is missing.
struct Stall {
    last: Option<(u64, u64)>,
    since: Instant,
    patience: Duration,
}

impl Stall {
    /// Nodes that think or stay inside are silent as well.
    fn new(scenario: &Scenario) -> Self {
        const TIMES_THE_MEAN: f64 = 30.0;
        let busy_ns = scenario.think.mean_ns() + scenario.hold_over_tcp().mean_ns();
        let busy = Duration::from_nanos((TIMES_THE_MEAN * busy_ns) as u64);
        let patience = kills::patience(scenario).max(busy);
        Self { last: None, since: Instant::now(), patience }
    }

    /// Whether that is longer than it should be, now that so many were sent and handled.
    fn lasts(&mut self, counts: (u64, u64)) -> bool {
        if self.last != Some(counts) {
            (self.last, self.since) = (Some(counts), Instant::now());
        }
        self.since.elapsed() > self.patience
    }
}

/// Waits until a node has left and will not ask again by itself; false if none ever will.
async fn wait(
    scenario: &Scenario,
    nodes: &mut impl Counted,
    news: &mut UnboundedReceiver<News>,
    kills: &mut Kills,
) -> Result<bool, Failure> {
    let mut stall = Stall::new(scenario);
    while kills.next_done(nodes, news, Duration::MAX).await?.is_none() {
        // A node that has failed says nothing any more; asked, it says why.
        if stall.lasts(nodes.counts().await?) && scenario.may_deadlock() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits until all is done; where messages travel for ever, until every node has done what it was
/// told: asked for its counts, it has.
async fn rest(scenario: &Scenario, nodes: &mut impl Nodes) -> Result<(), Failure> {
    // Messages to a crashed node are never handled.
    if scenario.card.terms.perpetual || scenario.faults().is_some() {
        return nodes.counts().await.map(drop);
    }
    settle(nodes).await
}

/// The evaluation of records.
struct Observed {
    verdict: Verdict,
    summary: Summary,
    events: u64,
    /// The violation found by the replay.
    objection: Option<String>,
    faults: Option<FaultCounts>,
    /// When it was that something happened which never should.
    violated_ns: Option<u64>,
    /// Whether most entries were made by whoever had just left.
    alone: bool,
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
            alone: is_alone(scenario, records),
        }
    }
}

/// Judges and measures a recorded run.
fn measured(scenario: &Scenario, observed: Observed, wall: Duration) -> Measured {
    let Observed { verdict, summary, events, objection, faults, violated_ns, alone } = observed;
    let first = verdict.violations.first().map(|(_, violation)| violation);
    let card = scenario.card;
    let is_perpetual = card.terms.perpetual || scenario.faults().is_some();
    let owed = if is_perpetual { &verdict.owed } else { &verdict.at_rest };
    let owed = owed.as_ref().map(ToString::to_string);
    let theory = |of| scenario.theory_over_tcp(of);
    let per = (" per s", 1e9);
    let mut figures = figures(card, &summary, (" us", 1_000.0), per, &theory);
    explain_throughput(&mut figures, scenario, &summary, (scenario.hold_over_tcp(), per));
    show_transmissions(&mut figures, scenario.broadcast_medium);
    Measured {
        name: card.name,
        seed: scenario.seed(),
        head: scenario.head(true),
        figures,
        faults,
        done: (summary.entries, scenario.total()),
        safe: verdict.is_safe() && objection.is_none(),
        quiescent: if is_perpetual { owed.is_none() } else { verdict.is_quiescent() },
        violation: first.map(ToString::to_string).or(objection).or(owed),
        violated_ns,
        events,
        wall_seconds: wall.as_secs_f64(),
        warning: alone.then(|| ALONE.to_owned()),
    }
}

/// Said where most entries of a node follow its own.
pub(super) const ALONE: &str = "most entries were made by the node that had just left, which asks \
                                again before others are heard: the figures speak of it alone. \
                                Stays are of no length by default: give --hold 1ms, or --think, to \
                                see the lock change hands";

/// Whether most entries follow one of the same node, though others want in.
pub(super) fn is_alone(scenario: &Scenario, records: &[Record<NodeOf<Mutex>>]) -> bool {
    if scenario.hold.is_some() || !scenario.is_saturated() || scenario.contenders() < 2 {
        return false;
    }
    let enters = |record: &&Record<NodeOf<Mutex>>| {
        matches!(record.what, What::Notice(Notice::Entered | Notice::EnteredAs(_)))
    };
    let entries: Vec<NodeId> = records.iter().filter(enters).map(|it| it.node).collect();
    let again = entries.windows(2).filter(|two| two[0] == two[1]).count();
    2 * again > entries.len()
}
