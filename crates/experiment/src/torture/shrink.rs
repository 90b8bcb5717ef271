//! Shrinking: from a schedule that ends badly to one of which nothing can be left out.
//!
//! After Zeller and Hildebrandt, *Simplifying and isolating failure-inducing input*, IEEE
//! Transactions on Software Engineering 28(2), 2002: parts of the faults are left out, first many
//! at once and then one by one, as long as the run is wrong in the same way. Then there are fewer
//! nodes and requests, plainer options, and earlier and shorter faults. Messages that were lost by
//! chance become messages that are lost by number, which changes nothing else in a run.

use std::time::Instant;

use vorrang_algorithms::setup::Parameter;
use vorrang_protocol::NodeId;
use vorrang_sim::{Distribution, Link, Partition, Slow};
use vorrang_trace::{Fault, Loss, What};

use super::judge::Judged;
use super::schedule::{merged, parted};
use super::subject::Subject;
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::options::fault_args::{During, FaultArgs};
use crate::options::mutex::LoadKind;
use crate::options::whom::Whom;
use crate::values::roundest;

/// The smaller ones of a schedule, of one kind.
type Smaller = fn(&RunArgs) -> Vec<RunArgs>;

/// How schedules are tried, and for how long.
pub(super) struct Trials<'a> {
    /// What comes of one.
    pub(super) judge: &'a dyn Fn(&RunArgs) -> Result<Judged, Failure>,
    /// Whether the claim of the subject covers it.
    pub(super) admits: &'a dyn Fn(&RunArgs) -> bool,
    /// In what else they can be smaller than that they have fewer faults.
    pub(super) smaller: &'a [Smaller],
    /// How many may be tried.
    pub(super) most: u32,
    /// Until when.
    pub(super) until: Option<Instant>,
}

impl Trials<'_> {
    /// Of all that makes a schedule smaller in the simulator.
    pub(super) const ALL: &'static [Smaller] =
        &[fewer_nodes, fewer_requests, plainer, earlier, sooner];
    /// The same between processes, where each trial takes seconds.
    pub(super) const FEW: &'static [Smaller] = &[fewer_nodes, half_the_requests, earlier];
}

/// A schedule, what came of it, and how many runs may be made yet.
struct Shrinking<'a> {
    subject: &'a Subject,
    args: RunArgs,
    judged: Judged,
    trials: Trials<'a>,
}

/// The smallest schedule that was found from this one, wrong in the same way, and what comes of it.
pub(super) fn shrunk(
    subject: &Subject,
    args: RunArgs,
    judged: Judged,
    trials: Trials<'_>,
) -> Result<(RunArgs, Judged), Failure> {
    let smaller = trials.smaller;
    let mut it = Shrinking { subject, args, judged, trials };
    loop {
        let mut is_smaller = it.leave_out()?;
        if let Some(numbered) = it.numbered()? {
            is_smaller |= it.attempt(numbered)?;
        }
        for smaller in smaller {
            is_smaller |= it.try_each(*smaller)?;
        }
        if !is_smaller || it.is_over() {
            return Ok((it.args, it.judged));
        }
    }
}

impl Shrinking<'_> {
    /// Whether no more may be tried.
    fn is_over(&self) -> bool {
        self.trials.most == 0 || self.trials.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Takes these options if they end as badly.
    fn attempt(&mut self, args: RunArgs) -> Result<bool, Failure> {
        let has_size = self.subject.sizes.contains(&args.common.nodes);
        if self.is_over() || !has_size || !(self.trials.admits)(&args) {
            return Ok(false);
        }
        self.trials.most -= 1;
        match (self.trials.judge)(&args) {
            Ok(judged) if judged.is_like(&self.judged) => {
                (self.args, self.judged) = (args, judged);
                Ok(true)
            }
            // Not everything that is smaller fits together.
            Ok(_) | Err(Failure::Usage(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Tries all smaller ones of a kind, from the beginning after every success.
    fn try_each(&mut self, smaller: Smaller) -> Result<bool, Failure> {
        let mut is_smaller = false;
        'again: loop {
            for args in smaller(&self.args) {
                if self.attempt(args)? {
                    is_smaller = true;
                    continue 'again;
                }
            }
            return Ok(is_smaller);
        }
    }

    /// Leaves out faults, as many as possible at once.
    fn leave_out(&mut self) -> Result<bool, Failure> {
        let mut is_smaller = false;
        let mut size = parted(&self.args.faults).len().max(1);
        loop {
            let faults = parted(&self.args.faults);
            let mut at = 0;
            let mut left_out = false;
            while at < faults.len() && !left_out {
                let end = (at + size).min(faults.len());
                let rest = [&faults[..at], &faults[end..]].concat();
                let args = RunArgs { faults: merged(rest), ..self.args.clone() };
                left_out = self.attempt(args)?;
                at = end;
            }
            is_smaller |= left_out;
            match (left_out, size) {
                (true, _) => size = size.min(parted(&self.args.faults).len().max(1)),
                (false, 0 | 1) => return Ok(is_smaller),
                (false, _) => size = size.div_ceil(2),
            }
        }
    }

    /// The same with messages that are lost, doubled and overtaken by number and not by chance.
    fn numbered(&mut self) -> Result<Option<RunArgs>, Failure> {
        let faults = &self.args.faults;
        if faults.loss.is_none() && faults.duplicate.is_none() && faults.reorder.is_none() {
            return Ok(None);
        }
        let run = self.subject.entry.algorithm.run(&self.args)?;
        // What refuses a command or panics leaves no record.
        let Ok(Ok((_, seen))) = vorrang_check::catch_panic(|| run.observe()) else {
            return Ok(None);
        };
        let mut faults = faults.clone();
        (faults.loss, faults.duplicate, faults.reorder) = (None, None, None);
        faults.faults_until = None;
        for it in &seen {
            match &it.what {
                What::Lost { seq, why: Loss::Network, .. } => faults.lose.push(*seq),
                What::Doubled { seq, .. } => faults.double.push(*seq),
                What::Fault(Fault::Delayed { seq, .. }) => faults.delay.push(*seq),
                What::Lost { .. }
                | What::Fault(_)
                | What::Send { .. }
                | What::Receive { .. }
                | What::Command(_)
                | What::Notice(_)
                | What::Timer(_)
                | What::Choice(_)
                | What::Crash
                | What::Restart => {}
            }
        }
        for numbers in [&mut faults.lose, &mut faults.double, &mut faults.delay] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        let mut args = RunArgs { faults, ..self.args.clone() };
        // Where messages are lost by chance, the failure detector is more patient.
        let options = run.options(false);
        let mut words = options.split(' ').skip_while(|word| *word != "--margin");
        if let (true, Some(margin)) = (args.views.on_views, words.nth(1)) {
            args.setup.say(Parameter::Margin, margin);
        }
        Ok(Some(args))
    }
}

/// Without one of the nodes, the last first.
fn fewer_nodes(args: &RunArgs) -> Vec<RunArgs> {
    (0..args.common.nodes).rev().filter_map(|node| without(args, NodeId(node))).collect()
}

/// Without this node, and with the numbers of those behind it one lower.
fn without(args: &RunArgs, gone: NodeId) -> Option<RunArgs> {
    let mut args = args.clone();
    args.common.nodes = args.common.nodes.checked_sub(1).filter(|&it| it > 0)?;
    let now = |node: NodeId| match node.0.cmp(&gone.0) {
        std::cmp::Ordering::Less => Some(node),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(NodeId(node.0 - 1)),
    };
    let whom = |whom: Whom| match whom {
        Whom::Node(node) => now(node).map(Whom::Node),
        Whom::Holder => Some(Whom::Holder),
    };
    let moments = |all: &[(Whom, u64)]| {
        all.iter().filter_map(|&(it, at_ns)| Some((whom(it)?, at_ns))).collect()
    };
    let faults = &args.faults;
    let partition = |it: &During<Partition>| {
        let sides = it.what.sides();
        let sides = sides.iter().map(|side| side.iter().copied().filter_map(now).collect());
        let sides: Vec<Vec<NodeId>> = sides.filter(|it: &Vec<NodeId>| !it.is_empty()).collect();
        let what = Partition::new(&sides).ok().filter(|it| it.is_real(args.common.nodes))?;
        Some(During { what, ..it.clone() })
    };
    let slow = |it: &During<Slow>| {
        let end = |end: Option<NodeId>| end.map_or(Some(None), |node| now(node).map(Some));
        let what = Slow { from: end(it.what.from)?, to: end(it.what.to)?, ..it.what };
        Some(During { what, ..it.clone() })
    };
    let pause = |it: &During<Whom>| Some(During { what: whom(it.what)?, ..it.clone() });
    let cut = |it: &During<Link>| {
        let what = Link { from: now(it.what.from)?, to: now(it.what.to)?, ..it.what };
        Some(During { what, ..it.clone() })
    };
    let skew =
        faults.skew.iter().filter_map(|it| Some(vorrang_sim::Skew { node: now(it.node)?, ..*it }));
    let moves = |all: &[(NodeId, u64)]| {
        all.iter().filter_map(|&(node, at_ns)| Some((now(node)?, at_ns))).collect()
    };
    let group = &args.group;
    let group =
        crate::options::group::GroupArgs { join: moves(&group.join), leave: moves(&group.leave) };
    let faults = FaultArgs {
        crash: moments(&faults.crash),
        restart: moments(&faults.restart),
        pause: faults.pause.iter().filter_map(pause).collect(),
        partition: faults.partition.iter().filter_map(partition).collect(),
        cut: faults.cut.iter().filter_map(cut).collect(),
        slow: faults.slow.iter().filter_map(slow).collect(),
        skew: skew.collect(),
        ..faults.clone()
    };
    Some(RunArgs { faults, group, ..args })
}

/// With fewer requests: one, half as many, one less.
fn fewer_requests(args: &RunArgs) -> Vec<RunArgs> {
    let fewer = |many: u64| {
        let mut fewer = vec![1, many / 2, many.saturating_sub(1)];
        fewer.retain(|&it| it > 0 && it < many);
        fewer.dedup();
        fewer
    };
    let mut all = Vec::new();
    for entries in fewer(args.mutex.entries) {
        let mut args = args.clone();
        args.mutex.entries = entries;
        all.push(args);
    }
    for multicasts in args.multicast.multicasts.map(fewer).unwrap_or_default() {
        let mut args = args.clone();
        args.multicast.multicasts = Some(multicasts);
        all.push(args);
    }
    all
}

/// With half as many.
fn half_the_requests(args: &RunArgs) -> Vec<RunArgs> {
    let entries = args.mutex.entries / 2;
    let mut fewer = args.clone();
    fewer.mutex.entries = entries;
    if entries > 0 { vec![fewer] } else { Vec::new() }
}

/// With one option less, or with a plainer value.
fn plainer(args: &RunArgs) -> Vec<RunArgs> {
    let mut all = Vec::new();
    let mut with = |is_plain: bool, change: &dyn Fn(&mut RunArgs)| {
        if !is_plain {
            let mut args = args.clone();
            change(&mut args);
            all.push(args);
        }
    };
    let millisecond = Distribution::Constant(1_000_000);
    with(args.views.lease.is_none(), &|it| {
        (it.views.lease, it.views.drift) = (None, None);
        it.faults.skew.clear();
    });
    with(args.common.latency == Some(millisecond), &|it| it.common.latency = Some(millisecond));
    with(args.mutex.think == Distribution::Constant(0), &|it| {
        it.mutex.think = Distribution::Constant(0);
    });
    with(args.mutex.load == LoadKind::Heavy, &|it| it.mutex.load = LoadKind::Heavy);
    with(args.mutex.hold.is_none(), &|it| it.mutex.hold = None);
    with(args.group.join.is_empty() && args.group.leave.is_empty(), &|it| {
        it.group = crate::options::group::GroupArgs::default();
    });
    for seed in [1, 2, 3].into_iter().take_while(|&seed| seed < args.common.seed) {
        with(false, &|it| it.common.seed = seed);
    }
    all
}

/// With all faults earlier, so that less happens before: with as many requests, or with as many
/// fewer as there is less time for.
fn earlier(args: &RunArgs) -> Vec<RunArgs> {
    let faults = &args.faults;
    let crashes = faults.crash.iter().map(|it| it.1);
    let starts = crashes.chain(faults.pause.iter().map(|it| it.from_ns));
    let starts = starts.chain(faults.partition.iter().map(|it| it.from_ns));
    let starts = starts.chain(faults.cut.iter().map(|it| it.from_ns));
    let first_ns = starts.chain(faults.slow.iter().map(|it| it.from_ns)).min().unwrap_or(0);
    let mut all = Vec::new();
    for part in [1, 2, 4, 8] {
        let by_ns = first_ns / part;
        if by_ns < 1_000_000 {
            break;
        }
        let earlier = RunArgs { faults: moved(faults, by_ns), ..args.clone() };
        let mut fewer = earlier.clone();
        fewer.mutex.entries = (args.mutex.entries - args.mutex.entries / part).max(1);
        all.extend([fewer, earlier]);
    }
    all
}

/// The same, so much earlier.
fn moved(faults: &FaultArgs, by_ns: u64) -> FaultArgs {
    let moments = |all: &[(Whom, u64)]| all.iter().map(|it| (it.0, it.1 - by_ns)).collect();
    FaultArgs {
        crash: moments(&faults.crash),
        restart: moments(&faults.restart),
        pause: faults.pause.iter().map(|it| moved_span(it, by_ns)).collect(),
        partition: faults.partition.iter().map(|it| moved_span(it, by_ns)).collect(),
        cut: faults.cut.iter().map(|it| moved_span(it, by_ns)).collect(),
        slow: faults.slow.iter().map(|it| moved_span(it, by_ns)).collect(),
        ..faults.clone()
    }
}

fn moved_span<T: Clone>(it: &During<T>, by_ns: u64) -> During<T> {
    let to_ns = it.to_ns.map(|to_ns| to_ns - by_ns);
    During { what: it.what.clone(), from_ns: it.from_ns - by_ns, to_ns }
}

/// With a fault that ends sooner, or begins at a rounder time.
fn sooner(args: &RunArgs) -> Vec<RunArgs> {
    let faults = parted(&args.faults);
    let mut all = Vec::new();
    for (place, fault) in faults.iter().enumerate() {
        for smaller in smaller_spans(fault) {
            let mut faults = faults.clone();
            faults[place] = smaller;
            all.push(RunArgs { faults: merged(faults), ..args.clone() });
        }
    }
    all
}

/// The same fault, shorter or at rounder times.
fn smaller_spans(fault: &FaultArgs) -> Vec<FaultArgs> {
    let mut all = Vec::new();
    // A crash without its restart is one fault less.
    if !fault.restart.is_empty() {
        all.push(FaultArgs { restart: Vec::new(), ..fault.clone() });
    }
    let ends = |from_ns: u64, to_ns: u64| {
        let length = to_ns.saturating_sub(from_ns);
        let half = from_ns + roundest(length / 4 + 1, length / 2 + 1);
        [half, roundest(from_ns + length / 2, to_ns)].into_iter().filter(move |&it| {
            it > from_ns && (it < to_ns && length > 1_000_000 || is_rounder(it, to_ns))
        })
    };
    let begins = |from_ns: u64| {
        let rounder = [from_ns / 2, from_ns / 10 * 9].map(|low| roundest(low.max(1), from_ns));
        rounder.into_iter().filter(move |&it| it < from_ns && is_rounder(it, from_ns))
    };
    for (&(_, from_ns), &(whom, to_ns)) in fault.crash.iter().zip(&fault.restart) {
        all.extend(
            ends(from_ns, to_ns)
                .map(|to_ns| FaultArgs { restart: vec![(whom, to_ns)], ..fault.clone() }),
        );
    }
    for &(whom, from_ns) in &fault.crash {
        let crash = |from_ns| FaultArgs { crash: vec![(whom, from_ns)], ..fault.clone() };
        all.extend(begins(from_ns).map(crash));
    }
    for it in &fault.pause {
        let with = |it: During<Whom>| FaultArgs { pause: vec![it], ..fault.clone() };
        all.extend(spans(it, ends, begins).into_iter().map(with));
    }
    for it in &fault.partition {
        let with = |it: During<Partition>| FaultArgs { partition: vec![it], ..fault.clone() };
        all.extend(spans(it, ends, begins).into_iter().map(with));
    }
    for it in &fault.cut {
        let with = |it: During<Link>| FaultArgs { cut: vec![it], ..fault.clone() };
        all.extend(spans(it, ends, begins).into_iter().map(with));
    }
    for it in &fault.slow {
        let with = |it: During<Slow>| FaultArgs { slow: vec![it], ..fault.clone() };
        all.extend(spans(it, ends, begins).into_iter().map(with));
    }
    all
}

/// The same for a while that is shorter, or begins at a rounder time.
fn spans<T: Clone, E: Iterator<Item = u64>, B: Iterator<Item = u64>>(
    it: &During<T>,
    ends: impl Fn(u64, u64) -> E,
    begins: impl Fn(u64) -> B,
) -> Vec<During<T>> {
    let Some(to_ns) = it.to_ns else { return Vec::new() };
    let shorter = ends(it.from_ns, to_ns).map(Some);
    let mut all: Vec<During<T>> = shorter.map(|to_ns| During { to_ns, ..it.clone() }).collect();
    all.extend(begins(it.from_ns).map(|from_ns| During { from_ns, ..it.clone() }));
    all
}

/// Whether one number has more zeros at its end than another.
fn is_rounder(one: u64, other: u64) -> bool {
    let zeros = |it: u64| (1..20).take_while(|&zeros| it.is_multiple_of(10_u64.pow(zeros))).count();
    zeros(one) > zeros(other)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::lookup;
    use crate::options::fault_args::parse_during;
    use crate::survive::Verdict;

    /// What is wrong is that node 2 is killed.
    #[test]
    fn what_fails_is_left_and_no_more_is_tried_than_may_be() {
        let raymond = [lookup::algorithm("raymond").unwrap()];
        let subjects = Subject::all(&raymond, &(3..=4), None).unwrap();
        let subject = subjects.last().unwrap();
        let mut args = subject.placed(RunArgs::default(), 4);
        args.mutex.entries = 80;
        let whom = |id| Whom::Node(NodeId(id));
        args.faults.crash = vec![(whom(1), 5_000_000), (whom(2), 9_000_000)];
        args.faults.restart = vec![(whom(1), 7_000_000)];
        args.faults.pause = vec![During { what: whom(0), from_ns: 1, to_ns: Some(9) }];
        args.faults.cut = vec![parse_during("0->1@1ms..5ms").unwrap()];
        let judged = |verdict| Judged {
            verdict,
            property: "fencing".to_owned(),
            what: String::new(),
            faults: 0,
            events: 0,
        };
        let tried = Cell::new(0);
        let judge = |args: &RunArgs| {
            tried.set(tried.get() + 1);
            let is_wrong = args.faults.crash.iter().any(|it| it.0 == whom(2));
            Ok(judged(if is_wrong { Verdict::Unsafe } else { Verdict::Fine }))
        };
        let shrink = |most, until, admits: &dyn Fn(&RunArgs) -> bool| {
            tried.set(0);
            let trials = Trials { judge: &judge, admits, smaller: Trials::FEW, most, until };
            let (args, _) = shrunk(subject, args.clone(), judged(Verdict::Unsafe), trials).unwrap();
            (args, tried.get())
        };
        let (least, many) = shrink(100, None, &|_| true);
        assert_eq!(least.faults.options().trim(), "--crash 2@0");
        assert_eq!((least.common.nodes, least.mutex.entries), (3, 1));
        assert!(many < 100, "{many}");
        let (covered, _) = shrink(100, None, &|args| args.mutex.entries > 30);
        assert_eq!(covered.mutex.entries, 40, "less is not covered");
        assert_eq!(shrink(3, None, &|_| true).1, 3);
        let (same, none) = shrink(100, Some(Instant::now()), &|_| true);
        assert_eq!((none, same.faults), (0, args.faults.clone()), "no time is left");
    }
}
