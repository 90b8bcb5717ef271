//! An option for every parameter that an algorithm may have to be told.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use vorrang_algorithms::setup::Parameter;

use super::SetupArgs;

impl Args for SetupArgs {
    fn augment_args(command: Command) -> Command {
        command.args(
            Parameter::ALL.map(|it| {
                Arg::new(it.name()).long(it.name()).value_name(it.value()).help(it.what())
            }),
        )
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SetupArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let said = |it: Parameter| Some((it, matches.get_one::<String>(it.name())?.clone()));
        Ok(Self(Parameter::ALL.into_iter().filter_map(said).collect()))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
