//! Rows of a table, each with what was measured and what it may come to.

use std::time::Duration;

/// What was said so far.
#[derive(Debug)]
pub(crate) struct Report {
    has_missed: bool,
}

/// A bound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// There is none: the row is there to compare with.
    None,
}

impl Report {
    pub(crate) fn new() -> Self {
        println!("{:<62} {:>16}   {:<18}", "what", "measured", "target");
        Self { has_missed: false }
    }

    /// Whether a target was missed.
    pub(crate) const fn has_missed(&self) -> bool {
        self.has_missed
    }

    /// A row: what, how much of which unit, and the bound.
    pub(crate) fn row(&mut self, what: &str, (value, unit): (f64, &str), target: Target) {
        let digits = match value.abs() {
            large if large >= 1000.0 => 0,
            small if small < 10.0 => 2,
            _ => 1,
        };
        let (bound, is_met) = match target {
            Target::AtMost(most) => (format!("<= {most} {unit}"), value <= most),
            Target::AtLeast(least) => (format!(">= {least} {unit}"), value >= least),
            Target::None => (String::new(), true),
        };
        let verdict = match target {
            Target::None => "",
            Target::AtMost(_) | Target::AtLeast(_) if is_met => "met",
            Target::AtMost(_) | Target::AtLeast(_) => "missed",
        };
        let measured = format!("{value:.digits$} {unit}");
        println!("{what:<62} {measured:>16}   {bound:<18} {verdict}");
        self.has_missed |= !is_met;
    }
}

/// Says what is done meanwhile.
pub(crate) fn progress(what: &str) {
    eprintln!("{what} ...");
}

/// The one in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The largest.
pub(crate) fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
