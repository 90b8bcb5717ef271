//! A scenario in which some nodes are told something once, over real TCP on loopback, until all
//! that comes of it has happened: all nodes in this process, or a process a node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};
use vorrang_net::{Clock, Config, Log, Started, Starting, bind_loopback};
use vorrang_protocol::{NodeId, NodeSet, Protocol};
use vorrang_sim::Workload as _;
use vorrang_trace::{Meter, Record, Sent, What, judge};

use super::kills::{self, Kills, Recorded, in_order};
use super::local::{self, Local};
use super::processes::{self, Processes};
use super::{
    Counted as _, News, Place, Processes as In, events, make_room, orders, runtime, settle,
};
use crate::failure::Failure;
use crate::figures::Measured;
use crate::problem::{GuardedNodes, Networked, Scene, Until, run_header};
use crate::tracefile::{Keep, Tape};

/// Tells some nodes something, and hands back what came of it: judged, measured, and kept where
/// that is wanted.
pub(super) fn run<Q: Networked>(
    scene: &Q::Scenario,
    made: &GuardedNodes<Q>,
    place: Place<'_>,
    keep: Keep<'_>,
) -> Result<Measured, Failure> {
    kills::check(scene, &(made.node)(NodeId(0)))?;
    let (commands, until) = Q::told(scene);
    let mut later = Q::later(scene);
    later.sort_by_key(|(at, node, _)| (*at, *node));
    let again = |node, by| Q::again(scene, node, by);
    let (at_once, later, again, is_settled) = (&commands, &later, &again, &is_settled::<Q>);
    let commands = Commands { at_once, later, again, is_settled, until };
    let mut meter = Q::workload(scene).meter(scene.setup().group.size(), made.kinds);
    let start = Instant::now();
    let tape = Tape::create(keep)?;
    let records = match place.at {
        In::One => {
            let (log, clock) = (Log::new(), Clock::start());
            let launch = |config: Config, listener: TcpListener| {
                let machine = (made.node)(config.id);
                vorrang_net::Node::new(machine, config)
                    .listener(listener)
                    .record(log.clone(), clock)
                    .start()
            };
            runtime()?.block_on(tell_all(scene, &commands, &launch))?;
            log.take()
        }
        In::OneEach => {
            let recorded = runtime()?.block_on(tell_processes(scene, &commands))?;
            in_order(&(made.node)(NodeId(0)), recorded)?
        }
    };
    let verdict = judge(&records, Q::monitor(scene));
    feed(&mut meter, &records);
    let first = verdict.violations.first().map(|(_, violation)| violation);
    let objection = made.objection(scene, &records).map(|it| it.to_string());
    let faults = kills::counts(scene, &records);
    // Messages to a crashed node stay in flight for ever, and a stopped node may just have sent
    // one.
    let never_rests = faults.is_some() || matches!(until, Until::Over(_));
    let owed = if never_rests { &verdict.owed } else { &verdict.at_rest };
    let at_rest = owed.as_ref().map(ToString::to_string);
    let measured = Measured {
        name: scene.about().name,
        seed: scene.seed(),
        head: scene.head(true),
        figures: Q::net_figures(scene, &meter.summary()),
        safe: verdict.is_safe() && objection.is_none(),
        quiescent: if never_rests { verdict.owed.is_none() } else { verdict.is_quiescent() },
        faults,
        done: (meter.progress(), scene.total()),
        violation: first.map(ToString::to_string).or(objection).or(at_rest),
        violated_ns: verdict.violations.first().map(|&(place, _)| records[place].at_ns),
        events: events(&records),
        wall_seconds: start.elapsed().as_secs_f64(),
        warning: scene.warning(),
    };
    tape.save(run_header(scene, place.at.typed()), &records, measured.wrong())?;
    Ok(measured)
}

/// [`Networked::is_settled`] of notices as text.
fn is_settled<Q: Networked>(up: &NodeSet, last: &BTreeMap<NodeId, String>) -> bool {
    let read = |(at, text): (&NodeId, &String)| Some((*at, serde_json::from_str(text).ok()?));
    Q::is_settled(up, &last.iter().filter_map(read).collect())
}

/// What nodes are told, and until when.
struct Commands<'a, C> {
    at_once: &'a [(NodeId, C)],
    /// With the times, the first first.
    later: &'a [(Duration, NodeId, C)],
    /// What the application of a node says that was started again by then.
    again: &'a dyn Fn(NodeId, Duration) -> Option<C>,
    /// Whether all is as it is to be in the end if these are up, and were last told this.
    is_settled: &'a dyn Fn(&NodeSet, &BTreeMap<NodeId, String>) -> bool,
    until: Until,
}

/// The time-out for the answer of a node.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a node.
type Launch<'a, C, N> = &'a dyn Fn(Config, TcpListener) -> Starting<Started<C, N>>;

/// Starts all nodes, tells those that are to be told, and waits until no message is under way any
/// more. It knows the problem and not the algorithm, so it is compiled once for each problem.
async fn tell_all<C: Clone + Send + 'static, N>(
    scene: &impl Scene,
    commands: &Commands<'_, C>,
    launch: Launch<'_, C, N>,
) -> Result<(), Failure> {
    let (about, setup) = (scene.about(), scene.setup());
    make_room(setup.group.size())?;
    let (listeners, peers) = bind_loopback(setup.group.size()).await?;
    let (mut handles, mut notices) = (Vec::new(), Vec::new());
    for (id, listener) in setup.group.members().zip(listeners) {
        let config = Config {
            seed: scene.seed(),
            setup: setup.text(about.takes),
            ..Config::new(id, peers.clone(), about.name)
        };
        let started = launch(config, listener).await;
        let (handle, heard) = started.map_err(|error| Failure::Failed(error.to_string()))?;
        handles.push(handle);
        notices.push(heard);
    }
    let mut nodes = Local { handles };
    // Else the time until the last of them has met all others would count.
    nodes.started(local::PATIENCE).await?;
    let begun = Instant::now();
    for (at, command) in commands.at_once {
        nodes.tell(*at, command.clone()).await?;
    }
    for (at, node, command) in commands.later {
        sleep(at.saturating_sub(begun.elapsed())).await;
        nodes.tell(*node, command.clone()).await?;
    }
    let until = commands.until;
    if until == Until::Told {
        for (id, heard) in setup.group.members().zip(&mut notices) {
            let told = timeout(PATIENCE, heard.recv()).await;
            told.map_err(|_| Failure::World(format!("node {id} was not told in {PATIENCE:?}")))?;
        }
    }
    match until {
        Until::Over(time) => sleep(time.saturating_sub(begun.elapsed())).await,
        Until::Quiet | Until::Told => settle(&mut nodes).await?,
    }
    nodes.stop().await
}

/// Starts a process for every node, and else does the same, with those who are to be killed killed
/// meanwhile, and started again; the records, each as a line.
async fn tell_processes<C: ToString>(
    scene: &impl Scene,
    commands: &Commands<'_, C>,
) -> Result<Recorded, Failure> {
    let nodes = scene.setup().group.size();
    let (mut group, mut news) = processes::start(nodes, |id| orders(scene, id)).await?;
    group.started().await?;
    let mut kills = Kills::of(scene);
    kills.strike(&mut group).await?;
    for (at, command) in commands.at_once.iter().filter(|(at, _)| !kills.killed().contains(at)) {
        group.tell(*at, command).await?;
    }
    let begun = Instant::now();
    tell_later(scene, commands, &mut group, &mut news, &mut kills).await?;
    match commands.until {
        Until::Over(time) => sleep(time.saturating_sub(begun.elapsed())).await,
        Until::Quiet | Until::Told if !kills.have_struck() => settle(&mut group).await?,
        // Messages to a crashed node are never handled: waits until nothing happens any more, or,
        // where messages go on for ever, until all has settled.
        Until::Quiet | Until::Told => match scene.ends_ns() {
            u64::MAX => fall_silent(&mut group, commands.until, kills::patience(scene)).await?,
            ends_ns => {
                let ends = begun + Duration::from_nanos(ends_ns);
                until_settled(scene, commands, &group, &kills, ends).await;
            }
        },
    }
    while let Ok(news) = news.try_recv() {
        match news {
            News::Failed(node, why) if !kills.killed().contains(&node) => {
                return Err(Failure::Failed(format!("node {node}: {why}")));
            }
            News::Gone(node) if !kills.has_killed(node) => {
                return Err(Failure::World(format!("node {node}: its process has gone")));
            }
            News::Failed(..) | News::Gone(_) | News::Done(_) | News::Entered(_) => {}
        }
    }
    group.stop().await
}

/// Kills and starts processes and tells nodes what they are to be told later, until that is done
/// and, if so wanted, everyone that is up has told its application something.
async fn tell_later<C: ToString>(
    scene: &impl Scene,
    commands: &Commands<'_, C>,
    group: &mut Processes,
    news: &mut UnboundedReceiver<News>,
    kills: &mut Kills,
) -> Result<(), Failure> {
    let waits = commands.until == Until::Told;
    let mut untold: BTreeSet<NodeId> = scene.setup().group.members().filter(|_| waits).collect();
    let mut later = commands.later;
    let (begun, patience) = (Instant::now(), kills::patience(scene));
    loop {
        for node in kills.take_restarted() {
            untold.extend(waits.then_some(node));
            if let Some(command) = (commands.again)(node, kills.elapsed()) {
                group.tell(node, &command).await?;
            }
        }
        while let Some(((at, node, command), rest)) = later.split_first()
            && *at <= kills.elapsed()
        {
            later = rest;
            if !kills.killed().contains(node) {
                group.tell(*node, command).await?;
            }
        }
        let is_told = untold.is_subset(kills.killed());
        if is_told && kills.are_over() && later.is_empty() {
            return Ok(());
        }
        if kills.are_over() && later.is_empty() && kills.have_struck() && begun.elapsed() > patience
        {
            // Their records show what is missing.
            return Ok(());
        }
        if kills.are_over() && !kills.have_struck() && begun.elapsed() > PATIENCE {
            let missing = untold.first().copied().unwrap_or_default();
            return Err(Failure::World(format!("node {missing} was not told in {PATIENCE:?}")));
        }
        let next = later.first().map_or(Duration::MAX, |(at, ..)| *at);
        let no_longer = next.saturating_sub(kills.elapsed());
        if let Some(node) = kills.next_done(group, news, no_longer).await? {
            untold.remove(&node);
        }
    }
}

/// Waits until all is as it is to be, and has been so for as long as it takes to suspect somebody;
/// at most as long as the run would take in a simulation, where messages are as slow as is assumed.
async fn until_settled<C>(
    scene: &impl Scene,
    commands: &Commands<'_, C>,
    group: &Processes,
    kills: &Kills,
    ends: Instant,
) {
    let setup = scene.setup();
    let pace = setup.beat.saturating_add(setup.late).saturating_add(setup.within);
    let a_while = pace.saturating_mul(2);
    let up = setup.group.members().filter(|at| !kills.killed().contains(at)).collect();
    let (mut last, mut since) = (group.last_notices(), Instant::now());
    while Instant::now() < ends {
        sleep(Duration::from_millis(20)).await;
        let notices = group.last_notices();
        if notices != last {
            (last, since) = (notices, Instant::now());
        } else if since.elapsed() >= a_while && (commands.is_settled)(&up, &last) {
            return;
        }
    }
}

/// Waits until no message has been sent or handled for a while. Whoever elects comes to rest by
/// itself, so a timer that is set is waited for as well: a message to a crashed node is perhaps not
/// the last. Others may repeat theirs for ever, at growing intervals.
async fn fall_silent(
    group: &mut Processes,
    until: Until,
    patience: Duration,
) -> Result<(), Failure> {
    const A_WHILE: Duration = Duration::from_millis(300);
    let (mut last, mut since) = (group.counts().await?, Instant::now());
    loop {
        sleep(A_WHILE).await;
        let counts = group.counts().await?;
        if counts != last {
            (last, since) = (counts, Instant::now());
            continue;
        }
        let is_due = until == Until::Told && since.elapsed() < patience;
        if !(is_due && group.await_timers().await?) {
            return Ok(());
        }
    }
}

/// Tells a meter of all that was recorded.
pub(super) fn feed<P: Protocol, T: Meter<P::Command, P::Notice>>(
    meter: &mut T,
    records: &[Record<P>],
) {
    let mut under_way = BTreeMap::new();
    for Record { at_ns, node, what } in records {
        match what {
            What::Command(command) => meter.on_command(*at_ns, *node, command),
            What::Notice(notice) => meter.on_notice(*at_ns, *node, notice),
            What::Send { to, seq, message } => {
                under_way.insert(
                    (*node, *to, *seq),
                    meter.on_send(*node, *to, Sent::of(message, *node)),
                );
            }
            What::Receive { from, seq, .. } => {
                if let Some(tag) = under_way.remove(&(*from, *node, *seq)) {
                    meter.on_receive(*at_ns, *from, *node, tag);
                }
            }
            What::Crash => meter.on_crash(*at_ns, *node),
            What::Restart => meter.on_restart(*at_ns, *node),
            What::Timer(_)
            | What::Choice(_)
            | What::Lost { .. }
            | What::Doubled { .. }
            | What::Fault(_) => {}
        }
    }
}
