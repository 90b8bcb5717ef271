//! What becomes the command: this program, in the process that will be it. It sees to it that the
//! kernel kills it with its parent, stops itself, and replaces itself by the command as soon as it
//! is continued.
//!
//! Between `fork` and `exec` next to nothing may be done in a process with threads. A program has
//! no such limits.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, getpid, getppid, kill_process};

/// `vorrang-service child-of PID COMMAND…`.
pub(super) const NAME: &str = "child-of";

/// As a shell has it: the command was found and cannot be run.
const CANNOT_RUN: u8 = 126;
/// As a shell has it: there is no such command.
const NOT_FOUND: u8 = 127;

pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|it| it.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        return said("this is a part of `vorrang lock`, which starts it by itself");
    };
    if let Err(why) = end_with_parent() {
        return said(&format!("the kernel does not let a command end with its parent: {why}"));
    }
    // It may have ended before that; then nobody tells.
    if getppid() != Some(parent) {
        return ExitCode::from(CANNOT_RUN);
    }
    if let Err(why) = kill_process(getpid(), Signal::STOP) {
        return said(&format!("a process cannot stop itself: {why}"));
    }
    if getppid() != Some(parent) {
        return ExitCode::from(CANNOT_RUN);
    }
    let why = Command::new(&program).args(arguments).exec();
    let code = if why.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    said(&format!("cannot run '{}': {why}", program.to_string_lossy()));
    ExitCode::from(code)
}

fn end_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

fn said(why: &str) -> ExitCode {
    vorrang_terminal::say_aside(&format!("error: {why}"));
    ExitCode::from(CANNOT_RUN)
}
