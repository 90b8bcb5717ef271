//! The options of a run, each with any number of values: what a comparison or a sweep goes through.

use std::collections::HashSet;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::options::RunArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::selection::check_count;
use vorrang_experiment::values::Numbers;

/// Options of a run with the values that each is to take, in the order of the help text.
///
/// A value is a list of words, since some options may be given several times in one run; that of an
/// option that takes no value is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes(Vec<(String, Vec<Vec<String>>)>);

/// Options whose commas are part of one value, and that may be given several times.
const NO_AXIS: [&str; 12] = [
    "crash",
    "restart",
    "pause",
    "partition",
    "cut",
    "slow",
    "skew",
    "lose",
    "double",
    "delay",
    "initiators",
    "requesters",
];

impl Axes {
    /// Every combination, the last axis varying fastest, as the options of one run each.
    ///
    /// Each is to be run so many times.
    pub(crate) fn points(&self, times: u64) -> Result<Vec<ExplicitArgs<RunArgs>>, Failure> {
        check_count(self.0.iter().map(|(_, values)| values.len() as u64).chain([times]))?;
        let mut points: Vec<Vec<String>> = vec![Vec::new()];
        for (option, values) in &self.0 {
            let flag = format!("--{}", option.replace('_', "-"));
            let with = |point: &Vec<String>, value: &Vec<String>| {
                let mut point = point.clone();
                // As one word, so that a value may begin with a hyphen.
                point.extend(value.iter().map(|value| format!("{flag}={value}")));
                if value.is_empty() {
                    point.push(flag.clone());
                }
                point
            };
            points = points
                .iter()
                .flat_map(|point| values.iter().map(|value| with(point, value)).collect::<Vec<_>>())
                .collect();
        }
        let mut command = RunArgs::augment_args(Command::new("run").no_binary_name(true));
        points.into_iter().map(|point| parse(&mut command, point)).collect()
    }

    /// Whether anything is said of an option.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.iter().any(|(known, _)| known == option)
    }
}

/// Reads the options of one run.
fn parse(command: &mut Command, point: Vec<String>) -> Result<ExplicitArgs<RunArgs>, Failure> {
    let wrong = |error: clap::Error| {
        // The error about the value, without the usage of the command.
        let text = error.to_string();
        let said = text.split("\n\n").next().unwrap_or_default();
        Failure::usage(said.strip_prefix("error: ").unwrap_or(said).trim_end())
    };
    let matches = command.try_get_matches_from_mut(point).map_err(wrong)?;
    ExplicitArgs::from_arg_matches(&matches).map_err(wrong)
}

impl Args for Axes {
    fn augment_args(mut command: Command) -> Command {
        let run = RunArgs::augment_args(Command::new("run"));
        for arg in run.get_arguments() {
            let mut axis = with_values_in_help(arg).default_value(None).required(false);
            if arg.get_action().takes_values() {
                axis = axis.value_parser(clap::builder::StringValueParser::new());
                let is_axis = !NO_AXIS.contains(&arg.get_id().as_str());
                let action = if is_axis { ArgAction::Set } else { ArgAction::Append };
                axis = axis.value_delimiter(None).action(action);
            }
            command = command.arg(axis);
        }
        command
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// An option whose help says what it can be and what it is if nothing is said, since an axis has
/// neither by itself.
fn with_values_in_help(arg: &Arg) -> Arg {
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        help.push_str(&format!(" [possible values: {}]", values.join(", ")));
    }
    if let [default] = arg.get_default_values()
        && arg.get_action().takes_values()
    {
        help.push_str(&format!(" [default: {}]", default.to_string_lossy()));
    }
    arg.clone().help(help)
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
                let texts: Vec<String> =
                    matches.get_many(id).map_or_else(Vec::new, |it| it.cloned().collect());
                if NO_AXIS.contains(&id) {
                    vec![texts]
                } else {
                    let all = values(&texts.concat()).map_err(|why| {
                        let flag = id.replace('_', "-");
                        clap::Error::raw(ErrorKind::ValueValidation, format!("--{flag}: {why}\n"))
                    })?;
                    all.into_iter().map(|value| vec![value]).collect()
                }
            } else {
                vec![Vec::new()]
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
    for part in parts(text) {
        let part = part.as_str();
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

/// Values that are lists themselves: parts that begin with a digit belong to them.
const LISTS: [&str; 5] = ["links:", "sets:", "sets-from-1:", "wall:", "weighted:"];

/// The parts between commas, except those of a value that is a list itself.
fn parts(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let list = all.last_mut().filter(|last| LISTS.iter().any(|it| last.starts_with(it)));
        match list {
            Some(list) if part.starts_with(|c: char| c.is_ascii_digit()) => {
                list.push(',');
                list.push_str(part);
            }
            Some(_) | None => all.push(part.to_owned()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_out_once_each() {
        assert_eq!(values("2..=8*2,4,5"), Ok(["2", "4", "8", "5"].map(str::to_owned).to_vec()));
        let latencies = ["uniform:1ms..3ms", "exp:2ms"];
        assert_eq!(values(&latencies.join(",")), Ok(latencies.map(str::to_owned).to_vec()));
        let systems = ["plane", "wall:1,2,3", "sets:0-1,1-2,0-2", "grid"];
        assert_eq!(values(&systems.join(",")), Ok(systems.map(str::to_owned).to_vec()));
        assert!(values("5..=2").unwrap_err().contains("the range '5..=2' is empty"));
    }
}
