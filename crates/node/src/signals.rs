//! How a service is told to stop: SIGTERM, SIGINT (Ctrl-C) and SIGHUP (its terminal is gone).

use std::fmt;
use std::process::exit;

use vorrang_experiment::failure::Failure;

/// A signal, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there is one everywhere"))]
pub(super) enum Signal {
    HangUp = 1,
    Interrupt = 2,
    Terminate = 15,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HangUp => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}

#[cfg(unix)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// None if the parent process ignores it, as `nohup` does.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// From now on they do not end the process by themselves.
    pub(super) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = (!is_hang_up_ignored()).then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Signal {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = hang_up => Signal::HangUp,
        }
    }
}

/// Whether SIGHUP was ignored when we were started, where the system tells.
#[cfg(unix)]
fn is_hang_up_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hang_up(&status))
}

#[cfg(unix)]
fn ignores_hang_up(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> Signal {
        // An error would come again and again.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}

impl Signals {
    /// Ends the process at once with the next signal.
    pub(super) async fn die_of_the_next(mut self) {
        // As a shell says of a program that a signal ended.
        exit(128 + self.next().await as i32);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_from_the_start_is_left_so() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t00000001\nSigIgn:\t{mask}\n");
        assert!(ignores_hang_up(&status("0000000000001001")));
        assert!(!ignores_hang_up(&status("0000000000001000")));
        assert!(!ignores_hang_up("Name:\tx\n"));
    }
}
