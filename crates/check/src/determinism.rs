//! Whether handlers still do what they did: asked once more before a system is called verified.
//!
//! A handler is run twice when it is first asked about something, and not again. One that looks at
//! a clock or counts its calls may change later, and what was explored would be neither what it
//! did before nor what it does now. So when all states are known, all that is remembered of
//! handlers is asked about once more. (Of what had to be forgotten on the way, a sample is.) On
//! that occasion, what a handler comes to must not only be equal to what it came to before but be
//! shown alike, and a monitor that is asked twice must list the same obligations.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use vorrang_protocol::{NodeId, Violation};

use crate::handler::Asked;
use crate::level::Clock;
use crate::model::Model;
use crate::report::{Bound, Progress};
use crate::state_hash::StateHash;
use crate::step::Stepper;

/// Why a system is not verified after all.
pub(crate) enum RecheckFailure<T> {
    Bounded(Bound),
    /// This thread's handler did something else than before.
    Changed(usize, Asked<T>, Violation),
}

/// So many are asked about between two looks at the clock.
const BETWEEN_TICKS: usize = 256;

/// Asks about everything again, on as many threads as there are steppers.
pub(crate) fn recheck_handlers<T: StateHash>(
    model: Model<'_>,
    steppers: &[Stepper<'_, T>],
    clock: &mut Clock<'_>,
    progress: impl Fn() -> Progress,
) -> Option<RecheckFailure<T>> {
    let is_over = AtomicBool::new(false);
    let (own, others) = steppers.split_first()?;
    model.machine.compare_shown(true);
    let failure = thread::scope(|scope| {
        let ask = |stepper| {
            let found = changed(model, stepper, |_| !is_over.load(Ordering::Relaxed));
            is_over.fetch_or(found.is_some(), Ordering::Relaxed);
            found
        };
        let others: Vec<_> =
            others.iter().map(|stepper| scope.spawn(move || ask(stepper))).collect();
        let mut bound = None;
        let own = changed(model, own, |count| {
            if count.is_multiple_of(BETWEEN_TICKS) {
                bound = bound.or_else(|| clock.tick(&progress));
            }
            bound.is_none() && !is_over.load(Ordering::Relaxed)
        });
        is_over.fetch_or(bound.is_some() || own.is_some(), Ordering::Relaxed);
        // Others may have more to ask about, and time goes on.
        while bound.is_none() && others.iter().any(|it| !it.is_finished()) {
            thread::sleep(Duration::from_millis(1));
            bound = clock.tick(&progress);
            is_over.fetch_or(bound.is_some(), Ordering::Relaxed);
        }
        let others =
            others.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let mut found = [own].into_iter().chain(others).zip(0..);
        let first = found.find_map(|(it, thread)| it.map(|(asked, it)| (thread, asked, it)));
        first
            .map(|(thread, asked, violation)| RecheckFailure::Changed(thread, asked, violation))
            .or(model.machine.cut().or(bound).map(RecheckFailure::Bounded))
    });
    model.machine.compare_shown(false);
    failure
}

/// The first thing that a handler now does in another way.
fn changed<T: StateHash>(
    model: Model<'_>,
    stepper: &Stepper<'_, T>,
    mut goes_on: impl FnMut(usize) -> bool,
) -> Option<(Asked<T>, Violation)> {
    for (count, (asked, before)) in stepper.asked().enumerate() {
        if !goes_on(count) {
            break;
        }
        // What is cut short is no answer: the bound is reported.
        let Ok(now) = model.machine.handle(&asked.happening) else { break };
        if let Err(violation) = model.machine.dues_again(asked.happening.monitor) {
            return Some((*asked, violation));
        }
        if now != before {
            // It may have been caught in the act.
            let mut violations = now.iter().filter_map(|it| it.violation());
            let catch_panic = violations.find(|it| it.property == "determinism");
            let violation = catch_panic.cloned();
            let violation = violation.unwrap_or_else(|| undetermined(asked.happening.at));
            return Some((*asked, violation));
        }
    }
    None
}

fn undetermined(at: NodeId) -> Violation {
    let what = format!(
        "node {at} or the monitor is not deterministic: told the same once more when all states \
         were known, it did something else than the first time"
    );
    Violation { property: "determinism", what }
}
