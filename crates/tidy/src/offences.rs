//! What a rule has found.

use std::fmt::Display;

/// Everything that breaks one rule, to be shown at once.
#[derive(Default, Debug)]
pub struct Offences(Vec<String>);

impl Offences {
    /// Adds one: what is wrong in that line, and what to do.
    pub fn add(&mut self, path: &str, line: usize, what: impl Display) {
        self.0.push(format!("{path}:{line}: {what}"));
    }

    /// Fails the test if there are any.
    #[track_caller]
    pub fn assert_none(self) {
        assert!(self.0.is_empty(), "\n\n{}\n", self.0.join("\n"));
    }
}
