//! A question to the checker: compiled once for every problem.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::time::Instant;

use vorrang_catalogue::NodeOf;
use vorrang_check::{Bound, Bounds, Move, Outcome, Progress, Report, Stray, System, Walks};
use vorrang_protocol::{Effect, Graph, Guard, Prefix};
use vorrang_trace::Header;
use vorrang_workload::Explored;

use super::{Question, Remarks, counterexample};
use crate::check_answer::CheckAnswer;
use crate::format::grouped;
use crate::options::check::CheckArgs;
use crate::options::command_line::CommandLine;

/// A question, and how to have it answered.
pub struct Query {
    /// The command that asks exactly this again.
    pub line: CommandLine,
    /// Remarks about the question.
    pub remarks: Remarks,
    /// Explores, and tells how far it has come.
    pub answer: Box<dyn FnOnce(Watcher<'_>) -> CheckAnswer>,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("line", &self.line).finish_non_exhaustive()
    }
}

/// How far a search has come, or walks.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// The progress so far.
    pub progress: Progress,
    /// How many random walks are left, of how many.
    pub walks: Option<(u64, u64)>,
}

/// Told now and then how far a search has come; says whether it goes on.
pub type Watcher<'a> = &'a mut dyn FnMut(Looked) -> ControlFlow<()>;

pub(super) fn query<Q: Explored>(
    question: Question<Q>,
    (nodes, graph): (Vec<NodeOf<Q>>, Option<Graph>),
    (guards, header): (&[Guard<NodeOf<Q>>], Header),
    args: &CheckArgs,
) -> Query {
    let is_endless = question.plan.goes_on_for_ever();
    let system = System {
        nodes,
        plan: question.plan,
        monitor: question.monitor,
        links: question.links,
        faults: question.faults,
        demands: args.demands(guards, graph, question.fair).beating(question.beat),
    };
    let (bounds, threads, walks) = (args.bounds(), args.threads(), args.limits.walks());
    let mut properties = question.properties;
    properties.extend(question.fair.then(|| in_fair_runs(is_endless).to_owned()));
    properties.extend(args.guards(guards).iter().map(|it| it.name().to_owned()));
    let header =
        header.with("driver", &"check").with("clock", &"steps").with("command", &question.line);
    let covers = match args.reliable {
        None => question.covers,
        Some(_) => format!("{}, {}", question.covers, in_tries(args.tries())),
    };
    let answer = move |watcher: Watcher<'_>| {
        let start = Instant::now();
        let (report, walked) = if let Some(walks) = walks {
            let (report, left) = stroll::<Q>(&system, &walks, &bounds, watcher);
            (report, Some((walks, left)))
        } else {
            let looked = look::<Q>(&system, &Prefix::default(), &bounds, threads, watcher);
            (looked.unwrap_or_else(|stray| unreachable!("{stray}")).0, None)
        };
        let recorded = counterexample::recorded(header, &report.outcome);
        let mut answer = answer::<Q>(report, properties, start.elapsed().as_secs_f64());
        answer.recorded = recorded;
        answer.covers = Some(covers);
        if let Some((walks, left)) = walked {
            answer.is_shortest = false;
            answer.reached = answer.bound.map(|_| in_walks(&walks, left));
            answer.not_checked =
                answer.bound.map(|_| format!("{IN_LOOPS}: walks look for no loops"));
        }
        answer
    };
    Query { line: question.line, remarks: question.remarks, answer: Box::new(answer) }
}

/// What is asked of fair runs. With so many requests and no more nobody can be passed for ever, so
/// that is not called starvation.
const fn in_fair_runs(is_endless: bool) -> &'static str {
    if is_endless {
        "no starvation in fair runs"
    } else {
        "nobody waits for ever in fair runs of so many requests"
    }
}

/// What is judged in loops alone, whatever is asked.
const IN_LOOPS: &str = "progress in runs that never come to rest";

/// Takes out of the list what was not looked for since the search ended before it looked for loops,
/// and says so.
fn without_loops(properties: &mut Vec<String>, bound: &str) -> String {
    let is_fair = |it: &String| [true, false].iter().any(|&endless| it == in_fair_runs(endless));
    let mut skipped: Vec<String> = properties.extract_if(.., |it| is_fair(it)).collect();
    skipped.push(IN_LOOPS.to_owned());
    format!(
        "{}: loops are searched last, and the search ended before that by {bound} (let --max-depth \
         or --max-states end it sooner)",
        skipped.join(", ")
    )
}

fn in_tries(tries: u8) -> String {
    match tries {
        1 => "over reliable channels that try again once".to_owned(),
        _ => format!("over reliable channels that try again up to {tries} times"),
    }
}

/// Explores every run that begins so, and tells how far it has come.
pub(super) fn look<Q: Explored>(
    system: &System<NodeOf<Q>, Q::Watch>,
    before: &Prefix<NodeOf<Q>>,
    bounds: &Bounds,
    threads: NonZeroUsize,
    watcher: Watcher<'_>,
) -> Result<(Report<NodeOf<Q>>, Option<usize>), Stray> {
    let mut progress = |progress| watcher(Looked { progress, walks: None });
    Q::explore_after(system, before, bounds, threads, &mut progress)
}

/// Takes random walks, and tells how far it has come; also, how many walks were left when it ended.
fn stroll<Q: Explored>(
    system: &System<NodeOf<Q>, Q::Watch>,
    walks: &Walks,
    bounds: &Bounds,
    watcher: Watcher<'_>,
) -> (Report<NodeOf<Q>>, u64) {
    let mut left = walks.count;
    let report = Q::walk(system, walks, bounds, &mut |progress| {
        left = progress.frontier;
        watcher(Looked { progress, walks: Some((left, walks.count)) })
    });
    let is_whole = matches!(report.outcome, Outcome::Bounded { by: Bound::Walks });
    (report, if is_whole { 0 } else { left })
}

/// The note about walks that found nothing; so many were left at least when they ended.
fn in_walks(walks: &Walks, left: u64) -> String {
    let steps = grouped(walks.depth.into());
    match (walks.count - left, grouped(walks.count)) {
        (_, count) if left == 0 => format!("{count} walks of at most {steps} steps found nothing"),
        // One of those that are not left is under way.
        (begun, count) => format!(
            "at least {} of {count} walks of at most {steps} steps found nothing",
            grouped(begun.saturating_sub(1))
        ),
    }
}

/// How far a search came that did not come to its end. It goes from level to level, and only the
/// last may have been cut short.
fn in_levels(bound: Bound, depth: u32) -> String {
    let whole = match bound {
        Bound::Depth | Bound::States => depth,
        Bound::Memory | Bound::Time | Bound::Interruption | Bound::Walks => depth.saturating_sub(1),
        Bound::Clocks => {
            return "every run was followed and nothing was violated, but whether something \
                    that is owed can still come depends on the order in which timers of a node \
                    run out, and no clock was looked at (--fair asks for all orders)"
                .to_owned();
        }
        Bound::Counters => {
            return "every run was followed up to a shift of counters and nothing was violated, but \
                    a loop that was found so cannot be gone round in the numbers that a run has"
                .to_owned();
        }
    };
    match whole {
        0 => "not even every first step was followed".to_owned(),
        1 => "every first step was followed".to_owned(),
        _ => format!("every run of at most {whole} steps was followed"),
    }
}

pub(super) fn answer<Q: Explored>(
    report: Report<NodeOf<Q>>,
    mut properties: Vec<String>,
    seconds: f64,
) -> CheckAnswer {
    let (mut repeats_from, mut reached, mut not_checked) = (None, None, None);
    let (odds, bytes_per_state) = (report.odds(), report.bytes_per_state());
    let (outcome, violation, bound, run) = match report.outcome {
        Outcome::Verified => ("verified", None, None, Vec::new()),
        Outcome::Bounded { by } => {
            reached = Some(in_levels(by, report.depth));
            not_checked =
                (report.has_unjudged_loops).then(|| without_loops(&mut properties, bound_name(by)));
            ("bounded", None, Some(bound_name(by)), Vec::new())
        }
        Outcome::Violated { violation, run } => {
            let moves = run.moves.iter().map(|it| (it.to_string(), effects::<Q>(it))).collect();
            repeats_from = run.repeats_from;
            ("violated", Some((violation.property, violation.what)), None, moves)
        }
    };
    CheckAnswer {
        outcome,
        properties,
        violation,
        bound,
        reached,
        not_checked,
        run,
        is_shortest: true,
        repeats_from,
        states: report.states,
        steps: report.steps,
        depth: report.depth,
        seconds,
        memory_bytes: report.memory_bytes,
        bytes_per_state,
        hash_bits: report.fingerprint.bits(),
        odds,
        covers: None,
        warnings: Vec::new(),
        recorded: None,
    }
}

const fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Depth => "depth",
        Bound::States => "states",
        Bound::Memory => "memory",
        Bound::Time => "time",
        Bound::Interruption => "interruption",
        Bound::Walks => "walks",
        Bound::Clocks => "clocks",
        Bound::Counters => "counters",
    }
}

/// The effects of a step, as a stepped run would write them.
fn effects<Q: Explored>(step: &Move<NodeOf<Q>>) -> Vec<String> {
    let at = step.step.what.at();
    let shown = |effect: &Effect<NodeOf<Q>>| match effect {
        Effect::Send { to, message } => format!("{at} -> {to} {message}"),
        Effect::SetTimer { timer, .. } => format!("{at} sets {timer:?}"),
        Effect::CancelTimer(timer) => format!("{at} cancels {timer:?}"),
        Effect::Notify(notice) => format!("{at} {notice}"),
    };
    step.effects.iter().map(shown).collect()
}
