//! What tests of the commands need: the program as it runs, and what stands in for a daemon.

pub(crate) mod browser;
pub(crate) mod scripted_daemon;
pub(crate) mod terminal;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
pub(crate) use vorrang_testkit::Folder;

pub(crate) use crate::support::{PATIENCE, wait_for};

/// The program, with nothing of the caller's surroundings that would change what it does.
pub(crate) fn vorrang(args: &[&str]) -> Command {
    let mut command = crate::support::vorrang(args);
    command.env_remove("COLUMNS").env("NO_COLOR", "1");
    command
}

/// A program that runs. If a test fails, it is killed.
pub(crate) struct Running {
    child: Child,
    what: String,
}

impl Running {
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        let what = format!("{command:?}");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Self { child: child.expect("the program starts"), what }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    /// Takes the pipe away that it reads.
    pub(crate) fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Stops reading what it prints.
    pub(crate) fn close_output(&mut self) {
        drop(self.child.stdout.take());
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Waits for its end: how it has ended, and what it has printed.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (ExitStatus, String, String) {
        let out = self.child.stdout.take().map(read_all);
        let err = self.child.stderr.take().map(read_all);
        let status = self.wait();
        let text = |it: Option<thread::JoinHandle<String>>| {
            it.map(|it| it.join().expect("it is read")).unwrap_or_default()
        };
        let (out, err) = (text(out), text(err));
        assert!(!err.contains("panicked"), "{}: {err}", self.what);
        (status, out, err)
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "{} does not end", self.what);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The exit code, and what it has said.
    #[track_caller]
    pub(crate) fn code(self) -> (i32, String, String) {
        let what = self.what.clone();
        let (status, out, err) = self.ends();
        let code = status.code().unwrap_or_else(|| panic!("{what}: {status}: {err}"));
        (code, out, err)
    }

    /// Its children, as the system knows them.
    pub(crate) fn children(&self) -> Vec<u32> {
        processes().into_iter().filter(|it| it.parent == self.pid()).map(|it| it.pid).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until then counts.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Runs it to its end: exit code, standard output, standard error.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    Running::start(command).code()
}

/// Runs something else to its end.
pub(crate) fn output(program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).output().expect("it is installed")
}

/// Waits until a file has a whole line, and returns its lines.
#[track_caller]
pub(crate) fn lines_of(path: &Path) -> Vec<String> {
    wait_for(&format!("{} has a line", path.display()), || {
        let text = fs::read_to_string(path).ok()?;
        text.ends_with('\n').then(|| text.lines().map(str::to_owned).collect())
    })
}

/// A process, as the system shows it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
}

/// One of them, unless it has ended: one that nobody has asked for its exit code has.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse().ok();
    let process = Process { pid, state, parent: number()?, group: number()? };
    (!"ZXx".contains(state)).then_some(process)
}

/// All that have not ended.
pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("this system has it");
    let pids = entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(process).collect()
}

/// Whether any process of a group has not ended.
pub(crate) fn is_alive(group: u32) -> bool {
    processes().iter().any(|it| it.group == group)
}
