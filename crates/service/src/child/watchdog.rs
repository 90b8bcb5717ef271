//! A process that kills the command when `vorrang lock` cannot: since it was killed, or since it
//! stands still and the hold is over. It reads lines from a pipe: when the command must be dead, in
//! nanoseconds of [`boot_time`](crate::boot_time), or that it is. The end of the pipe is the end of
//! `vorrang lock`.
//!
//! The kernel kills the command itself without it, but not what that has started.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _, stdin};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::boot_time;

/// `vorrang-service watchdog-of PROCESS-GROUP`.
pub(super) const NAME: &str = "watchdog-of";

/// The command is dead.
const DONE: &str = "done";

/// How long it sleeps at most: this clock goes on while a machine sleeps, and that of `poll` does
/// not.
const LONGEST_SLEEP_NS: u64 = 100_000_000;

/// The process, seen from its parent. If this is dropped, it kills.
#[derive(Debug)]
pub(super) struct Watchdog(ChildStdin);

impl Watchdog {
    pub(super) fn start(program: &Path, group: Pid) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(NAME).arg(group.as_raw_nonzero().to_string()).process_group(0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let pipe = child.stdin.take().expect("it was asked for");
        // One that stands still itself must not keep us.
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        Ok(Self(pipe))
    }

    pub(super) fn tell(&mut self, deadline_ns: u64) {
        self.write(&deadline_ns.to_string());
    }

    pub(super) fn dismiss(mut self) {
        self.write(DONE);
    }

    fn write(&mut self, line: &str) {
        // So few bytes are written as a whole or not at all; one that was killed is not needed
        // either as long as we live.
        let _ = self.0.write(format!("{line}\n").as_bytes());
    }
}

pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let group = arguments.next().and_then(|it| it.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let Some(group) = group else {
        vorrang_terminal::say_aside("error: this is a part of `vorrang lock`, which starts it");
        return ExitCode::FAILURE;
    };
    // It outlives whoever has started it, so it keeps nothing in use.
    let _ = std::env::set_current_dir("/");
    if watch() == Verdict::Kill {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    ExitCode::SUCCESS
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Kill,
    Spare,
}

fn watch() -> Verdict {
    let mut lines = Lines::default();
    let mut buffer = [0; 512];
    loop {
        let now = boot_time::now_ns();
        if lines.deadline_ns.is_some_and(|deadline| deadline <= now) {
            return Verdict::Kill;
        }
        let sleep = lines.deadline_ns.map(|deadline| (deadline - now).min(LONGEST_SLEEP_NS));
        let sleep = sleep.map(|ns| Timespec { tv_sec: 0, tv_nsec: ns.cast_signed() });
        let input = stdin();
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], sleep.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return Verdict::Kill,
        }
        match input.lock().read(&mut buffer) {
            Ok(read @ 1..) => {
                if lines.take(&buffer[..read]) {
                    return Verdict::Spare;
                }
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return Verdict::Kill,
        }
    }
}

/// What was read so far.
#[derive(Default, Debug)]
struct Lines {
    rest: Vec<u8>,
    deadline_ns: Option<u64>,
}

impl Lines {
    /// True if the command is dead.
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]);
            if line == DONE {
                return true;
            }
            self.deadline_ns = line.parse().ok().or(self.deadline_ns);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_come_in_pieces_and_the_last_deadline_counts() {
        let mut lines = Lines::default();
        assert!(!lines.take(b"12") && lines.deadline_ns.is_none());
        assert!(!lines.take(b"3\n456\n7") && lines.deadline_ns == Some(456));
        assert!(!lines.take(b"89\ndo") && lines.deadline_ns == Some(789));
        assert!(lines.take(b"ne\n"));
    }
}
