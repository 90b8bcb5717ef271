//! The options as they would be typed.

use std::fmt::{self, Display};

use serde_json::{Value, json};
use vorrang_algorithms::card::About;
use vorrang_algorithms::setup::Setup;

/// A command of the program with its options, in the order in which they would be typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandLine {
    command: String,
    options: Vec<(String, Option<String>)>,
}

impl CommandLine {
    /// A command without options.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), options: Vec::new() }
    }

    /// Adds an option that takes no value.
    pub fn flag(&mut self, name: &str) {
        self.options.push((name.to_owned(), None));
    }

    /// Adds an option with its value.
    pub fn option(&mut self, name: &str, value: impl Display) {
        self.options.push((name.to_owned(), Some(value.to_string())));
    }

    /// The same if there is a value.
    pub fn maybe(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.option(name, value);
        }
    }

    /// Adds how an algorithm is set up.
    pub fn setup(&mut self, about: &About, setup: &Setup) {
        self.option("nodes", setup.group.size());
        for parameter in about.takes.iter().filter(|it| !it.goes_without_saying(setup)) {
            self.option(parameter.name(), parameter.show(setup));
        }
    }

    /// The options as an object: a number where the value is one, true where there is none.
    pub fn parameters(&self) -> Value {
        let parameter = |(name, value): &(String, Option<String>)| {
            let value = value.as_ref().map_or_else(
                || json!(true),
                |text| text.parse::<u64>().map_or_else(|_| json!(text), Value::from),
            );
            (name.clone(), value)
        };
        Value::Object(self.options.iter().map(parameter).collect())
    }
}

impl Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.command)?;
        for (name, value) in &self.options {
            write!(f, " --{name}")?;
            if let Some(value) = value {
                write!(f, " {value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_words_and_its_parameters() {
        let mut line = CommandLine::new("vorrang check central");
        line.option("nodes", 3);
        line.flag("fair");
        line.maybe("crashes", None::<u8>);
        line.option("entries", "2,2,1");
        assert_eq!(line.to_string(), "vorrang check central --nodes 3 --fair --entries 2,2,1");
        let parameters = json!({ "nodes": 3, "fair": true, "entries": "2,2,1" });
        assert_eq!(line.parameters(), parameters);
    }
}
