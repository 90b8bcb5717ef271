//! A scenario in which some nodes are told something once, over real TCP on loopback, until all
//! that comes of it has happened: all nodes in this process, or a process a node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use vorrang_net::{Clock, Config, Log, Started, Starting, bind_loopback};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_sim::Workload as _;
use vorrang_trace::{Meter, Record, Sent, What, judge};

use super::kills::{self, Kills, in_order};
use super::local::{self, Local};
use super::processes::{self, Processes, Recorded};
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
    let (commands, until) = Q::told(scene);
    let commands = (&commands[..], until);
    let mut meter = Q::workload(scene).meter(scene.setup().group.size(), made.kinds());
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
            runtime()?.block_on(tell_all(scene, commands, &launch))?;
            log.take()
        }
        In::OneEach => {
            let recorded = runtime()?.block_on(tell_processes(scene, commands))?;
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
    let never_rests = faults.is_some() || matches!(commands.1, Until::Over(_));
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
    };
    tape.save(run_header(scene, true), &records, measured.wrong())?;
    Ok(measured)
}

/// The time-out for the answer of a node.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a node.
type Launch<'a, C, N> = &'a dyn Fn(Config, TcpListener) -> Starting<Started<C, N>>;

/// Starts all nodes, tells those that are to be told, and waits until no message is under way any
/// more. It knows the problem and not the algorithm, so it is compiled once for each problem.
async fn tell_all<C: Clone + Send + 'static, N>(
    scene: &impl Scene,
    (commands, until): (&[(NodeId, C)], Until),
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
    for (at, command) in commands {
        nodes.tell(*at, command.clone()).await?;
    }
    if until == Until::Told {
        for (id, heard) in setup.group.members().zip(&mut notices) {
            let told = timeout(PATIENCE, heard.recv()).await;
            told.map_err(|_| Failure::World(format!("node {id} was not told in {PATIENCE:?}")))?;
        }
    }
    match until {
        Until::Over(time) => sleep(time).await,
        Until::Quiet | Until::Told => settle(&mut nodes).await?,
    }
    nodes.stop().await
}

/// Starts a process for every node, and else does the same, with those who are to be killed killed
/// meanwhile; the records, each as a line.
async fn tell_processes(
    scene: &impl Scene,
    (commands, until): (&[(NodeId, impl ToString)], Until),
) -> Result<Recorded, Failure> {
    let nodes = scene.setup().group.size();
    let (mut group, mut news) = processes::start(nodes, |id| orders(scene, id)).await?;
    group.started().await?;
    let mut kills = Kills::of(scene);
    kills.strike(&mut group).await?;
    for (at, command) in commands.iter().filter(|(at, _)| !kills.killed().contains(at)) {
        group.tell(*at, command).await?;
    }
    let mut untold: BTreeSet<NodeId> = if until == Until::Told {
        scene.setup().group.members().collect()
    } else {
        BTreeSet::new()
    };
    let (begun, patience) = (Instant::now(), kills::patience(scene));
    while !untold.is_subset(kills.killed()) || !kills.are_over() {
        if kills.are_over() && !kills.killed().is_empty() && begun.elapsed() > patience {
            // Their records show what is missing.
            break;
        }
        if kills.are_over() && kills.killed().is_empty() && begun.elapsed() > PATIENCE {
            let missing = untold.first().copied().unwrap_or_default();
            return Err(Failure::World(format!("node {missing} was not told in {PATIENCE:?}")));
        }
        if let Some(node) = kills.next_done(&mut group, &mut news).await? {
            untold.remove(&node);
        }
    }
    match until {
        Until::Over(time) => sleep(time.saturating_sub(begun.elapsed())).await,
        Until::Quiet | Until::Told if kills.killed().is_empty() => settle(&mut group).await?,
        // Messages to a crashed node are never handled: waits as long as the run would take in a
        // simulation, or until nothing happens any more.
        Until::Quiet | Until::Told => match scene.ends_ns() {
            u64::MAX => fall_silent(&mut group).await?,
            ends_ns => sleep(Duration::from_nanos(ends_ns).saturating_sub(begun.elapsed())).await,
        },
    }
    while let Ok(news) = news.try_recv() {
        match news {
            News::Failed(node, why) if !kills.killed().contains(&node) => {
                return Err(Failure::Failed(format!("node {node}: {why}")));
            }
            News::Failed(..) | News::Done(_) => {}
        }
    }
    group.stop().await
}

/// Waits until no message has been sent or handled for a while.
async fn fall_silent(group: &mut Processes) -> Result<(), Failure> {
    const A_WHILE: Duration = Duration::from_millis(300);
    let mut last = group.counts().await?;
    loop {
        sleep(A_WHILE).await;
        let counts = group.counts().await?;
        if counts == last {
            return Ok(());
        }
        last = counts;
    }
}

/// Tells a meter of all that was recorded.
fn feed<P: Protocol, T: Meter<P::Command, P::Notice>>(meter: &mut T, records: &[Record<P>]) {
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
