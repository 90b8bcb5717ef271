//! What the checker answered, for people and for programs.

use serde_json::{Value, json};
use vorrang_algorithms::card::About;

use crate::output::{BAD, BOLD, DIM, GOOD, RESET, figure, grouped};
use crate::table::wrapped;
use crate::tracefile::Recorded;

/// What came of a check.
pub(crate) struct Answer {
    pub(crate) outcome: &'static str,
    pub(crate) properties: Vec<String>,
    pub(crate) violation: Option<(&'static str, String)>,
    pub(crate) bound: Option<&'static str>,
    /// How far it came, if not to the end.
    pub(crate) reached: Option<String>,
    pub(crate) run: Vec<(String, Vec<String>)>,
    /// Whether no run to what is wrong is shorter.
    pub(crate) is_shortest: bool,
    /// The place in the run from which on it repeats for ever, if it does.
    pub(crate) repeats_from: Option<usize>,
    pub(crate) states: u64,
    pub(crate) steps: u64,
    pub(crate) depth: u32,
    pub(crate) seconds: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) bytes_per_state: f64,
    /// How many bits stood for a state.
    pub(crate) hash_bits: u32,
    /// That two states were taken for one by chance.
    pub(crate) odds: f64,
    /// Which systems and which surroundings the verdict is about, if that is not said elsewhere.
    pub(crate) covers: Option<String>,
    /// Why it says less than it seems.
    pub(crate) warnings: Vec<String>,
    /// The run to what is wrong, as a trace.
    pub(crate) recorded: Option<Recorded>,
}

impl Answer {
    pub(crate) fn json(&self, about: &About, line: &str, notes: &[String]) -> Value {
        json!({
            "algorithm": about.name,
            "problem": about.problem,
            "command": line,
            "parameters": parameters(line),
            "outcome": self.outcome,
            "covers": self.covers,
            "property": self.violation.as_ref().map(|(property, _)| property),
            "violation": self.violation.as_ref().map(|(_, what)| what),
            "bound": self.bound,
            "reached": self.reached,
            "checked": self.properties,
            "notes": notes,
            "warnings": self.warnings,
            "states": self.states,
            "steps": self.steps,
            "depth": self.depth,
            "seconds": self.seconds,
            "memory_bytes": self.memory_bytes,
            "bytes_per_state": self.bytes_per_state,
            "hash_bits": self.hash_bits,
            "collision_odds": self.odds,
            "shortest": self.violation.as_ref().map(|_| self.is_shortest),
            "repeats_from": self.repeats_from,
            "trace": self.run.iter().map(|(step, _)| step).collect::<Vec<_>>(),
            "effects": self.run.iter().map(|(_, effects)| effects).collect::<Vec<_>>(),
        })
    }

    /// The verdict, and what it took.
    pub(crate) fn text(&self) -> String {
        let figures = format!(
            "{DIM}{} states, {} steps, depth {}, {} s, {} million steps a second{RESET}\n\
             {DIM}{} MiB, {} bytes a state; with fingerprints of {} bits, the odds that \
             two states were taken for one are {}{RESET}\n",
            grouped(self.states),
            grouped(self.steps),
            self.depth,
            figure(self.seconds),
            figure(self.steps as f64 / self.seconds.max(1e-9) / 1e6),
            figure(self.memory_bytes as f64 / f64::from(1 << 20)),
            self.bytes_per_state.round(),
            self.hash_bits,
            odds(self.odds),
        );
        self.verdict() + &wrapped(&figures)
    }

    /// The outcome, and the run to it if there is one.
    pub(crate) fn verdict(&self) -> String {
        let checked = self.properties.join(", ");
        let of = self.covers.as_ref().map_or_else(String::new, |it| format!(" for {it}"));
        match (&self.violation, self.bound) {
            (Some((property, what)), _) => {
                let violated = format!("{BAD}violated{RESET} {property}: {what}\n");
                let run = if self.is_shortest { "A shortest run" } else { "A run" };
                let steps = self.run.len();
                let run = format!("{BOLD}{run} to it, {steps} steps:{RESET}\n{}", self.run_text());
                format!("{}\n{run}", wrapped(&violated))
            }
            (None, Some(bound)) => {
                let reached = self.reached.as_ref();
                let reached = reached.map_or(String::new(), |it| format!("Not exhausted: {it}.\n"));
                wrapped(&format!(
                    "{BAD}bounded{RESET} by {bound}{of}; nothing wrong so far with {checked}\n\
                     {reached}"
                ))
            }
            (None, None) if self.covers.is_none() => format!("{GOOD}verified{RESET} {checked}\n"),
            (None, None) => wrapped(&format!("{GOOD}verified{RESET}{of}: {checked}\n")),
        }
    }

    fn run_text(&self) -> String {
        let mut text = String::new();
        for (number, (step, effects)) in (1..).zip(&self.run) {
            if self.repeats_from.is_some_and(|place| place + 1 == number) {
                text.push_str(&format!("      {DIM}for ever:{RESET}\n"));
            }
            text.push_str(&format!("{number:4}. {step}\n"));
            for effect in effects {
                text.push_str(&format!("        {DIM}{effect}{RESET}\n"));
            }
        }
        text
    }
}

/// Odds as one reads them: `3e-10`.
fn odds(odds: f64) -> String {
    if odds == 0.0 { "0".to_owned() } else { format!("{odds:.0e}") }
}

/// The options of a command line, each with its value, or true if it takes none.
fn parameters(line: &str) -> Value {
    let parameter = |option: &str| match option.trim_end().split_once(' ') {
        None => (option.trim_end().to_owned(), json!(true)),
        Some((name, value)) => {
            let number = value.parse::<u64>().map(Value::from);
            (name.to_owned(), number.unwrap_or_else(|_| json!(value)))
        }
    };
    Value::Object(line.split(" --").skip(1).map(parameter).collect())
}
