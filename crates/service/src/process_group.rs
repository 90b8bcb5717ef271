//! The process group that works under a hold: the daemon ends it when the hold ends and its client
//! has not, since the client is stopped or dead.
//!
//! A number of a process may be used again. That of a group is not, as long as a process belongs
//! to it; so a group is still the one that was registered unless a process of its number exists
//! that was started at another time.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

/// How often is looked whether a process group is gone.
const LOOK: Duration = Duration::from_millis(5);

/// A process group that works under a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProcessGroup {
    group: Pid,
    /// When its first process was started, in ticks since the machine was.
    started: Option<u64>,
}

impl ProcessGroup {
    /// The group of this number, if it belongs to this user.
    pub(crate) fn of(number: u32, user: u32) -> Result<Self, String> {
        let group = i32::try_from(number).ok().filter(|&it| it > 1).and_then(Pid::from_raw);
        let Some(group) = group else {
            return Err(format!("{number} is not the number of a process group"));
        };
        if group == rustix::process::getpgrp() {
            return Err(format!("process group {number} is that of the daemon itself"));
        }
        let Some(first) = process::look_at(number) else {
            return Err(format!("there is no process {number}"));
        };
        if first.group != number {
            return Err(format!(
                "process {number} belongs to group {}: register a group by its first process",
                first.group
            ));
        }
        if first.user.is_none_or(|it| it != user) {
            return Err(format!("process {number} does not belong to user {user}"));
        }
        Ok(Self { group, started: first.started })
    }

    /// Its number.
    pub(crate) const fn number(self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// Asks all of its processes to end.
    pub(crate) fn terminate(self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of its processes, and waits until they are gone, at most so long. False if they
    /// are not.
    pub(crate) async fn end(self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            // Again and again: one may just have been forked.
            self.kill();
            if self.is_gone() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(LOOK).await;
        }
    }

    /// Ends all of its processes.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Whether none of its processes runs any more.
    pub(crate) fn is_gone(self) -> bool {
        if self.is_another_by_now() {
            return true;
        }
        match test_kill_process_group(self.group) {
            Err(error) => error == Errno::SRCH,
            // What has ended counts until its parent asks for it, and that may be stopped.
            Ok(()) => !process::runs_in(self.number()),
        }
    }

    fn signal(self, signal: Signal) {
        if self.is_another_by_now() {
            return;
        }
        match kill_process_group(self.group, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => {
                let why = io::Error::from(error);
                tracing::error!(pgid = self.number(), %why, "cannot signal a process group");
            }
        }
    }

    fn is_another_by_now(self) -> bool {
        process::look_at(self.number()).is_some_and(|it| it.started != self.started)
    }
}

/// Whether this process is stopped: by SIGSTOP, from a terminal, or by a debugger.
pub(crate) fn is_stopped(number: u32) -> bool {
    process::look_at(number).is_some_and(|it| it.is_stopped)
}

/// What is known of a process.
struct Process {
    group: u32,
    user: Option<u32>,
    started: Option<u64>,
    is_stopped: bool,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells"))]
    has_ended: bool,
}

#[cfg(target_os = "linux")]
mod process {
    //! As `/proc` shows it.

    use std::fs;

    use super::Process;

    pub(super) fn look_at(number: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let status = fs::read_to_string(format!("/proc/{number}/status")).ok()?;
        let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let user = user.and_then(|it| it.split_whitespace().next()?.parse().ok());
        read(&stat, user)
    }

    /// The name of a program may have spaces and brackets; what comes after has none.
    pub(super) fn read(stat: &str, user: Option<u32>) -> Option<Process> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let state = *fields.first()?;
        Some(Process {
            group: fields.get(2)?.parse().ok()?,
            user,
            started: Some(fields.get(19)?.parse().ok()?),
            is_stopped: matches!(state, "T" | "t"),
            has_ended: matches!(state, "Z" | "X" | "x"),
        })
    }

    /// Whether a process of this group runs.
    pub(super) fn runs_in(group: u32) -> bool {
        let Ok(entries) = fs::read_dir("/proc") else { return true };
        entries
            .filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|number: u32| {
                read(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?, None)
            })
            .any(|it| it.group == group && !it.has_ended)
    }
}

#[cfg(not(target_os = "linux"))]
mod process {
    //! As far as signals tell: whether they may be sent. So only a daemon of the same user may be
    //! told of a process.

    use rustix::process::{Pid, getpgid, getuid, test_kill_process};

    use super::Process;

    pub(super) fn look_at(number: u32) -> Option<Process> {
        let pid = Pid::from_raw(i32::try_from(number).ok()?)?;
        test_kill_process(pid).ok()?;
        let group = getpgid(Some(pid)).ok()?.as_raw_nonzero().get().unsigned_abs();
        let user = (!getuid().is_root()).then(|| getuid().as_raw());
        Some(Process { group, user, started: None, is_stopped: false, has_ended: false })
    }

    pub(super) fn runs_in(_group: u32) -> bool {
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleeper() -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").process_group(0).stdin(Stdio::null()).spawn().expect("sleep is there")
    }

    fn user() -> u32 {
        rustix::process::getuid().as_raw()
    }

    #[tokio::test]
    async fn a_group_is_ended_and_gone_though_nobody_has_asked_for_its_exit_code() {
        let mut child = sleeper();
        let group = ProcessGroup::of(child.id(), user()).expect("it is there");
        assert!(!group.is_gone());
        assert!(group.end(Duration::from_secs(30)).await);
        assert!(group.is_gone(), "it has no process but one that has ended");
        child.wait().expect("it has ended");
        assert!(group.is_gone());
    }

    #[test]
    fn only_a_group_of_the_same_user_by_its_first_process_is_taken() {
        let mut child = sleeper();
        let refused = |number, user| ProcessGroup::of(number, user).unwrap_err();
        assert!(refused(child.id(), user() + 1).contains("does not belong to user"));
        for number in [0, 1, u32::MAX] {
            assert!(refused(number, user()).contains("is not the number of"), "{number}");
        }
        let own = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        assert!(refused(own, user()).contains("of the daemon itself"));
        if std::process::id() != own {
            assert!(refused(std::process::id(), user()).contains("belongs to group"));
        }
        child.kill().expect("it runs");
        let gone = child.id();
        child.wait().expect("it has ended");
        assert!(refused(gone, user()).contains("there is no process"));
    }

    #[test]
    fn another_process_of_the_same_number_is_left_alone() {
        let mut child = sleeper();
        let group = ProcessGroup::of(child.id(), user()).expect("it is there");
        let former = ProcessGroup { started: group.started.map(|it| it - 1), ..group };
        former.kill();
        assert!(former.is_gone());
        assert!(child.try_wait().expect("it can be asked").is_none(), "it still runs");
        group.kill();
        child.wait().expect("it has ended");
    }

    #[test]
    fn a_name_with_brackets_is_read_as_a_name() {
        let rest = "S 1 77 77 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let process = process::read(&format!("77 (a) b) {rest}"), Some(5)).expect("it is whole");
        assert_eq!((process.group, process.user, process.started), (77, Some(5), Some(4242)));
        assert!(!process.is_stopped && !process.has_ended);
        assert!(process::read("77 (a) S 1", None).is_none());
    }
}
