//! Campaigns over real processes: every node is one. Algorithms that survive crashes by themselves
//! have their processes killed, and perhaps started again; locks on views have them stopped and cut
//! off from others as well.
//!
//! What happens in which order is not decided by a seed there: a schedule that ended badly may end
//! well when it is repeated. So what fails is shrunk to the smallest schedule that was seen to
//! fail.

use std::ops::RangeInclusive;
use std::time::Duration;

use vorrang_algorithms::election::Election;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::Parameter;
use vorrang_protocol::NodeId;
use vorrang_sim::Distribution;

use super::between_processes;
use super::judge::{Judged, judge_run};
use super::schedule::{admits, source};
use super::subject::{Footing, Subject};
use crate::catalogue::Entry;
use crate::failure::Failure;
use crate::network::{Place, Processes};
use crate::options::RunArgs;
use crate::options::fault_args::FaultArgs;
use crate::options::mutex::{LoadKind, MutexArgs};
use crate::options::whom::Whom;
use crate::problem::{Role, Survives};

const MS: u64 = 1_000_000;

/// The subjects: those that survive crashes by themselves, and locks on views.
pub(super) fn subjects(
    entries: &[&'static Entry],
    nodes: &RangeInclusive<u32>,
    flaw: Option<&str>,
) -> Result<Vec<Subject>, Failure> {
    let mut refused = None;
    let mut all = Subject::all(entries, nodes, flaw)?;
    all.retain(|it| match it.footing {
        Footing::Bare => flaw.is_none() && it.sizes.iter().any(|&size| it.survives(size).down > 0),
        // Locks on views are drawn with and without stable storage.
        Footing::Channels | Footing::Forgetful => false,
        Footing::Views => {
            let fits = between_processes::fits(it);
            let is_subject = fits.is_ok();
            refused = refused.take().or(fits.err());
            is_subject
        }
    });
    if all.is_empty() {
        return Err(refused.unwrap_or_else(|| {
            Failure::usage(
                "--processes: processes are killed, and none of the algorithms claims to survive \
                 that by itself or on views",
            )
        }));
    }
    Ok(all)
}

/// The schedule of that number.
pub(super) fn drawn(subject: &Subject, seed: u64, index: u64) -> RunArgs {
    match subject.footing {
        Footing::Views | Footing::Forgetful => between_processes::drawn(subject, seed, index),
        Footing::Bare | Footing::Channels => drawn_bare(subject, seed, index),
    }
}

/// Whether the claim of the subject covers a schedule.
pub(super) fn covers(subject: &Subject, args: &RunArgs) -> bool {
    let nodes = args.common.nodes;
    match subject.footing {
        Footing::Views | Footing::Forgetful => between_processes::covers(args),
        Footing::Bare | Footing::Channels => covers_bare(subject.survives(nodes), args),
    }
}

/// Without stable storage a process that is started again is no longer the one that it was: of
/// those that go on, a group needs as many as if it had not come back.
fn covers_bare(survives: Survives, args: &RunArgs) -> bool {
    let (nodes, faults) = (args.common.nodes, &args.faults);
    faults.crash.len() as u64 <= u64::from(survives.down)
        && admits(Survives { all_return: false, ..survives }, nodes, faults)
}

/// Kills are some hundred milliseconds apart: processes must be started, and time-outs be longer
/// than a busy machine takes.
fn drawn_bare(subject: &Subject, seed: u64, index: u64) -> RunArgs {
    let mut random = source(seed, index);
    let nodes = subject.sizes[random.below(subject.sizes.len() as u64) as usize];
    let mut args = subject.placed(RunArgs::default(), nodes);
    args.common.is_real = true;
    args.common.seed = random.below(1 << 32);
    let is_lock = subject.entry.algorithm.roles().contains(&Role::Holder);
    if is_lock {
        let entries = random.between(200, 600);
        let hold = Some(Distribution::Constant(MS));
        args.mutex = MutexArgs { entries, hold, load: LoadKind::Heavy, ..MutexArgs::default() };
    }
    if subject.entry.algorithm.about().takes.contains(&Parameter::Within) {
        args.setup.say(Parameter::Within, "100ms");
    }
    // Elections come to rest, or are ended when all follow one; what else goes on for ever lasts so
    // long, and longer only if it must.
    let goes_on = !is_lock && subject.entry.algorithm.about().problem != Election::NAME;
    args.lasting.lasting = Some(Duration::from_secs(4)).filter(|_| goes_on);
    if subject.entry.algorithm.run(&args).is_err() {
        args.lasting.lasting = None;
    }
    let survives = subject.survives(nodes);
    for _ in 0..random.between(1, 3) {
        let node = Whom::Node(NodeId(random.below(nodes.into()) as u32));
        let from_ns = random.between(1, 20) * 50 * MS;
        let to_ns = from_ns + random.between(4, 20) * 50 * MS;
        let returns = random.below(2) == 0 && returns(subject, &args);
        let mut more = args.clone();
        more.faults.crash.push((node, from_ns));
        more.faults.restart.extend(returns.then_some((node, to_ns)));
        if covers_bare(survives, &more) {
            args = more;
        }
    }
    args
}

/// Whether a process may be started again without its memory.
fn returns(subject: &Subject, args: &RunArgs) -> bool {
    let node = Whom::Node(NodeId(0));
    let (crash, restart) = (vec![(node, 1)], vec![(node, 2)]);
    let faults = FaultArgs { crash, restart, ..FaultArgs::default() };
    let args = RunArgs { faults, ..args.clone() };
    subject.entry.algorithm.run(&args).is_ok_and(|run| run.may_return())
}

/// Runs a schedule over real processes.
pub(super) fn judge(subject: &Subject, args: &RunArgs) -> Result<Judged, Failure> {
    let place = Place { at: Processes::OneEach, progress: None };
    let run =
        || judge_run(subject, || subject.entry.algorithm.run(args)?.over_tcp(place, None.into()));
    let mut judged = run()?;
    for _ in 0..between_processes::repeats(subject, args, &judged) {
        let other = run()?;
        if !other.is_like(&judged) {
            return Ok(other);
        }
        judged = other;
    }
    Ok(judged)
}
