//! The options of a run, each with any number of values: what a comparison or a sweep goes through.

use std::collections::HashSet;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::failure::Failure;
use crate::options::{Given, RunArgs};
use crate::values::Numbers;

/// Options of a run with the values that each is to take, in the order of the help text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes(Vec<(String, Vec<String>)>);

/// Options whose commas are part of one value.
const NO_AXIS: [&str; 4] = ["crash", "restart", "lose", "initiators"];

/// Combinations beyond this are a slip of the finger.
const MOST: usize = 1_000_000;

impl Axes {
    /// Every combination, the last axis varying fastest, as the options of one run each.
    pub(crate) fn points(&self) -> Result<Vec<Given<RunArgs>>, Failure> {
        let combinations = self
            .0
            .iter()
            .try_fold(1_usize, |product, (_, values)| product.checked_mul(values.len()));
        if combinations.is_none_or(|many| many > MOST) {
            return Err(Failure::usage(format!("these are more than {MOST} combinations")));
        }
        let mut points: Vec<Vec<String>> = vec![Vec::new()];
        for (option, values) in &self.0 {
            let with = |point: &Vec<String>, value: &String| {
                let mut point = point.clone();
                // As one word, so that a value may begin with a hyphen.
                point.push(match value.is_empty() {
                    true => format!("--{}", option.replace('_', "-")),
                    false => format!("--{}={value}", option.replace('_', "-")),
                });
                point
            };
            points = points
                .iter()
                .flat_map(|point| values.iter().map(move |value| with(point, value)))
                .collect();
        }
        points.into_iter().map(parse).collect()
    }

    /// Adds an axis, unless it is there.
    pub(crate) fn or(mut self, option: &str, values: &[&str]) -> Self {
        if !self.0.iter().any(|(known, _)| known == option) {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            self.0.push((option.to_owned(), values));
        }
        self
    }
}

/// So many seeds from the first on.
pub(crate) fn seeds(first: u64, many: u64) -> Result<std::ops::RangeInclusive<u64>, Failure> {
    match first.checked_add(many - 1) {
        Some(last) => Ok(first..=last),
        None => Err(Failure::usage(format!(
            "--seed {first} --seeds {many} goes beyond the last seed, {}",
            u64::MAX
        ))),
    }
}

/// Reads the options of one run.
fn parse(arguments: Vec<String>) -> Result<Given<RunArgs>, Failure> {
    let command = RunArgs::augment_args(Command::new("run").no_binary_name(true));
    let matches = command.try_get_matches_from(arguments);
    let wrong = |error: clap::Error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
    };
    Given::from_arg_matches(&matches.map_err(wrong)?).map_err(wrong)
}

impl Args for Axes {
    fn augment_args(mut command: Command) -> Command {
        let run = RunArgs::augment_args(Command::new("run"));
        for arg in run.get_arguments() {
            let mut axis = arg.clone().default_value(None).required(false);
            if arg.get_action().takes_values() {
                axis = axis.value_parser(clap::builder::StringValueParser::new());
                axis = axis.value_delimiter(None).action(ArgAction::Set);
            }
            command = command.arg(axis);
        }
        command
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Axes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let run = RunArgs::augment_args(Command::new("run"));
        let mut axes = Self::default();
        for arg in run.get_arguments() {
            let id = arg.get_id().as_str();
            if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
                continue;
            }
            let values = if arg.get_action().takes_values() {
                let text = matches.get_one::<String>(id).cloned().unwrap_or_default();
                match NO_AXIS.contains(&id) {
                    true => vec![text],
                    false => values(&text).map_err(|why| {
                        clap::Error::raw(ErrorKind::ValueValidation, format!("--{id}: {why}\n"))
                    })?,
                }
            } else {
                vec![String::new()]
            };
            axes.0.push((id.to_owned(), values));
        }
        Ok(axes)
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `4`, `2..=256*2`, `1ms,exp:2ms`: ranges of numbers spelled out, anything else as it is; nothing
/// twice.
fn values(text: &str) -> Result<Vec<String>, String> {
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for part in text.split(',').map(str::trim) {
        let is_range = part.contains("..") && part.starts_with(|c: char| c.is_ascii_digit());
        let spelled = match part.parse::<Numbers>() {
            Ok(Numbers(numbers)) => numbers.iter().map(ToString::to_string).collect(),
            Err(why) if is_range => return Err(why),
            Err(_) => vec![part.to_owned()],
        };
        all.extend(spelled.into_iter().filter(|value| seen.insert(value.clone())));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_out_once_each() {
        assert_eq!(values("2..=8*2,4,5"), Ok(["2", "4", "8", "5"].map(str::to_owned).to_vec()));
        let latencies = ["uniform:1ms..3ms", "exp:2ms"];
        assert_eq!(values(&latencies.join(",")), Ok(latencies.map(str::to_owned).to_vec()));
        assert!(values("5..=2").unwrap_err().contains("the range '5..=2' is empty"));
    }
}
