//! The answer of the checker.

use serde_json::{Value, json};
use vorrang_algorithms::card::About;

use crate::options::command_line::CommandLine;
use crate::tracefile::Recorded;

/// The answer of a check.
#[derive(Debug)]
pub struct CheckAnswer {
    /// Verified, violated or bounded.
    pub outcome: &'static str,
    /// The names of what was checked.
    pub properties: Vec<String>,
    /// The violated property, and the violation.
    pub violation: Option<(&'static str, String)>,
    /// The bound that ended the search.
    pub bound: Option<&'static str>,
    /// How far it came, if not to the end.
    pub reached: Option<String>,
    /// What was not looked for, though it was asked or goes without saying, and why not.
    pub not_checked: Option<String>,
    /// The counterexample: every step, with the effects of its node.
    pub run: Vec<(String, Vec<String>)>,
    /// Whether the counterexample is a shortest one.
    pub is_shortest: bool,
    /// The place in the run from which on it repeats for ever, if it does.
    pub repeats_from: Option<usize>,
    /// How many states were seen.
    pub states: u64,
    /// How many steps were taken.
    pub steps: u64,
    /// How many steps the longest run has that was followed.
    pub depth: u32,
    /// How long it took.
    pub seconds: f64,
    /// How much memory the search took.
    pub memory_bytes: u64,
    /// How much of it for a state.
    pub bytes_per_state: f64,
    /// How many bits stood for a state.
    pub hash_bits: u32,
    /// That two states were taken for one by chance.
    pub odds: f64,
    /// Which systems and which surroundings the verdict is about, if that is not said elsewhere.
    pub covers: Option<String>,
    /// Why it says less than it seems.
    pub warnings: Vec<String>,
    /// The counterexample, as a trace.
    pub recorded: Option<Recorded>,
}

impl CheckAnswer {
    /// One object; its names are a promise.
    pub fn json(&self, about: &About, line: &CommandLine, notes: &[String]) -> Value {
        json!({
            "algorithm": about.name,
            "problem": about.problem,
            "command": line.to_string(),
            "parameters": line.parameters(),
            "outcome": self.outcome,
            "covers": self.covers,
            "property": self.violation.as_ref().map(|(property, _)| property),
            "violation": self.violation.as_ref().map(|(_, what)| what),
            "bound": self.bound,
            "reached": self.reached,
            "checked": self.properties,
            "not_checked": self.not_checked,
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
