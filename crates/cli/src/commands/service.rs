//! The commands of the lock service: a program of its own, so that nobody who simulates compiles
//! it. As `git` and `cargo` do with theirs, this hands over to it.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use vorrang_node::terminal::{BAD, RESET, say_aside};

/// Its program.
const PROGRAM: &str = "vorrang-service";

/// What builds it.
const BUILD: &str = "cargo build --release -p vorrang-service";

/// The service is unavailable, as its own commands say if no daemon answers.
const UNAVAILABLE: u8 = 69;

/// Its commands, with what they do.
pub(crate) const COMMANDS: [(&str, &str); 9] = [
    ("serve", "Run a member of a group, for the programs of this machine"),
    ("lock", "Run a command while holding a lock"),
    ("semaphore", "Run a command while holding one of the permits of a semaphore"),
    ("elect", "Run a command while leading an election"),
    ("locks", "Show who holds what since when, and who waits"),
    ("members", "Show the members of the group"),
    ("fence", "Run a command only if a fencing token is not older than the newest one seen"),
    ("keys", "Make the keys and certificates of a group"),
    ("recover", "Say what brings a group back that has lost its majority"),
];

/// If the arguments are one of these commands, or ask for help about one, hands over to the program
/// and returns its exit code, if it returns at all.
pub(crate) fn hand_over(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let arguments = meant(arguments.skip(1).collect())?;
    let why = match beside_us().filter(|it| it.is_file()) {
        Some(program) => become_it(Command::new(program), &arguments),
        None => become_it(Command::new(PROGRAM), &arguments),
    };
    let why = match why {
        Ok(code) => return Some(code),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            format!("'{PROGRAM}' is neither beside this program nor in PATH: `{BUILD}` builds it")
        }
        Err(why) => format!("'{PROGRAM}' cannot be run: {why}; `{BUILD}` builds it"),
    };
    say_aside(&format!("{BAD}error:{RESET} {why}"));
    Some(ExitCode::from(UNAVAILABLE))
}

/// The arguments of the other program, if one of its commands is meant.
fn meant(arguments: Vec<OsString>) -> Option<Vec<OsString>> {
    let is_ours = |word: &OsString| COMMANDS.iter().any(|(name, _)| word == name);
    match arguments.as_slice() {
        [first, ..] if is_ours(first) => Some(arguments),
        [help, command] if help == "help" && is_ours(command) => {
            Some(vec![command.clone(), "--help".into()])
        }
        _ => None,
    }
}

fn beside_us() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.with_file_name(format!("{PROGRAM}{}", env::consts::EXE_SUFFIX)))
}

/// The process is that of the other program from now on: signals, exit codes and parents are its
/// own.
#[cfg(unix)]
fn become_it(mut program: Command, arguments: &[OsString]) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(program.args(arguments).exec())
}

#[cfg(not(unix))]
fn become_it(mut program: Command, arguments: &[OsString]) -> std::io::Result<ExitCode> {
    let status = program.args(arguments).status()?;
    Ok(ExitCode::from(status.code().map_or(1, |code| code as u8)))
}

/// The commands as the help shows them.
pub(crate) fn help() -> String {
    let lines = COMMANDS.iter().map(|(name, what)| format!("  {name:<12}{what}\n"));
    format!("The lock service (`{BUILD}`):\n{}", lines.collect::<String>())
}

/// For shells that complete what is typed.
pub(crate) fn subcommands() -> impl Iterator<Item = clap::Command> {
    COMMANDS.iter().map(|(name, what)| {
        let words = clap::Arg::new("arguments").num_args(0..).trailing_var_arg(true);
        let words =
            words.allow_hyphen_values(true).value_hint(clap::ValueHint::CommandWithArguments);
        clap::Command::new(*name).about(*what).arg(words).disable_help_flag(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_commands_are_handed_over_and_all_that_comes_with_them() {
        let meant = |line: &str| {
            let arguments = meant(line.split_whitespace().map(OsString::from).collect())?;
            let words: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
            Some(words.join(" "))
        };
        for line in ["lock x -- make -j 2", "serve", "fence --help", "locks --help --json"] {
            assert_eq!(meant(line).as_deref(), Some(line));
        }
        assert_eq!(meant("help lock").as_deref(), Some("lock --help"));
        for line in ["", "run lock", "help", "help run", "--version lock", "lockx", "help lock x"] {
            assert_eq!(meant(line), None, "{line}");
        }
    }
}
