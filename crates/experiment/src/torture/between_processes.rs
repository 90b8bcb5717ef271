//! The schedules of locks on views over real processes: kill -9 and perhaps a restart, SIGSTOP and
//! SIGCONT, and links that are cut, one or all of a node; with stable storage and without.
//!
//! **The claim.** With stable storage the group goes on whenever a majority of the founders is up
//! and connected: so anything may happen that leaves one in the end. Without, members of a view
//! decide on the next, and each fault takes one of them at most: so there are as many faults as a
//! majority of the first view survives, whether what they strike comes back or not.

use std::time::Duration;

use vorrang_algorithms::setup::Parameter;
use vorrang_protocol::NodeId;
use vorrang_sim::{Distribution, Link, Partition, Random};

use super::judge::Judged;
use super::schedule::{merged, source};
use super::subject::{Footing, Subject};
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::options::fault_args::{During, FaultArgs};
use crate::options::mutex::{LoadKind, MutexArgs};
use crate::options::whom::Whom;
use crate::problem::minority;
use crate::survive::Verdict;

const MS: u64 = 1_000_000;
/// Times are whole numbers of these.
const TICK: u64 = 50 * MS;
/// By when the last fault has begun, after the first entry.
const WINDOW: u64 = 40;
/// How long a fault lasts, unless it is for good.
const LENGTHS: (u64, u64) = (2, 30);
/// At most so many faults in a schedule.
const MOST_FAULTS: u64 = 5;
/// Members say so often that they are there, and may be so late: a crash is noticed soon, and a
/// process that a busy machine keeps waiting is not suspected for that, most of the time.
const PACE: [(Parameter, &str); 2] = [(Parameter::Beat, "50ms"), (Parameter::Margin, "250ms")];
/// Without stable storage a run that gets stuck is repeated so often before it counts: a busy
/// machine may have had a member suspected that nothing befell, and then there was one fault too
/// many.
const REPEATS: u32 = 2;

/// Whether there are such schedules of a subject, or why not.
pub(super) fn fits(subject: &Subject) -> Result<(), Failure> {
    let nodes = subject.sizes.iter().copied().max().unwrap_or_default();
    if minority(nodes) == 0 {
        return Err(Failure::usage(format!(
            "--nodes {nodes} --processes: of two processes on views no majority is left if one is \
             killed: three at least"
        )));
    }
    let mut args = begun(subject, nodes);
    args.faults.crash = vec![(Whom::Node(NodeId(0)), TICK)];
    subject.entry.algorithm.run(&args).map(drop)
}

/// A run without faults, to begin with.
fn begun(subject: &Subject, nodes: u32) -> RunArgs {
    let mut args = subject.placed(RunArgs::default(), nodes);
    args.common.is_real = true;
    args.mutex = MutexArgs { load: LoadKind::Heavy, ..MutexArgs::default() };
    for (parameter, text) in PACE {
        args.setup.say(parameter, text);
    }
    args
}

/// The schedule of that number.
pub(super) fn drawn(subject: &Subject, seed: u64, index: u64) -> RunArgs {
    let mut random = source(seed, index);
    let sizes: Vec<u32> = subject.sizes.iter().copied().filter(|&it| minority(it) > 0).collect();
    let nodes = sizes[random.below(sizes.len() as u64) as usize];
    let mut args = begun(subject, nodes);
    args.common.seed = random.below(1 << 32);
    args.views.data = (random.below(2) == 0).then(String::new);
    args.views.lease =
        (random.below(3) == 0).then(|| Duration::from_millis(random.between(4, 20) * 50));
    // As long as faults begin, somebody is inside.
    args.mutex.hold = Some(match random.below(3) {
        0 => Distribution::Uniform(MS, 19 * MS),
        _ => Distribution::Constant(10 * MS),
    });
    args.mutex.entries = random.between(200, 300);
    let (mut faults, mut last) = (Vec::new(), 0);
    for _ in 0..random.between(1, MOST_FAULTS) {
        // Half of all follow closely upon another.
        let from = match random.below(2) {
            0 => last + random.between(0, 10),
            _ => random.between(0, WINDOW),
        };
        faults.push(fault(&mut random, nodes, from.min(WINDOW) * TICK));
        let more = RunArgs { faults: merged(faults.clone()), ..args.clone() };
        if covers(&more) {
            (args, last) = (more, from);
        } else {
            faults.pop();
        }
    }
    args
}

/// One fault that begins then.
fn fault(random: &mut Random, nodes: u32, from_ns: u64) -> FaultArgs {
    let nothing = FaultArgs::default;
    let to_ns = from_ns + random.between(LENGTHS.0, LENGTHS.1) * TICK;
    let whom = NodeId(random.below(nodes.into()) as u32);
    match random.below(5) {
        0 | 1 => {
            let returns = random.below(4) > 0;
            let (crash, restart) = ((Whom::Node(whom), from_ns), (Whom::Node(whom), to_ns));
            let restart = returns.then_some(restart).into_iter().collect();
            FaultArgs { crash: vec![crash], restart, ..nothing() }
        }
        2 => {
            let pause = During { what: Whom::Node(whom), from_ns, to_ns: Some(to_ns) };
            FaultArgs { pause: vec![pause], ..nothing() }
        }
        3 => {
            let to = NodeId((whom.0 + 1 + random.below(u64::from(nodes) - 1) as u32) % nodes);
            let what = Link { from: whom, to, both_ways: random.below(2) == 0 };
            FaultArgs { cut: vec![During { what, from_ns, to_ns: Some(to_ns) }], ..nothing() }
        }
        _ => {
            let alone = Partition::new(&[vec![whom]]).expect("one node is a side");
            let partition = During { what: alone, from_ns, to_ns: Some(to_ns) };
            FaultArgs { partition: vec![partition], ..nothing() }
        }
    }
}

/// Whether the claim covers a schedule.
pub(super) fn covers(args: &RunArgs) -> bool {
    let (nodes, faults) = (args.common.nodes, &args.faults);
    let is_possible = faults.faults(nodes, MS, 0).is_ok();
    let all_end = faults.partition.iter().all(|it| it.to_ns.is_some())
        && faults.cut.iter().all(|it| it.to_ns.is_some());
    let stay_down = faults.crash.len().saturating_sub(faults.restart.len());
    let alone = |it: &During<Partition>| it.what.named().count();
    let struck = faults.crash.len()
        + faults.pause.len()
        + faults.cut.len()
        + faults.partition.iter().map(alone).sum::<usize>();
    let most = if args.views.data.is_some() { stay_down } else { struck };
    is_possible && all_end && most <= minority(nodes) as usize
}

/// How often a run is to be repeated before it counts.
pub(super) fn repeats(subject: &Subject, args: &RunArgs, judged: &Judged) -> u32 {
    let is_unsure = subject.footing == Footing::Views
        && args.views.data.is_none()
        && judged.verdict == Verdict::Stuck;
    if is_unsure { REPEATS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::options::fault_args::parse_pause;

    fn raymond(nodes: std::ops::RangeInclusive<u32>) -> Subject {
        let entries = [lookup::algorithm("raymond").unwrap()];
        let all = Subject::all(&entries, &nodes, None).unwrap();
        all.into_iter().find(|it| it.footing == Footing::Views).unwrap()
    }

    #[test]
    fn schedules_stay_within_the_claim_and_have_everything_in_them() {
        let subject = raymond(3..=5);
        let mut kinds = [0; 9];
        for index in 0..300 {
            let args = drawn(&subject, 3, index);
            assert!(covers(&args), "{:?}", args.faults);
            let run = subject.entry.algorithm.run(&args).unwrap_or_else(|it| panic!("{it}"));
            let again = subject.entry.algorithm.run(&drawn(&subject, 3, index)).unwrap();
            assert_eq!(run.options(true), again.options(true));
            assert!(run.options(true).contains(" --beat 50ms "), "{}", run.options(true));
            let faults = &args.faults;
            for (count, is_there) in kinds.iter_mut().zip([
                !faults.crash.is_empty(),
                !faults.restart.is_empty(),
                !faults.pause.is_empty(),
                !faults.partition.is_empty(),
                faults.cut.iter().any(|it| it.what.both_ways),
                faults.cut.iter().any(|it| !it.what.both_ways),
                args.views.data.is_some(),
                args.views.data.is_none(),
                args.views.lease.is_some(),
            ]) {
                *count += u32::from(is_there);
            }
        }
        assert!(kinds.iter().all(|&count| count > 30), "{kinds:?}");
    }

    #[test]
    fn on_disk_a_majority_in_the_end_is_enough_and_without_one_all_the_time() {
        let args = |disk: bool, down: &[u32], again: &[u32]| {
            let mut args = begun(&raymond(5..=5), 5);
            args.views.data = disk.then(String::new);
            args.faults.crash = down.iter().map(|&it| (Whom::Node(NodeId(it)), MS)).collect();
            args.faults.restart =
                again.iter().map(|&it| (Whom::Node(NodeId(it)), 2 * MS)).collect();
            args
        };
        assert!(covers(&args(true, &[0, 1, 2, 3, 4], &[2, 3, 4])));
        assert!(!covers(&args(true, &[0, 1, 2], &[])));
        assert!(covers(&args(false, &[0, 1], &[])) && !covers(&args(false, &[0, 1, 2], &[2])));
        let mut paused = args(false, &[0, 1], &[0, 1]);
        paused.faults.pause = vec![parse_pause("2@1ms..9ms").unwrap()];
        assert!(!covers(&paused), "its view may be without it when the others have forgotten it");
        paused.views.data = Some(String::new());
        assert!(covers(&paused));
    }

    #[test]
    fn two_processes_are_too_few() {
        let why = fits(&raymond(2..=2)).unwrap_err().to_string();
        assert!(why.contains("three at least"), "{why}");
        fits(&raymond(3..=3)).unwrap();
    }
}
