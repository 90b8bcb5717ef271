//! The answer of the checker, as text.

use vorrang_experiment::check_answer::CheckAnswer;
use vorrang_experiment::format::{figure, grouped};
use vorrang_node::terminal::{BAD, BOLD, DIM, GOOD, RESET, wrapped};

/// The verdict, and what it took.
pub(crate) fn text(answer: &CheckAnswer) -> String {
    let figures = format!(
        "{DIM}{} states, {} steps, depth {}, {} s, {} million steps a second{RESET}\n\
         {DIM}{} MiB, {} bytes a state; with fingerprints of {} bits, the odds that \
         two states were taken for one are {}{RESET}\n",
        grouped(answer.states),
        grouped(answer.steps),
        answer.depth,
        figure(answer.seconds),
        figure(answer.steps as f64 / answer.seconds.max(1e-9) / 1e6),
        figure(answer.memory_bytes as f64 / f64::from(1 << 20)),
        answer.bytes_per_state.round(),
        answer.hash_bits,
        odds(answer.odds),
    );
    verdict(answer) + &wrapped(&figures)
}

/// The outcome, and the run to it if there is one.
pub(crate) fn verdict(answer: &CheckAnswer) -> String {
    let checked = answer.properties.join(", ");
    let of = answer.covers.as_ref().map_or_else(String::new, |it| format!(" for {it}"));
    match (&answer.violation, answer.bound) {
        (Some((property, what)), _) => {
            let violated = format!("{BAD}violated{RESET} {property}: {what}\n");
            let run = if answer.is_shortest { "A shortest run" } else { "A run" };
            let steps = answer.run.len();
            let run = format!("{BOLD}{run} to it, {steps} steps:{RESET}\n{}", run_text(answer));
            format!("{}\n{run}", wrapped(&violated))
        }
        (None, Some(bound)) => {
            let reached = answer.reached.as_ref();
            let reached = reached.map_or(String::new(), |it| format!("Not exhausted: {it}.\n"));
            let skipped = answer.not_checked.as_ref();
            let skipped = skipped.map_or(String::new(), |it| format!("Not looked for: {it}.\n"));
            wrapped(&format!(
                "{BAD}bounded{RESET} by {bound}{of}; nothing wrong so far with {checked}\n\
                 {reached}{skipped}"
            ))
        }
        (None, None) if answer.covers.is_none() => format!("{GOOD}verified{RESET} {checked}\n"),
        (None, None) => wrapped(&format!("{GOOD}verified{RESET}{of}: {checked}\n")),
    }
}

fn run_text(answer: &CheckAnswer) -> String {
    let mut text = String::new();
    for (number, (step, effects)) in (1..).zip(&answer.run) {
        if answer.repeats_from.is_some_and(|place| place + 1 == number) {
            text.push_str(&format!("      {DIM}for ever:{RESET}\n"));
        }
        text.push_str(&format!("{number:4}. {step}\n"));
        for effect in effects {
            text.push_str(&format!("        {DIM}{effect}{RESET}\n"));
        }
    }
    text
}

/// Odds as one reads them: `3e-10`.
fn odds(odds: f64) -> String {
    if odds == 0.0 { "0".to_owned() } else { format!("{odds:.0e}") }
}
