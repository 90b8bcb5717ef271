//! A question to the checker: compiled once for every problem.

use std::num::NonZeroUsize;
use std::time::Instant;

use indicatif::ProgressBar;
use vorrang_check::{Bound, Bounds, Move, Outcome, Progress, Report, Stray, System, explore_after};
use vorrang_protocol::{Effect, Guard};

use super::{Driven, NodeOf, Question};
use crate::commands::check::{Answer, CheckArgs};
use crate::output::{grouped, show_after_a_second, spinner};

/// A question, and how to have it answered.
pub(crate) struct Query {
    /// What would have to be typed to ask exactly this again.
    pub(crate) line: String,
    /// What a reader should know of what was asked.
    pub(crate) notes: Vec<String>,
    pub(crate) answer: Box<dyn FnOnce() -> Answer>,
}

pub(super) fn query<Q: Driven>(
    question: Question<Q>,
    nodes: Vec<NodeOf<Q>>,
    guards: &[Guard<NodeOf<Q>>],
    args: &CheckArgs,
) -> Query {
    let system = System {
        nodes,
        plan: question.plan,
        monitor: question.monitor,
        links: question.links,
        faults: question.faults,
        demands: args.demands(guards),
    };
    let (bounds, threads) = (args.bounds(), args.threads());
    let mut properties = question.properties;
    properties.extend(args.fair.then(|| "no starvation in fair runs".to_owned()));
    properties.extend(guards.iter().map(|it| it.name().to_owned()));
    let shows_progress = !args.json;
    let answer = move || {
        let start = Instant::now();
        let report = look::<Q>(&system, &[], &bounds, threads, shows_progress);
        let (report, _) = report.unwrap_or_else(|stray| unreachable!("{stray}"));
        answer::<Q>(report, properties, start.elapsed().as_secs_f64())
    };
    Query { line: question.line, notes: question.notes, answer: Box::new(answer) }
}

/// Explores all that can follow these steps, and shows how far it has come.
pub(super) fn look<Q: Driven>(
    system: &System<NodeOf<Q>, Q::Watch>,
    steps: &[String],
    bounds: &Bounds,
    threads: NonZeroUsize,
    shows_progress: bool,
) -> Result<(Report<NodeOf<Q>>, Option<usize>), Stray> {
    let bar = if shows_progress { spinner() } else { ProgressBar::hidden() };
    let mut progress = |progress| tell(&bar, progress, shows_progress);
    let report = explore_after(system, steps, bounds, threads, &mut progress);
    bar.finish_and_clear();
    report
}

fn tell(bar: &ProgressBar, progress: Progress, shows: bool) {
    bar.set_message(format!(
        "{} states, {} steps, depth {}, {} MiB",
        grouped(progress.states),
        grouped(progress.steps),
        progress.depth,
        progress.memory_bytes >> 20
    ));
    if shows {
        show_after_a_second(bar);
    }
}

pub(super) fn answer<Q: Driven>(
    report: Report<NodeOf<Q>>,
    properties: Vec<String>,
    seconds: f64,
) -> Answer {
    let mut repeats_from = None;
    let (outcome, violation, bound, run) = match report.outcome {
        Outcome::Verified => ("verified", None, None, Vec::new()),
        Outcome::Bounded { by } => ("bounded", None, Some(bound_name(by)), Vec::new()),
        Outcome::Violated { violation, run } => {
            let moves = run.moves.iter().map(|it| (it.to_string(), effects::<Q>(it))).collect();
            repeats_from = run.repeats_from;
            ("violated", Some((violation.property, violation.what)), None, moves)
        }
    };
    let (states, steps, depth) = (report.states, report.steps, report.depth);
    Answer {
        outcome,
        properties,
        violation,
        bound,
        run,
        repeats_from,
        states,
        steps,
        depth,
        seconds,
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
    }
}

/// What a move made its node do, as a stage would write it.
fn effects<Q: Driven>(step: &Move<NodeOf<Q>>) -> Vec<String> {
    let at = step.what.at();
    let shown = |effect: &Effect<NodeOf<Q>>| match effect {
        Effect::Send { to, message } => format!("{at} -> {to} {message}"),
        Effect::SetTimer { timer, .. } => format!("{at} sets {timer:?}"),
        Effect::CancelTimer(timer) => format!("{at} cancels {timer:?}"),
        Effect::Notify(notice) => format!("{at} {notice}"),
    };
    step.effects.iter().map(shown).collect()
}
