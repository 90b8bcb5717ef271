//! The figures of a run, as text.

use vorrang_experiment::figures::{Figure, Measured, Reading, counts, mark, span};
use vorrang_experiment::format::{figure as number, grouped};
use vorrang_experiment::statistics::Estimate;
use vorrang_node::terminal::{BAD, DIM, GOOD, RESET, wrapped};
use vorrang_sim::FaultCounts;

use vorrang_terminal::table::table_right;

/// A summary for people.
pub(crate) fn text(measured: &Measured) -> String {
    let mut rows = vec![["", "measured", "theory"].map(str::to_owned).to_vec()];
    let mut add = |what: &str, measured: String, theory: String| {
        rows.push(vec![what.to_owned(), measured, theory]);
    };
    for figure in &measured.figures {
        if let Reading::Counts(counts) = &figure.value {
            for &(kind, count) in counts {
                add(&format!("  {kind}"), grouped(count), String::new());
            }
        }
        let Some(label) = figure.label else { continue };
        let theory = match (figure.agreement(), figure.theory) {
            (Some(agreement), Some(theory)) => {
                format!("{}{} {}", span(theory), figure.unit, coloured(mark(agreement)))
            }
            (None, _) | (_, None) => String::new(),
        };
        add(label, reading(figure), theory);
    }
    if let Some(faults) = &measured.faults {
        for (what, count) in counts(faults).into_iter().filter(|(_, count)| *count > 0) {
            add(&what.replace('_', " "), grouped(count), String::new());
        }
        if *faults == FaultCounts::default() {
            add("faults", "none".to_owned(), String::new());
        }
    }
    for (what, holds) in [("safe", measured.safe), ("quiescent", measured.quiescent)] {
        let (style, word) = if holds { (GOOD, "yes") } else { (BAD, "NO") };
        add(what, format!("{style}{word}{RESET}"), String::new());
    }
    let mut text = table_right(&rows, &[1]);
    if let Some(violation) = &measured.violation {
        let what = what_is_wrong(measured.safe, violation);
        text.push_str(&wrapped(&format!("{BAD}{what}: {violation}{RESET}\n")));
    }
    if let Some(mean) = in_head(measured, "latency_mean") {
        text.push_str(&wrapped(&format!(
            "{DIM}T is {mean}, the mean of the latency matrix without its diagonal.{RESET}\n"
        )));
    }
    if let Some(Reading::Text(why)) = measured.figure("throughput_no_theory").map(|it| &it.value) {
        text.push_str(&wrapped(&format!("{DIM}No theory of the throughput: {why}.{RESET}\n")));
    }
    let unsent = measured.unsent();
    if !unsent.is_empty() && measured.events > 0 {
        let (kinds, them) =
            (unsent.join(", "), if unsent.len() == 1 { "it is" } else { "they are" });
        text.push_str(&wrapped(&format!(
            "{DIM}Not exercised: this run sent no {kinds}, so it says nothing of what {them} for.\
             {}{RESET}\n",
            advice(measured)
        )));
    }
    if measured.faults.is_some_and(|faults| faults.crashes > 0) {
        text.push_str(&wrapped(&format!("{DIM}{NOTE_ON_CRASHES}{RESET}\n")));
    }
    if let Some(warning) = &measured.warning {
        text.push_str(&wrapped(&format!("{BAD}warning: {warning}{RESET}\n")));
    }
    let rate = measured.events as f64 / measured.wall_seconds.max(1e-9) / 1e6;
    text + &wrapped(&format!(
        "\n{DIM}{} events in {} s, {} million a second{RESET}\n",
        grouped(measured.events),
        number(measured.wall_seconds),
        number(rate)
    ))
}

/// A parameter of the run.
fn in_head<'a>(measured: &'a Measured, key: &str) -> Option<&'a str> {
    measured.head.iter().find(|(name, _)| *name == key)?.1.as_str()
}

/// What makes other messages likely: requests that meet in another order than they were made.
fn advice(measured: &Measured) -> &'static str {
    let is = |key: &str, value: &str| in_head(measured, key) == Some(value);
    match (is("driver", "sim"), is("problem", "mutex"), is("load", "light")) {
        (true, true, true) => " With --load heavy requests meet.",
        (true, true, false) if is("latency", "1ms") => {
            " With --latency exp:1ms messages overtake each other."
        }
        (true, true, false) | (true, false, _) | (false, _, _) => "",
    }
}

fn reading(figure: &Figure) -> String {
    match &figure.value {
        Reading::Count(count) => grouped(*count) + figure.unit,
        Reading::Real(real) => number(*real) + figure.unit,
        Reading::Text(text) => text.clone(),
        Reading::Counts(_) => String::new(),
        Reading::Unknown => "–".to_owned(),
    }
}

/// How those are judged who are down.
const NOTE_ON_CRASHES: &str =
    "A crashed node does not count: it is not inside, does not wait and need not be served.";

/// The legend of the marks that are in a text; none if there are none.
pub(crate) fn legend(text: &str) -> String {
    const MARKS: [(char, &str); 4] = [
        ('✓', "as the theory predicts"),
        ('○', "within the range of the theory"),
        ('✗', "not as predicted"),
        ('±', "half the 95 % confidence interval of the mean over all seeds"),
    ];
    let found = MARKS.iter().filter(|(mark, _)| text.contains(*mark));
    let known: Vec<String> = found.map(|(mark, what)| format!("{mark} {what}")).collect();
    if known.is_empty() { String::new() } else { known.join("   ") + "\n" }
}

/// A text with its marks coloured.
pub(crate) fn coloured(text: &str) -> String {
    text.replace('✓', &format!("{GOOD}✓{RESET}"))
        .replace('○', &format!("{DIM}○{RESET}"))
        .replace('✗', &format!("{BAD}✗{RESET}"))
}

/// A mean as text, with its error if that is known and not nothing.
pub(crate) fn show(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".to_owned(),
        Some(Estimate { mean, half_width: Some(error) }) if error >= 0.0005 => {
            format!("{}±{}", number(mean), number(error))
        }
        Some(Estimate { mean, .. }) => number(mean),
    }
}

fn what_is_wrong(is_safe: bool, violation: &str) -> &'static str {
    match is_safe {
        false => "violation",
        // What a crashed sender has not got to all, nobody waits for.
        true if violation.starts_with("agreement: ") => "safe but incomplete",
        true => "safe but stuck",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_explained_where_it_occurs_and_nowhere_else() {
        assert_eq!(legend("lamport 6"), "");
        for mark in ['✓', '○', '✗', '±'] {
            let said = legend(&format!("lamport 6 {mark}"));
            assert!(said.starts_with(mark) && said.matches("   ").count() == 0, "{said}");
        }
        let both = legend("1 ✓ 2 ✗");
        assert_eq!(both, "✓ as the theory predicts   ✗ not as predicted\n");
    }
}
