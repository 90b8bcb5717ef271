//! The foreground of the terminal: one process group at a time may read it, and gets its Ctrl-C.

use std::fs::File;
use std::io::{stdin, stdout};

use rustix::fs::{FileType, Stat, fstat};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// The terminal that controls this process.
#[derive(Debug)]
pub(super) struct Terminal {
    file: File,
    is_shared: bool,
}

impl Terminal {
    /// If there is one.
    pub(super) fn of_us() -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        // A process in the background that gives it away, or writes to it, would be stopped.
        block_terminal_output_signal();
        Some(Self { file: terminal, is_shared: is_in_pipeline() })
    }

    /// Whether others of our group may use it, as in `vorrang lock x -- cat book | less`.
    pub(super) const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether this group is in the foreground.
    pub(super) fn is_of(&self, group: Pid) -> bool {
        tcgetpgrp(&self.file).is_ok_and(|foreground| foreground == group)
    }

    pub(super) fn give_to(&self, group: Pid) {
        // A terminal that was closed meanwhile nobody misses.
        let _ = tcsetpgrp(&self.file, group);
    }

    /// Takes it back, unless the shell has taken it.
    pub(super) fn take_from(&self, group: Pid) {
        if self.is_of(group) {
            self.give_to(getpgrp());
        }
    }
}

fn is_in_pipeline() -> bool {
    let is_pipe = |stat: rustix::io::Result<Stat>| {
        stat.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Fifo)
    };
    is_pipe(fstat(stdin())) || is_pipe(fstat(stdout()))
}

/// `SIGTTOU` is blocked in this thread. Children begin with no signal blocked.
fn block_terminal_output_signal() {
    use nix::sys::signal::{SigSet, Signal};
    let mut set = SigSet::empty();
    set.add(Signal::SIGTTOU);
    // It fails for an unknown operation, which this is not.
    let _ = set.thread_block();
}
