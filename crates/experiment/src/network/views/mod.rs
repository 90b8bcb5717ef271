//! A lock on views over TCP: all nodes in this process, or a process a node that is killed, started
//! again, stopped for a while or cut off from others. Afterwards the records of all nodes are
//! merged, judged and measured like a simulated run.

mod records;
mod session;
mod temporary;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use vorrang_algorithms::mutex::{Mutex, Notice};
use vorrang_catalogue::NodeOf;
use vorrang_net::{Clock, Config, Log};
use vorrang_protocol::NodeId;
use vorrang_sim::{Fault, Workload as _};
use vorrang_trace::{Meter as _, Record, Summary, What, judge};
use vorrang_workload::mutex::Uses;

use self::records::in_order;
use self::session::{Course, Session};
use self::temporary::TemporaryDirectory;
use super::lock::{ALONE, is_alone, shift};
use super::member_on_views::{Member, ViewsOrders};
use super::once::feed;
use super::turns::Turns;
use super::worker::WorkerSetup;
use super::{Place, Processes, events, kills, local, orders, processes, runtime};
use crate::failure::Failure;
use crate::figures::{Measured, Reading};
use crate::problem::mutex::Scenario;
use crate::problem::mutex::figures::{explain_throughput, figures, of_views, show_transmissions};
use crate::problem::mutex::on_views::Views;
use crate::problem::{GuardedNodes, Scene as _, Simulated as _, run_header};
use crate::progress::Progress;
use crate::tracefile::{Keep, Tape};

/// What a run comes to.
struct Ran {
    records: Vec<Record<NodeOf<Mutex>>>,
    course: Course,
}

/// Runs a scenario on views over TCP and hands back what came of it, kept where that is wanted.
pub(super) fn run(
    scenario: &Scenario,
    (views, made): (&Views, &GuardedNodes<Mutex>),
    place: Place<'_>,
    keep: Keep<'_>,
) -> Result<Measured, Failure> {
    if place.at == Processes::One && !script(scenario).is_empty() {
        return Err(Failure::usage(
            "nodes of one process cannot be killed, stopped or cut off from each other: with \
             --net, say --processes, so that every node has one",
        ));
    }
    let start = Instant::now();
    let tape = Tape::create(keep)?;
    let (directory, _removed) = match views.data.as_deref() {
        None => (None, None),
        Some("") => {
            let new = TemporaryDirectory::new()?;
            (Some(new.path().to_owned()), Some(new))
        }
        Some(directory) => (Some(PathBuf::from(directory)), None),
    };
    let (lease, in_own_order) = views.orders();
    let own = ViewsOrders { lease, in_own_order, directory };
    let ran = match place.at {
        Processes::One => here(scenario, made, &own, place.progress)?,
        Processes::OneEach => {
            let recorded = runtime()?.block_on(in_processes(scenario, &own, place.progress))?;
            let (recorded, course) = recorded;
            let records = in_order(&(made.node)(NodeId(0)), recorded)?;
            Ran { records, course }
        }
    };
    let measured = measured(scenario, (views, made), &ran, start.elapsed());
    tape.save(run_header(scenario, place.at.typed()), &ran.records, measured.wrong())?;
    Ok(measured)
}

/// What is done to nodes and links, the first first.
fn script(scenario: &Scenario) -> Vec<(Duration, Fault)> {
    let script = scenario.between().faults.iter().flat_map(|faults| &faults.script);
    let mut script: Vec<(Duration, Fault)> =
        script.map(|(at_ns, fault)| (Duration::from_nanos(*at_ns), fault.clone())).collect();
    script.sort_by_key(|it| it.0);
    script
}

/// Runs it with all nodes in this process.
fn here(
    scenario: &Scenario,
    made: &GuardedNodes<Mutex>,
    own: &ViewsOrders,
    progress: Option<Progress<'_>>,
) -> Result<Ran, Failure> {
    let (log, clock) = (Log::new(), Clock::start());
    let members = (0..scenario.nodes()).map(NodeId);
    let members = members.map(|id| Member::new(made.entry, (&scenario.setup, id), own));
    let members: Vec<Member> = members.collect::<Result<_, _>>()?;
    let waiting: RefCell<Vec<Option<Member>>> =
        RefCell::new(members.into_iter().map(Some).collect());
    let launch = |config: Config, listener: TcpListener, turns: Turns| {
        let member = waiting.borrow_mut()[config.id.index()].take();
        let node = member.expect("a node is started once").node(config);
        node.listener(listener).record(log.clone(), clock).start_with(turns)
    };
    let course = runtime()?.block_on(async {
        let (mut group, news) = local::start(scenario, &launch).await?;
        let course = Session::new(scenario, &mut group, news, progress).run().await?;
        group.stop().await?;
        Ok::<_, Failure>(course)
    })?;
    Ok(Ran { records: log.take(), course })
}

/// Runs it with a process for every node.
async fn in_processes(
    scenario: &Scenario,
    own: &ViewsOrders,
    progress: Option<Progress<'_>>,
) -> Result<(kills::Recorded, Course), Failure> {
    let cuts = script(scenario)
        .iter()
        .any(|(_, fault)| matches!(fault, Fault::Cut(_) | Fault::Partition(_)));
    let orders = |id| WorkerSetup {
        shift: Some(shift(scenario, id)),
        returns: false,
        views: Some(own.clone()),
        ..orders(scenario, id)
    };
    let (mut group, news) = processes::start_over(cuts, scenario.nodes(), orders).await?;
    group.started().await?;
    let course = Session::new(scenario, &mut group, news, progress).run().await?;
    Ok((group.stop().await?, course))
}

/// Judges and measures a recorded run.
fn measured(
    scenario: &Scenario,
    (views, made): (&Views, &GuardedNodes<Mutex>),
    ran: &Ran,
    wall: Duration,
) -> Measured {
    let Ran { records, course } = ran;
    let card = scenario.card;
    let verdict = judge(records, views.monitor(card, &scenario.setup));
    let mut meter = Mutex::workload(scenario).meter(scenario.nodes(), made.kinds);
    feed(&mut meter, records);
    let Uses { turns, used } = meter.summary();
    // By heartbeats nodes hear of each other, and the algorithm does not know.
    let summary = Summary { overtakes: None, ..turns };
    let late = used.as_ref().filter(|it| it.late != it.refused).map(|it| {
        format!(
            "fencing: of {} stale writes a resource that checks fencing tokens refuses {}",
            it.late, it.refused
        )
    });
    let first = verdict.violations.first();
    let violated_ns = first.map(|&(place, _)| records[place].at_ns);
    let first = first.map(|(_, violation)| violation.to_string());
    let owed = verdict.owed.as_ref().map(ToString::to_string);
    let stopped = (!course.is_over).then(|| STOPPED.to_owned());
    let owed = owed.filter(|_| !course.is_over).or(stopped);
    let mut figures = figures(card, &summary, (" us", 1_000.0), (" per s", 1e9), &|_| None);
    let hold = scenario.hold_over_tcp();
    explain_throughput(&mut figures, scenario, &summary, (hold, (" per s", 1e9)));
    show_transmissions(&mut figures, scenario.broadcast_medium);
    figures.extend(of_views(scenario, used.as_ref(), (" us", 1_000.0)));
    let views_seen = views_of(records);
    for figure in figures.iter_mut().filter(|it| it.key == "views") {
        // Numbers of views begin with a time there.
        figure.value = Reading::Count(views_seen);
    }
    Measured {
        name: card.name,
        seed: scenario.seed(),
        head: scenario.head(true),
        figures,
        faults: scenario.between().faults.as_ref().map(|_| course.struck),
        done: (summary.entries, scenario.total()),
        safe: first.is_none() && late.is_none(),
        quiescent: owed.is_none(),
        violation: first.or(late).or(owed),
        violated_ns,
        events: events(records),
        wall_seconds: wall.as_secs_f64(),
        warning: is_alone(scenario, records).then(|| ALONE.to_owned()),
    }
}

/// How many views there were.
fn views_of(records: &[Record<NodeOf<Mutex>>]) -> u64 {
    let number = |record: &Record<NodeOf<Mutex>>| match record.what {
        What::Notice(Notice::View { number, .. }) => Some(number),
        _ => None,
    };
    records.iter().filter_map(number).collect::<BTreeSet<u64>>().len() as u64
}

/// Said of a run that was given up though nobody is known to wait.
const STOPPED: &str = "progress: nobody has entered for long, though some have not had all their \
                       turns";
