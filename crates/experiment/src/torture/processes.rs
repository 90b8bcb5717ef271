//! Campaigns over real processes: every node is one, and a fault is that it is killed, and perhaps
//! started again.
//!
//! What happens in which order is not decided by a seed there: a schedule that ended badly may end
//! well when it is repeated. So nothing is shrunk.

use std::ops::RangeInclusive;
use std::time::Duration;

use vorrang_algorithms::setup::Parameter;
use vorrang_protocol::NodeId;
use vorrang_sim::Distribution;

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

/// The subjects: those that survive crashes by themselves.
pub(super) fn subjects(
    entries: &[&'static Entry],
    nodes: &RangeInclusive<u32>,
) -> Result<Vec<Subject>, Failure> {
    let mut all = Subject::all(entries, nodes, None)?;
    all.retain(|it| {
        it.footing == Footing::Bare && it.sizes.iter().any(|&size| it.survives(size).down > 0)
    });
    if all.is_empty() {
        return Err(Failure::usage(
            "--processes: processes are killed, and none of the algorithms claims to survive that \
             by itself",
        ));
    }
    Ok(all)
}

/// The schedule of that number. Kills are some hundred milliseconds apart: processes must be
/// started, and time-outs be longer than a busy machine takes.
pub(super) fn drawn(subject: &Subject, seed: u64, index: u64) -> RunArgs {
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
    args.lasting.lasting = Some(Duration::from_secs(4)).filter(|_| !is_lock);
    // Some come to rest by themselves.
    if subject.entry.algorithm.run(&args).is_err() {
        args.lasting.lasting = None;
    }
    let survives = subject.survives(nodes);
    for _ in 0..random.between(1, 3) {
        let node = Whom::Node(NodeId(random.below(nodes.into()) as u32));
        let from_ns = random.between(1, 20) * 50 * MS;
        let to_ns = from_ns + random.between(4, 20) * 50 * MS;
        let returns = random.below(2) == 0 && returns(subject, &args);
        let mut faults = args.faults.clone();
        faults.crash.push((node, from_ns));
        faults.restart.extend(returns.then_some((node, to_ns)));
        // Without stable storage a process that is started again is no longer the one that it was:
        // of those that go on, a group needs as many as if it had not come back.
        let is_enough = faults.crash.len() as u64 <= u64::from(survives.down);
        if is_enough && admits(Survives { all_return: false, ..survives }, nodes, &faults) {
            args.faults = faults;
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
    judge_run(subject, || subject.entry.algorithm.run(args)?.over_tcp(place, None.into()))
}
