//! What the checker answered.

use serde_json::{Value, json};
use vorrang_algorithms::card::About;

use crate::tracefile::Recorded;

/// What came of a check.
pub struct Answer {
    pub outcome: &'static str,
    pub properties: Vec<String>,
    pub violation: Option<(&'static str, String)>,
    pub bound: Option<&'static str>,
    /// How far it came, if not to the end.
    pub reached: Option<String>,
    pub run: Vec<(String, Vec<String>)>,
    /// Whether no run to what is wrong is shorter.
    pub is_shortest: bool,
    /// The place in the run from which on it repeats for ever, if it does.
    pub repeats_from: Option<usize>,
    pub states: u64,
    pub steps: u64,
    pub depth: u32,
    pub seconds: f64,
    pub memory_bytes: u64,
    pub bytes_per_state: f64,
    /// How many bits stood for a state.
    pub hash_bits: u32,
    /// That two states were taken for one by chance.
    pub odds: f64,
    /// Which systems and which surroundings the verdict is about, if that is not said elsewhere.
    pub covers: Option<String>,
    /// Why it says less than it seems.
    pub warnings: Vec<String>,
    /// The run to what is wrong, as a trace.
    pub recorded: Option<Recorded>,
}

impl Answer {
    pub fn json(&self, about: &About, line: &str, notes: &[String]) -> Value {
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
