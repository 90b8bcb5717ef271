//! What is typed of a hold, and of the command that runs under it.

use std::ffi::OsString;
use std::str::FromStr as _;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use vorrang_lock::{Name, Value};

use super::target::TargetArgs;
use super::wait_time::wait_time;
use crate::api::{HoldRequest, Kind, LONGEST_LABEL};
use crate::failure::Failure;

/// Without waiting, this is how long a grant may be under way: no member knows at once that
/// something is busy.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Options of every command that waits for a hold.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WaitArgs {
    /// Do not wait: end with the exit code of --conflict-exit-code if it is not to be had within
    /// 500 ms, which is how long it may take to ask the group
    #[arg(short, long, visible_alias = "nb", conflicts_with = "timeout")]
    nonblock: bool,
    /// Wait for no longer than this: seconds, or a time such as 500ms, 10m or 2h; 0 is --nonblock
    #[arg(short = 'w', long, visible_alias = "wait", value_name = "TIME", value_parser = wait_time)]
    timeout: Option<Duration>,
    /// The exit code if it is not to be had in time
    #[arg(short = 'E', long, value_name = "N", default_value_t = 1)]
    pub(crate) conflict_exit_code: u8,
    /// While no daemon can be reached, go on trying for so long before anything is held
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = wait_time)]
    pub(crate) retry: Duration,
    /// Say on standard error what is waited for and how long that took
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

impl WaitArgs {
    /// How long it may take, if that is limited.
    pub(crate) fn within(&self) -> Option<Duration> {
        match self.timeout {
            Some(Duration::ZERO) => Some(AT_ONCE),
            None if self.nonblock => Some(AT_ONCE),
            timeout => timeout,
        }
    }
}

/// A command, as it is typed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CommandArgs {
    /// Give the hold back as soon as the command has ended, even if processes that it has started
    /// are left in its process group; they run on without it
    #[arg(short = 'o', long)]
    pub(crate) close: bool,
    /// A command for the shell (`SHELL`, else /bin/sh), as one argument
    #[arg(short = 'c', long = "command", value_name = "STRING", conflicts_with = "words",
          value_parser = NonEmptyStringValueParser::new())]
    shell: Option<String>,
    /// The command and its arguments. Without one, the fencing token is printed, and the hold lasts
    /// until a signal (Ctrl-C), or until standard input ends if that is a pipe
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    words: Vec<OsString>,
}

impl CommandArgs {
    /// The words of the command, if there is one.
    pub(crate) fn command(&self) -> Option<Vec<OsString>> {
        if let Some(line) = &self.shell {
            let shell = std::env::var_os("SHELL").filter(|it| !it.is_empty());
            let shell = shell.unwrap_or_else(|| OsString::from("/bin/sh"));
            return Some(vec![shell, "-c".into(), line.into()]);
        }
        (!self.words.is_empty()).then(|| self.words.clone())
    }
}

/// Names that surround this process, in the variable of a kind: one a line.
pub(crate) fn surrounding(variable: &str) -> Vec<String> {
    let names = std::env::var(variable).unwrap_or_default();
    names.lines().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The variable that has the names of this kind.
pub(crate) const fn variable(kind: Kind) -> &'static str {
    match kind {
        Kind::Lock | Kind::Shared => "VORRANG_LOCK",
        Kind::Semaphore => "VORRANG_SEMAPHORE",
        Kind::Election => "VORRANG_ELECTION",
    }
}

/// Refuses what is no name, and what would wait for itself.
pub(crate) fn check(request: &HoldRequest) -> Result<(), Failure> {
    Name::from_str(&request.name).map_err(Failure::Usage)?;
    if let Some(Err(why)) = request.value.as_deref().map(Value::new) {
        return Err(Failure::Usage(format!("--value is not what it should be: {why}")));
    }
    let variable = variable(request.kind);
    if !surrounding(variable).contains(&request.name) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} is held already by a command around this one ({variable} names it), and nothing is \
         re-entrant: it would wait for itself for ever. If that is another group's, unset \
         {variable}",
        called(request)
    )))
}

/// What is wanted, for sentences.
pub(crate) fn called(request: &HoldRequest) -> String {
    let name = vorrang_terminal::harmless(&request.name);
    match request.kind {
        Kind::Lock => format!("the lock '{name}'"),
        Kind::Shared => format!("the shared lock '{name}'"),
        Kind::Semaphore => format!("a permit of the semaphore '{name}'"),
        Kind::Election => format!("the election '{name}'"),
    }
}

/// Who asks, for people who look at the list of locks.
pub(crate) fn label(command: Option<&[OsString]>) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let words = command.map(crate::child::words).unwrap_or_default();
    let label = format!("{host}:{} {words}", std::process::id());
    let mut label = vorrang_terminal::harmless(label.trim_end());
    if label.len() > LONGEST_LABEL {
        let most = LONGEST_LABEL - '…'.len_utf8();
        let end = (0..=most).rev().find(|&it| label.is_char_boundary(it)).unwrap_or(0);
        label.truncate(end);
        label.push('…');
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short_and_harmless() {
        let command: Vec<OsString> = vec!["a\x1b".into(), "ä".repeat(300).into()];
        let label = label(Some(&command));
        assert!(label.len() <= LONGEST_LABEL && label.ends_with('…'), "{label}");
        assert!(label.contains(&format!(":{} a\\x1b ä", std::process::id())), "{label}");
    }
}
