//! `vorrang completions`: scripts that let a shell complete commands, options and names.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command};
use clap_complete::Shell;
use vorrang_experiment::catalogue::catalogue;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup::problems;
use vorrang_node::terminal::print;

use super::explain::TERMS;

/// Print a script that lets your shell complete commands, options and names
///
/// For bash:  source <(vorrang completions bash)
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// For the command line as it is parsed.
    pub(crate) fn execute(self, command_line: &Command) -> Result<(), Failure> {
        let mut command = visible(command_line);
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "vorrang", &mut script);
        let mut script = String::from_utf8_lossy(&script).into_owned();
        if self.shell == Shell::Fish {
            script.push_str(&for_fish(&command));
        }
        print(&script)
    }
}

/// The command line as shells are to know it: without what people do not type, and with the names
/// that there are. The one that is parsed knows no names, so that an unknown one is answered in our
/// words.
fn visible(command: &Command) -> Command {
    let mut visible =
        Command::new("vorrang").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    if let Some(about) = command.get_about() {
        visible = visible.about(about.clone());
    }
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set()).cloned();
    let visible = visible.subcommands(super::service::subcommands());
    visible.subcommands(shown.map(|subcommand| {
        let explains = subcommand.get_name() == "explain";
        subcommand.mut_args(|arg| match names(&arg, explains) {
            // The program ends when the script is printed; until then names may as well stay.
            Some(names) => arg.value_parser(PossibleValuesParser::new(
                names.into_iter().map(|name| &*name.leak()),
            )),
            None => arg,
        })
    }))
}

/// The possible values of an argument, if it is a name.
fn names(arg: &Arg, explains: bool) -> Option<Vec<String>> {
    let abouts = || catalogue().iter().map(|entry| entry.algorithm.about());
    let algorithms = || abouts().map(|about| about.name.to_owned());
    match arg.get_id().as_str() {
        "algorithm" if explains => Some(algorithms().chain([TERMS.to_owned()]).collect()),
        "algorithm" => Some(algorithms().collect()),
        "algorithms" => Some(algorithms().chain(["all".to_owned()]).collect()),
        "problem" => Some(problems()),
        "flaw" => {
            let mistakes = abouts().flat_map(|about| about.mistakes);
            let mut flaws: Vec<String> = mistakes.map(|flaw| flaw.name.to_owned()).collect();
            flaws.push("list".to_owned());
            flaws.sort();
            flaws.dedup();
            Some(flaws)
        }
        _ => None,
    }
}

/// The generator for fish leaves out arguments that are no options.
fn for_fish(command: &Command) -> String {
    let mut lines = String::new();
    for subcommand in command.get_subcommands() {
        for argument in subcommand.get_positionals() {
            let values = argument.get_possible_values();
            let values: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
            if !values.is_empty() {
                let (name, values) = (subcommand.get_name(), values.join(" "));
                let when = format!("__fish_vorrang_using_subcommand {name}");
                lines += &format!("complete -c vorrang -n \"{when}\" -f -a \"{values}\"\n");
            }
        }
    }
    lines
}
