//! The program on a terminal of its own.

use rustix::process::{Pid, Signal, kill_process};
pub(crate) use vorrang_testkit::Terminal;

use super::vorrang;

/// Starts it on a terminal of so many columns that knows UTF-8, unless these variables say
/// otherwise.
pub(crate) fn start(columns: u16, variables: &[(&str, &str)], args: &[&str]) -> Terminal {
    let mut command = vorrang(args);
    command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").envs(variables.iter().copied());
    Terminal::start(columns, &mut command)
}

/// Sends it a signal, as a key does that the terminal knows, or another program.
pub(crate) fn signal(terminal: &Terminal, signal: Signal) {
    kill_process(Pid::from_child(terminal.child()), signal).expect("it is there");
}
