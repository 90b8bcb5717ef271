//! What the checker answered, for people and for programs.

use serde_json::{Value, json};
use vorrang_algorithms::card::About;

use crate::output::{BAD, BOLD, DIM, GOOD, RESET, figure, grouped};

/// What came of a check.
pub(crate) struct Answer {
    pub(crate) outcome: &'static str,
    pub(crate) properties: Vec<String>,
    pub(crate) violation: Option<(&'static str, String)>,
    pub(crate) bound: Option<&'static str>,
    pub(crate) run: Vec<(String, Vec<String>)>,
    /// The place in the run from which on it repeats for ever, if it does.
    pub(crate) repeats_from: Option<usize>,
    pub(crate) states: u64,
    pub(crate) steps: u64,
    pub(crate) depth: u32,
    pub(crate) seconds: f64,
}

impl Answer {
    pub(crate) fn json(&self, about: &About, line: &str, notes: &[String]) -> Value {
        json!({
            "algorithm": about.name,
            "problem": about.problem,
            "command": line,
            "parameters": parameters(line),
            "outcome": self.outcome,
            "property": self.violation.as_ref().map(|(property, _)| property),
            "violation": self.violation.as_ref().map(|(_, what)| what),
            "bound": self.bound,
            "checked": self.properties,
            "notes": notes,
            "states": self.states,
            "steps": self.steps,
            "depth": self.depth,
            "seconds": self.seconds,
            "repeats_from": self.repeats_from,
            "trace": self.run.iter().map(|(step, _)| step).collect::<Vec<_>>(),
            "effects": self.run.iter().map(|(_, effects)| effects).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn text(&self) -> String {
        format!(
            "{}\n{DIM}{} states, {} steps, depth {}, {} s, {} million steps a second{RESET}\n",
            self.verdict(),
            grouped(self.states),
            grouped(self.steps),
            self.depth,
            figure(self.seconds),
            figure(self.steps as f64 / self.seconds.max(1e-9) / 1e6)
        )
    }

    /// The outcome, and the run to it if there is one.
    pub(crate) fn verdict(&self) -> String {
        let checked = self.properties.join(", ");
        match (&self.violation, self.bound) {
            (Some((property, what)), _) => format!(
                "{BAD}violated{RESET} {property}: {what}\n\n{BOLD}A shortest run to it, {} \
                 steps:{RESET}\n{}",
                self.run.len(),
                self.run_text()
            ),
            (None, Some(bound)) => {
                format!("{BAD}bounded{RESET} by {bound}; nothing wrong so far with {checked}\n")
            }
            (None, None) => format!("{GOOD}verified{RESET} {checked}\n"),
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
