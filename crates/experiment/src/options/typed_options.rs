//! Options as a command line has them: which were typed, and whether they fit.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use vorrang_algorithms::card::About;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::Parameter;
use vorrang_algorithms::{
    detection::Detection, election::Election, group::GroupCommunication, multicast::Multicast,
    mutex::Mutex,
};

use super::LastingArgs;
use super::election::{ElectionArgs, ElectionCheckArgs};
use super::explicit_args::ExplicitArgs;
use super::group::{GroupArgs, GroupCheckArgs};
use super::multicast::{MulticastArgs, MulticastCheckArgs};
use super::mutex::{MutexArgs, MutexCheckArgs};
use super::views::{self, ViewsArgs, ViewsCheckArgs};
use crate::failure::Failure;

impl<A: Args> Args for ExplicitArgs<A> {
    fn augment_args(command: Command) -> Command {
        A::augment_args(command)
    }
    fn augment_args_for_update(command: Command) -> Command {
        A::augment_args_for_update(command)
    }
}

impl<A: Args> FromArgMatches for ExplicitArgs<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // Groups of options have ids as well.
        let known = A::augment_args(Command::new(""));
        let is_typed = |id: &&clap::Id| {
            known.get_arguments().any(|arg| arg.get_id() == *id)
                && matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
        };
        let typed = matches.ids().filter(is_typed).map(|id| id.as_str().to_owned()).collect();
        Ok(Self::new(A::from_arg_matches(matches)?, typed))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<A> ExplicitArgs<A> {
    /// Refuses options that none of these algorithms has, in a sentence.
    pub fn check_fit(&self, abouts: &[&About]) -> Result<(), Failure> {
        let who = match abouts {
            [one] => one.name.to_owned(),
            _ => "none of the algorithms".to_owned(),
        };
        for option in self.typed() {
            let flag = option.replace('_', "-");
            if let Some(parameter) = Parameter::ALL.into_iter().find(|it| it.name() == option) {
                let on_views = self.has("on_views");
                let fits = |about: &&About| {
                    let takes = about.takes;
                    let takes = if on_views { views::takes(takes) } else { takes };
                    takes.contains(&parameter)
                };
                if !abouts.iter().any(fits) {
                    let takers = takers(parameter);
                    let others = match takers[..] {
                        [] => "; nor does any other algorithm".to_owned(),
                        [taker] => format!("; {taker} does"),
                        _ => format!("; {} do", takers.join(", ")),
                    };
                    let verb = if abouts.len() == 1 { "does not take" } else { "takes" };
                    return Err(Failure::usage(format!("{who} {verb} --{flag}{others}")));
                }
                continue;
            }
            let owners: Vec<_> = problem_options().into_iter().filter(|it| it.2(option)).collect();
            let is_owned = |about: &&About| owners.iter().any(|(name, ..)| *name == about.problem);
            if !owners.is_empty() && !abouts.iter().any(is_owned) {
                let titles: Vec<&str> = owners.iter().map(|(_, title, _)| *title).collect();
                let title = titles.join(" and ");
                let solves = abouts.first().map_or("", |about| about.solves);
                return Err(Failure::usage(format!(
                    "--{flag} is an option of {title}; {who} solves {solves}"
                )));
            }
        }
        Ok(())
    }
}

type Has = fn(&str) -> bool;

/// Each problem, and whether an option is one of its own.
fn problem_options() -> [(&'static str, &'static str, Has); 5] {
    fn has<A: Args>(option: &str) -> bool {
        let command = A::augment_args(Command::new(""));
        command.get_arguments().any(|arg| arg.get_id() == option)
    }
    [
        (Mutex::NAME, Mutex::TITLE, |it| {
            has::<MutexArgs>(it)
                || has::<MutexCheckArgs>(it)
                || has::<ViewsArgs>(it)
                || has::<ViewsCheckArgs>(it)
        }),
        (Election::NAME, Election::TITLE, |it| {
            has::<ElectionArgs>(it) || has::<ElectionCheckArgs>(it) || has::<LastingArgs>(it)
        }),
        (Detection::NAME, Detection::TITLE, has::<LastingArgs>),
        (Multicast::NAME, Multicast::TITLE, |it| {
            has::<MulticastArgs>(it) || has::<MulticastCheckArgs>(it) || has::<GroupArgs>(it)
        }),
        (GroupCommunication::NAME, GroupCommunication::TITLE, |it| {
            has::<MulticastArgs>(it) || has::<GroupArgs>(it) || has::<GroupCheckArgs>(it)
        }),
    ]
}

/// The names of the algorithms that take a parameter.
fn takers(parameter: Parameter) -> Vec<&'static str> {
    let takes = |about: &About| about.takes.contains(&parameter);
    vorrang_catalogue::abouts().into_iter().filter(takes).map(|about| about.name).collect()
}
