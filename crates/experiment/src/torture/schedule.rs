//! The schedules of a campaign: what goes wrong in a run is drawn from the seed of the campaign and
//! the number of the run, and from nothing else.
//!
//! A drawn schedule is a list of options, as it could have been typed. It stays within what its
//! subject claims to survive: so many are down at a time and no more, everything but crashes comes
//! to an end, and what can be owed in the end is owed. Half of all faults follow closely upon
//! another, since what repairs a fault is struck best while it is at work.

use std::time::Duration;

use vorrang_protocol::NodeId;
use vorrang_sim::{Distribution, Link, Partition, Random, Share, Skew, Slow, Slowness};

use super::subject::Subject;
use crate::options::RunArgs;
use crate::options::fault_args::{During, FaultArgs};
use crate::options::whom::Whom;
use crate::problem::{Role, Survives};

/// T, the mean latency of all runs.
const T: u64 = 1_000_000;
/// Times are whole numbers of these, so that they can be read, and fall between messages too.
const TICK: u64 = T / 10;
/// So long after a network has fallen apart or become whole an election is over: a crash is noticed
/// after some 6 T, and an election takes some 9 T.
const BETWEEN_PARTITIONS: u64 = 30 * T;
/// At most so many faults of nodes and links in a schedule.
const MOST_FAULTS: u64 = 6;

/// The source of the schedule of that number: one for every seed and number, and neighbouring
/// numbers have nothing in common.
pub(super) fn source(seed: u64, index: u64) -> Random {
    let mut random = Random::new(seed);
    Random::new(random.below(u64::MAX) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The schedule of that number.
pub(super) fn drawn(subject: &Subject, seed: u64, index: u64) -> RunArgs {
    let mut random = source(seed, index);
    let nodes = *pick(&mut random, &subject.sizes);
    let mut survives = subject.survives(nodes);
    let mut has_lease = false;
    if subject.footing.is_on_views() && survives.delays {
        // Where nobody is suspected wrongly, or leases run out in time, no two may be inside at
        // all:
        // else it is the fencing tokens that count.
        has_lease = random.below(2) == 0;
        match random.below(6) {
            0 | 1 => survives = Survives::crashes(survives.down),
            2 => survives.delays = false,
            _ => {}
        }
    }
    let trials = subject.entry.algorithm.trials(nodes);
    let mut args = subject.placed(pick(&mut random, &trials).clone(), nodes);
    args.common.seed = random.below(1 << 32);
    let longer = random.between(1, 4);
    args.mutex.entries = args.mutex.entries.saturating_mul(longer);
    args.multicast.multicasts = args.multicast.multicasts.map(|many| many * longer);
    if random.below(3) == 0 {
        args.common.latency = Some(Distribution::Constant(T));
    }
    // Some stay for longer than it takes to agree on a view.
    let stays = [Distribution::Constant(3 * T), Distribution::Constant(20 * T)];
    let stays = [&stays[..], &[Distribution::Uniform(TICK, 20 * T)]].concat();
    if random.below(2) == 0 && args.mutex.hold.is_none() {
        args.mutex.hold = Some(*pick(&mut random, &stays));
    }
    let stay = args.mutex.hold.map_or(T, |hold| hold.mean_ns() as u64);
    // About as long as it takes if nothing goes wrong.
    let window = 20 * T + args.mutex.entries.min(100) * (stay + random.between(0, 3) * T);
    let mut draw = Draw { random, nodes, survives, window, last_ns: 0, faults: Vec::new() };
    for _ in 0..draw.random.between(1, MOST_FAULTS) {
        draw.add();
    }
    let (faults, mut random) = (draw.faults, draw.random);
    args.faults = merged(faults);
    if !subject.entry.algorithm.roles().contains(&Role::Holder) {
        // Whoever is to begin must be up for that.
        for crash in &mut args.faults.crash {
            crash.1 = crash.1.max(TICK);
        }
    }
    if survives.messages && random.below(2) == 0 {
        shares(&mut args.faults, window, &mut random);
    }
    if has_lease {
        lease(&mut args, nodes, &mut random);
    }
    args
}

fn pick<'a, I>(random: &mut Random, all: &'a [I]) -> &'a I {
    &all[random.below(all.len() as u64) as usize]
}

/// Some of all messages are lost, doubled and overtaken for a while.
fn shares(faults: &mut FaultArgs, window: u64, random: &mut Random) {
    let mut share = || -> Option<Share> {
        let percent = random.between(0, 10);
        format!("{percent}%").parse().ok().filter(|_| percent > 0)
    };
    (faults.loss, faults.duplicate, faults.reorder) = (share(), share(), share());
    if faults.loss.is_some() || faults.duplicate.is_some() || faults.reorder.is_some() {
        faults.faults_until = Some(window);
    }
}

/// A lease, and a clock that is as wrong as was assumed.
fn lease(args: &mut RunArgs, nodes: u32, random: &mut Random) {
    args.views.lease = Some(Duration::from_millis(random.between(5, 40)));
    if random.below(2) == 0 {
        let per_mille = random.between(800, 1250) as u32;
        let skew = Skew { node: NodeId(random.below(nodes.into()) as u32), per_mille };
        args.views.drift = Some(skew.drift_per_mille());
        args.faults.skew = vec![skew];
    }
}

/// A schedule in the making.
struct Draw {
    random: Random,
    nodes: u32,
    survives: Survives,
    window: u64,
    /// When the last fault began.
    last_ns: u64,
    /// Each fault by itself: a crash with its restart.
    faults: Vec<FaultArgs>,
}

impl Draw {
    /// One more fault, if it fits.
    fn add(&mut self) {
        let from_ns = self.begins();
        let Survives { messages, delays, partitions, down, .. } = self.survives;
        let kinds = [(down > 0, 0), (down > 0, 0), (delays, 1), (partitions, 2), (delays, 3)];
        let kinds = kinds.into_iter().chain([(partitions && messages, 4)]);
        let kinds: Vec<u8> = kinds.filter(|it| it.0).map(|it| it.1).collect();
        if kinds.is_empty() {
            return;
        }
        let fault = match *pick(&mut self.random, &kinds) {
            0 => Some(self.crash(from_ns)),
            1 => Some(self.pause(from_ns)),
            2 => self.partition(from_ns),
            3 => Some(self.slow(from_ns)),
            _ => self.cut(from_ns),
        };
        let Some(fault) = fault else { return };
        self.faults.push(fault);
        if admits(self.survives, self.nodes, &merged(self.faults.clone())) {
            self.last_ns = from_ns;
        } else {
            self.faults.pop();
        }
    }

    /// Some time after the last fault began, or at any time.
    fn begins(&mut self) -> u64 {
        let (low, high) = match self.random.below(2) {
            0 => (self.last_ns, self.last_ns + 20 * T),
            _ => (0, self.window),
        };
        self.random.between(low / TICK, high / TICK) * TICK
    }

    fn ends(&mut self, from_ns: u64, shortest: u64, longest: u64) -> u64 {
        from_ns + self.random.between(shortest * (T / TICK), longest * (T / TICK)) * TICK
    }

    fn node(&mut self) -> NodeId {
        NodeId(self.random.below(self.nodes.into()) as u32)
    }

    fn crash(&mut self, from_ns: u64) -> FaultArgs {
        let node = Whom::Node(self.node());
        let to_ns = self.ends(from_ns, 1, 60);
        let returns = self.random.below(4) > 0 || self.survives.all_return;
        let restart = returns.then_some((node, to_ns)).into_iter().collect();
        FaultArgs { crash: vec![(node, from_ns)], restart, ..FaultArgs::default() }
    }

    fn pause(&mut self, from_ns: u64) -> FaultArgs {
        let (what, to_ns) = (Whom::Node(self.node()), self.ends(from_ns, 1, 50));
        let pause = vec![During { what, from_ns, to_ns: Some(to_ns) }];
        FaultArgs { pause, ..FaultArgs::default() }
    }

    fn partition(&mut self, from_ns: u64) -> Option<FaultArgs> {
        let nodes = (0..self.nodes).map(NodeId);
        let side: Vec<NodeId> = nodes.filter(|_| self.random.below(2) == 0).collect();
        let to_ns = self.ends(from_ns, 2, 80);
        let what = Partition::new(&[side]).ok().filter(|it| it.is_real(self.nodes))?;
        let partition = vec![During { what, from_ns, to_ns: Some(to_ns) }];
        Some(FaultArgs { partition, ..FaultArgs::default() })
    }

    fn cut(&mut self, from_ns: u64) -> Option<FaultArgs> {
        let (from, to, to_ns) = (self.node(), self.node(), self.ends(from_ns, 2, 80));
        let both_ways = self.random.below(2) == 0;
        let cut = vec![During { what: Link { from, to, both_ways }, from_ns, to_ns: Some(to_ns) }];
        (from != to).then(|| FaultArgs { cut, ..FaultArgs::default() })
    }

    fn slow(&mut self, from_ns: u64) -> FaultArgs {
        let (one, other, to_ns) = (self.node(), self.node(), self.ends(from_ns, 5, 80));
        let (both_ways, whole) = (self.random.below(2) == 0, self.random.below(4) == 0);
        let by = Slowness::Times(self.random.between(2, 20) as u32);
        let to = (!whole).then_some(other).filter(|other| *other != one);
        let what = Slow { from: Some(one), to, both_ways, by };
        let slow = vec![During { what, from_ns, to_ns: Some(to_ns) }];
        FaultArgs { slow, ..FaultArgs::default() }
    }
}

/// Whether so many nodes can survive these faults, if what they claim is true.
pub(super) fn admits(survives: Survives, nodes: u32, faults: &FaultArgs) -> bool {
    // As long as a node is down it can neither crash nor pause, and as long as it pauses not pause.
    if faults.faults(nodes, T, 0).is_err() {
        return false;
    }
    let happens_to_messages = faults.loss.is_some()
        || faults.duplicate.is_some()
        || faults.reorder.is_some()
        || !(faults.lose.is_empty() && faults.double.is_empty() && faults.delay.is_empty());
    let delays = !faults.slow.is_empty() || !faults.pause.is_empty();
    let is_allowed = (survives.messages || !happens_to_messages)
        && (survives.delays || !delays)
        && (survives.partitions || faults.partition.is_empty())
        && (survives.partitions && survives.messages || faults.cut.is_empty());
    // Whoever needs every message loses some when the network falls apart: time to elect once more.
    let mut falls: Vec<u64> =
        faults.partition.iter().flat_map(|it| [Some(it.from_ns), it.to_ns]).flatten().collect();
    falls.sort_unstable();
    let is_apart = |two: &[u64]| two[1] - two[0] >= BETWEEN_PARTITIONS;
    let is_calm = survives.messages || falls.windows(2).all(is_apart);
    let all_end = faults.partition.iter().all(|it| it.to_ns.is_some())
        && faults.cut.iter().all(|it| it.to_ns.is_some())
        && faults.slow.iter().all(|it| it.to_ns.is_some());
    // Restarts come after all else of an instant, so that a node is down until then.
    let mut changes: Vec<(u64, i64)> = faults.crash.iter().map(|&(_, at_ns)| (at_ns, 1)).collect();
    changes.extend(faults.restart.iter().map(|&(_, at_ns)| (at_ns, -1)));
    changes.sort_by_key(|&(at_ns, by)| (at_ns, -by));
    let (mut down, mut most) = (0, 0);
    for (_, by) in changes {
        down += by;
        most = most.max(down);
    }
    let returns = !survives.all_return || down == 0;
    is_allowed && is_calm && all_end && returns && most <= i64::from(survives.down)
}

/// Faults that were drawn one by one, as one plan.
pub(super) fn merged(all: Vec<FaultArgs>) -> FaultArgs {
    let mut plan = FaultArgs::default();
    for it in all {
        plan.crash.extend(it.crash);
        plan.restart.extend(it.restart);
        plan.pause.extend(it.pause);
        plan.skew.extend(it.skew);
        plan.partition.extend(it.partition);
        plan.cut.extend(it.cut);
        plan.slow.extend(it.slow);
        plan.lose.extend(it.lose);
        plan.double.extend(it.double);
        plan.delay.extend(it.delay);
        plan.loss = it.loss.or(plan.loss);
        plan.duplicate = it.duplicate.or(plan.duplicate);
        plan.reorder = it.reorder.or(plan.reorder);
        plan.faults_until = it.faults_until.or(plan.faults_until);
    }
    plan.crash.sort_by_key(|&(_, at_ns)| at_ns);
    plan.restart.sort_by_key(|&(_, at_ns)| at_ns);
    plan
}

/// A plan as faults that can be left out one by one: a crash with its restart.
pub(super) fn parted(plan: &FaultArgs) -> Vec<FaultArgs> {
    let none = FaultArgs::default;
    let mut all = Vec::new();
    let mut restarts = plan.restart.clone();
    for &(whom, at_ns) in &plan.crash {
        let its = |it: &&(Whom, u64)| it.0 == whom && it.1 >= at_ns;
        let back = restarts.iter().filter(its).map(|it| it.1).min().map(|at_ns| (whom, at_ns));
        restarts.retain(|it| Some(*it) != back);
        let (crash, restart) = (vec![(whom, at_ns)], back.into_iter().collect());
        all.push(FaultArgs { crash, restart, ..none() });
    }
    all.extend(plan.pause.iter().map(|it| FaultArgs { pause: vec![it.clone()], ..none() }));
    let cuts = plan.partition.iter();
    all.extend(cuts.map(|it| FaultArgs { partition: vec![it.clone()], ..none() }));
    all.extend(plan.cut.iter().map(|it| FaultArgs { cut: vec![it.clone()], ..none() }));
    all.extend(plan.slow.iter().map(|it| FaultArgs { slow: vec![it.clone()], ..none() }));
    all.extend(plan.skew.iter().map(|it| FaultArgs { skew: vec![*it], ..none() }));
    all.extend(plan.lose.iter().map(|it| FaultArgs { lose: vec![*it], ..none() }));
    all.extend(plan.double.iter().map(|it| FaultArgs { double: vec![*it], ..none() }));
    all.extend(plan.delay.iter().map(|it| FaultArgs { delay: vec![*it], ..none() }));
    let faults_until = plan.faults_until;
    let shares = [
        FaultArgs { loss: plan.loss, faults_until, ..none() },
        FaultArgs { duplicate: plan.duplicate, faults_until, ..none() },
        FaultArgs { reorder: plan.reorder, faults_until, ..none() },
    ];
    let draws =
        |it: &FaultArgs| it.loss.is_some() || it.duplicate.is_some() || it.reorder.is_some();
    all.extend(shares.into_iter().filter(draws));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::options::fault_args::parse_during;

    fn node(id: u32) -> Whom {
        Whom::Node(NodeId(id))
    }

    fn crashes(crash: &[(u32, u64)], restart: &[(u32, u64)]) -> FaultArgs {
        let at = |all: &[(u32, u64)]| all.iter().map(|&(id, ms)| (node(id), ms * T)).collect();
        FaultArgs { crash: at(crash), restart: at(restart), ..FaultArgs::default() }
    }

    #[test]
    fn a_majority_is_up_at_any_time_or_the_claim_does_not_cover_it() {
        let admits = |faults: &FaultArgs| admits(Survives::majority(5), 5, faults);
        assert!(admits(&crashes(&[(0, 1), (1, 2)], &[])));
        assert!(!admits(&crashes(&[(0, 1), (1, 2), (2, 3)], &[])));
        assert!(admits(&crashes(&[(0, 1), (1, 2), (2, 9)], &[(0, 5)])));
        assert!(!admits(&crashes(&[(0, 1), (1, 2), (2, 5)], &[(0, 5)])), "all at once at 5 ms");
        assert!(!admits(&crashes(&[(0, 1)], &[(1, 5)])), "node 1 is not down");
        let all_return = Survives { all_return: true, ..Survives::majority(5) };
        let one = crashes(&[(0, 1)], &[]);
        assert!(!super::admits(all_return, 5, &one));
        assert!(super::admits(all_return, 5, &crashes(&[(0, 1)], &[(0, 2)])));
        assert!(!super::admits(Survives::LINKS, 5, &one), "nobody may crash");
    }

    #[test]
    fn what_is_not_claimed_or_never_ends_is_not_covered() {
        let cut = |text: &str| FaultArgs {
            partition: vec![parse_during(text).unwrap()],
            ..FaultArgs::default()
        };
        assert!(admits(Survives::LINKS, 3, &cut("0|1,2@1ms..5ms")));
        assert!(!admits(Survives::LINKS, 3, &cut("0|1,2@1ms..")));
        let link = |text: &str| FaultArgs {
            cut: vec![parse_during(text).unwrap()],
            ..FaultArgs::default()
        };
        assert!(admits(Survives::LINKS, 3, &link("0->1@1ms..5ms")));
        assert!(!admits(Survives::LINKS, 3, &link("0->1@1ms..")));
        let every_message = Survives { messages: false, ..Survives::LINKS };
        assert!(!admits(every_message, 3, &link("0->1@1ms..5ms")));
        assert!(!admits(every_message, 3, &cut("0|1,2@1ms..5ms")));
        assert!(admits(every_message, 3, &cut("0|1,2@1ms..31ms")));
        assert!(!admits(Survives::crashes(2), 3, &link("0->1@1ms..5ms")));
        assert!(!admits(Survives::crashes(2), 3, &cut("0|1,2@1ms..5ms")));
        let lost = FaultArgs { lose: vec![3], ..FaultArgs::default() };
        assert!(admits(Survives::LINKS, 3, &lost));
        assert!(!admits(Survives::crashes(2), 3, &lost));
        let slow = |text: &str| FaultArgs {
            slow: vec![parse_during(text).unwrap()],
            ..FaultArgs::default()
        };
        assert!(admits(Survives::LINKS, 3, &slow("0-1:x3@1ms..5ms")));
        assert!(!admits(Survives::LINKS, 3, &slow("0-1:x3")));
        assert!(!admits(Survives::crashes(2), 3, &slow("0-1:x3@1ms..5ms")));
    }

    #[test]
    fn a_schedule_depends_on_seed_and_number_alone_and_stays_within_the_claim() {
        let entries = ["raymond", "virtual-synchrony", "regenerating-ring", "ack"];
        let entries: Vec<_> = entries.iter().map(|name| lookup::algorithm(name).unwrap()).collect();
        let subjects = Subject::all(&entries, &(3..=5), None).unwrap();
        assert_eq!(
            subjects.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "raymond --reliable",
                "raymond --on-views",
                "raymond --on-views --forgetful",
                "virtual-synchrony",
                "regenerating-ring",
                "regenerating-ring --on-views",
                "regenerating-ring --on-views --forgetful",
                "ack",
            ]
        );
        let mut kinds = [0; 8];
        for (index, subject) in (0..800).zip(subjects.iter().cycle()) {
            let shown = |seed, index| {
                let args = drawn(subject, seed, index);
                let run = subject.entry.algorithm.run(&args).unwrap_or_else(|it| panic!("{it}"));
                (run.options(false), args)
            };
            let (options, args) = shown(7, index);
            assert_eq!(options, shown(7, index).0);
            assert_ne!(options, shown(8, index).0);
            let nodes = args.common.nodes;
            assert!(admits(subject.survives(nodes), nodes, &args.faults), "{options}");
            let faults = &args.faults;
            for (count, is_there) in kinds.iter_mut().zip([
                !faults.crash.is_empty(),
                !faults.restart.is_empty(),
                !faults.pause.is_empty(),
                !faults.partition.is_empty(),
                !faults.slow.is_empty(),
                faults.cut.iter().any(|it| it.what.both_ways),
                faults.cut.iter().any(|it| !it.what.both_ways),
                faults.loss.is_some(),
            ]) {
                *count += u32::from(is_there);
            }
        }
        assert!(kinds.iter().all(|&count| count > 60), "{kinds:?}");
    }

    #[test]
    fn a_plan_is_put_together_again_as_it_was() {
        let mut plan = crashes(&[(0, 1), (1, 2), (0, 9)], &[(0, 5), (0, 12)]);
        plan.pause = vec![During { what: node(2), from_ns: T, to_ns: Some(3 * T) }];
        plan.cut = vec![parse_during("0->1@1ms..5ms").unwrap()];
        plan.loss = "3%".parse().ok();
        plan.faults_until = Some(9 * T);
        let parts = parted(&plan);
        assert_eq!(parts.len(), 6);
        assert_eq!(parts[0], crashes(&[(0, 1)], &[(0, 5)]));
        assert_eq!(parts[2], crashes(&[(0, 9)], &[(0, 12)]));
        assert_eq!(merged(parts), plan);
    }
}
