//! A shell with job control on a terminal of its own.

pub(crate) use vorrang_testkit::Terminal;

/// An interactive shell, which finds the program in `PROGRAM`.
pub(crate) fn shell() -> Terminal {
    let mut command = crate::support::heeding_signals("setsid");
    command.args(["--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
    command.env("PROGRAM", env!("CARGO_BIN_EXE_vorrang-service")).env("PS1", "$ ");
    command.env("TERM", "dumb").env("LC_ALL", "C.UTF-8").env_remove("VORRANG_LOCK");
    let mut terminal = Terminal::start(1000, &mut command);
    terminal.shows("$ ");
    terminal
}
