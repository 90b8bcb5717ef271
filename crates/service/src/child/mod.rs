//! A command that runs only as long as something is held.
//!
//! ```text
//!   vorrang lock ──┬── watchdog      sees that vorrang lock is gone, or stands still, and kills:
//!                  └── the command   a process group of its own, with all that it starts
//! ```
//!
//! - **It begins when all is ready.** What is started is this very program ([`trampoline`]), which
//!   stops itself; when the daemon knows the process group it is continued, and becomes the
//!   command.
//! - **It ends with its parent.** If `vorrang lock` is killed, the kernel kills the command
//!   (`PR_SET_PDEATHSIG`), and the watchdog kills what the command has started, as the daemon does.
//! - **Its end is the end of the whole group.** The command may have left processes behind that go
//!   on working: they are waited for, as `flock` does, whose lock such processes keep.
//! - **The terminal's foreground** is given to it and taken back ([`foreground`]).
//!
//! A process that leaves the group, with `setsid` as daemons do, is not the command any more:
//! nobody waits for it, and nobody kills it.
mod foreground;
mod ignored;
mod signals;
mod trampoline;
mod watchdog;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_process, kill_process_group,
    test_kill_process_group, wait,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use self::foreground::Terminal;
pub(crate) use self::signals::Signals;
use self::watchdog::Watchdog;

/// How often a group is looked at that others than our children belong to.
const LOOKED_AT: Duration = Duration::from_millis(50);

/// The two programs besides the commands of the command line, if this process is to be one of them.
pub(crate) fn dispatch(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let _program = arguments.next();
    let what = arguments.next()?;
    if what == trampoline::NAME {
        return Some(trampoline::main(arguments));
    }
    (what == watchdog::NAME).then(|| watchdog::main(arguments))
}

/// This program itself, even if its file was replaced meanwhile.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

/// A command in a process group of its own.
#[derive(Debug)]
pub(crate) struct Child {
    group: Pid,
    leader: Leader,
    watchdog: Watchdog,
    /// The terminal of this process, if it has one.
    terminal: Option<Terminal>,
    /// That a child has ended, stopped, or gone on.
    told: tokio::signal::unix::Signal,
}

/// The first process of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leader {
    /// It was started, and has not stopped itself yet.
    Starting,
    /// It waits to become the command.
    Ready,
    Running,
    Ended(Ending),
}

/// How a process has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// With this code.
    Exit(u8),
    /// By this signal.
    Killed(i32),
}

impl Ending {
    fn of(status: WaitStatus) -> Option<Self> {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(Self::Exit(code as u8)),
            (None, Some(signal)) => Some(Self::Killed(signal)),
            (None, None) => None,
        }
    }

    /// As a shell has it.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Exit(code) => code,
            Self::Killed(signal) => 128 + signal as u8,
        }
    }
}

/// What has become of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// It may begin: [`Child::begin`].
    Ready,
    /// It was stopped by this signal.
    Stopped(i32),
    /// It has ended, and others of its group have not.
    Ended(Ending),
    /// Nothing is left of its group.
    Gone(Ending),
}

impl Child {
    /// Starts it as far as it goes without the command itself. Call this from the main thread: a
    /// child ends with the *thread* that has started it.
    ///
    /// # Errors
    ///
    /// If the system starts no process.
    pub(crate) fn start(
        command: &[OsString],
        environment: &[(&'static str, OsString)],
    ) -> io::Result<Self> {
        adopt_orphans()?;
        let told = signal(SignalKind::child())?;
        let program = this_program()?;
        let mut first = Command::new(&program);
        first.arg(trampoline::NAME).arg(getpid().as_raw_nonzero().to_string()).args(command);
        first.envs(environment.iter().map(|(key, value)| (key, value))).process_group(0);
        let group = Pid::from_child(&first.spawn()?);
        let watchdog = Watchdog::start(&program, group).inspect_err(|_| {
            // It has done nothing yet.
            let _ = kill_process_group(group, Signal::KILL);
        })?;
        Ok(Self { group, leader: Leader::Starting, watchdog, terminal: Terminal::of_us(), told })
    }

    /// The number of its group.
    pub(crate) const fn group(&self) -> u32 {
        self.group.as_raw_nonzero().get() as u32
    }

    /// It becomes the command. It has the terminal if that is ours, unless we are one of several in
    /// a pipeline, of which another may use the terminal: then it gets it when it asks for it.
    pub(crate) fn begin(&mut self) {
        self.leader = Leader::Running;
        self.resume();
    }

    /// It goes on, as this process does.
    pub(crate) fn resume(&self) {
        if self.terminal.as_ref().is_some_and(Terminal::is_shared) {
            self.signal(Signal::CONT);
        } else {
            self.resume_in_front();
        }
    }

    /// It goes on, in the foreground if we are there.
    fn resume_in_front(&self) {
        if let Some(terminal) = &self.terminal
            && terminal.is_of(getpgrp())
        {
            terminal.give_to(self.group);
        }
        self.signal(Signal::CONT);
    }

    /// Has it get a signal, and all others of its group, unless there is none left.
    pub(crate) fn signal(&self, signal: Signal) {
        // A group that is gone needs none.
        let _ = kill_process_group(self.group, signal);
    }

    /// Asks it to end. One that stands still could not.
    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Tells the watchdog when it must be dead.
    pub(crate) fn must_be_dead_at(&mut self, boottime_ns: u64) {
        self.watchdog.tell(boottime_ns);
    }

    /// It was stopped, as its terminal stops it: so is this process, until somebody continues it.
    /// If it was stopped since it wants the terminal, and that is ours by now, it gets it instead.
    pub(crate) fn stop_with_it(&self, signal: i32) {
        let has = |group| self.terminal.as_ref().is_some_and(|it| it.is_of(group));
        let ours = getpgrp();
        if [Signal::TTIN, Signal::TTOU].map(Signal::as_raw).contains(&signal) {
            if has(ours) {
                return self.resume_in_front();
            }
        } else if signal != Signal::TSTP.as_raw() {
            // Somebody has stopped the command and it alone.
            return;
        }
        if has(self.group) {
            // The terminal would have stopped all of our group: a script that waits for us must
            // stand still, too. All at once, so that nobody is continued before it has stopped.
            let _ = kill_process_group(ours, Signal::STOP);
        } else {
            stop();
        }
    }

    /// What happens to it next. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.look() {
                return change;
            }
            match self.leader {
                Leader::Ended(ending) => {
                    if self.is_gone() {
                        return Change::Gone(ending);
                    }
                    let _ = timeout(LOOKED_AT, self.told.recv()).await;
                }
                Leader::Starting | Leader::Ready | Leader::Running => {
                    self.told.recv().await;
                }
            }
        }
    }

    /// Waits for all children that have ended, adopted ones as well; says what has become of ours.
    fn look(&mut self) -> Option<Change> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((pid, status))) = wait(options) {
            if pid != self.group {
                continue;
            }
            if let Some(ending) = Ending::of(status) {
                self.leader = Leader::Ended(ending);
                return (!self.is_gone()).then_some(Change::Ended(ending));
            }
            match status.stopping_signal() {
                Some(_) if self.leader == Leader::Starting => {
                    self.leader = Leader::Ready;
                    return Some(Change::Ready);
                }
                Some(signal) if self.leader == Leader::Running => {
                    return Some(Change::Stopped(signal));
                }
                Some(_) | None => {}
            }
        }
        None
    }

    fn is_gone(&self) -> bool {
        test_kill_process_group(self.group) == Err(rustix::io::Errno::SRCH)
    }

    /// Nothing is left of it.
    pub(crate) fn end(self) {
        let Self { group, watchdog, terminal, .. } = self;
        watchdog.dismiss();
        if let Some(terminal) = terminal {
            terminal.take_from(group);
        }
    }
}

/// Stops this process until somebody continues it.
pub(crate) fn stop() {
    // It is let stop itself.
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Those whose parents have ended become our children, so that their end is noticed.
fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    Ok(())
}

/// The words of a command, for people.
pub(crate) fn words(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| OsStr::to_string_lossy(word)).collect();
    words.join(" ")
}
