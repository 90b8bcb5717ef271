//! Processes that are started, asked over their standard input, and killed when they are not needed
//! any more.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Outcome, report};

/// How long an answer may take, whatever was asked.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed in the end.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let child = command.spawn();
        let program = command.get_program().display();
        child.map(Self).map_err(|why| format!("cannot run {program}: {why}").into())
    }

    /// Kills it at once: when.
    pub(crate) fn kill(&mut self) -> Outcome<Instant> {
        let now = Instant::now();
        self.0.kill()?;
        self.0.wait()?;
        Ok(now)
    }

    /// How much memory it has now, in bytes, and how much processor time it has used.
    pub(crate) fn usage(&self) -> Outcome<Usage> {
        let id = self.0.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let kilobytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok())
        };
        let memory = kilobytes("VmRSS:").ok_or("no VmRSS in /proc")? * 1024;
        let peak = kilobytes("VmHWM:").ok_or("no VmHWM in /proc")? * 1024;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
        // The name of the program may have spaces in it, and ends with the last parenthesis.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks: Vec<u64> =
            after.split_whitespace().skip(11).take(2).filter_map(|it| it.parse().ok()).collect();
        let hertz = rustix::param::clock_ticks_per_second() as f64;
        let processor = Duration::from_secs_f64(ticks.iter().sum::<u64>() as f64 / hertz);
        Ok(Usage { memory, peak, processor })
    }
}

/// What a process uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) memory: u64,
    pub(crate) peak: u64,
    pub(crate) processor: Duration,
}

/// A client in a process of its own: see `client.rs` for what it understands.
pub(crate) struct Worker {
    process: Process,
    input: ChildStdin,
    lines: Receiver<(Instant, String)>,
    what: String,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("what", &self.what).finish_non_exhaustive()
    }
}

impl Worker {
    /// Starts this program as a client with these arguments. Its first answer is `ready`.
    pub(crate) fn start(arguments: &[String]) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("client").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let input = process.0.stdin.take().ok_or("no standard input")?;
        let output = process.0.stdout.take().ok_or("no standard output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { process, input, lines, what: arguments.join(" ") })
    }

    pub(crate) fn ask(&mut self, what: &str) -> Outcome<()> {
        writeln!(self.input, "{what}")?;
        Ok(self.input.flush()?)
    }

    /// The rest of the next line, which begins with this word, and when it came.
    pub(crate) fn answer(&mut self, word: &str) -> Outcome<(Instant, Vec<String>)> {
        let fault = |why: &str| Err(format!("client {}: no '{word}': {why}", self.what).into());
        match self.lines.recv_timeout(PATIENCE) {
            Ok((when, line)) => {
                let mut words = line.split(' ').map(str::to_owned);
                if words.next().as_deref() == Some(word) {
                    Ok((when, words.collect()))
                } else {
                    fault(&format!("it says '{line}'"))
                }
            }
            Err(RecvTimeoutError::Timeout) => fault(&format!("nothing for {PATIENCE:?}")),
            Err(RecvTimeoutError::Disconnected) => fault("it has ended"),
        }
    }

    pub(crate) fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// What a turn came to, a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) grants: f64,
    /// Grants to another client than the one before.
    pub(crate) handovers: f64,
    /// How long one of these takes to one who waits, in microseconds; 0 if there was none.
    pub(crate) time: f64,
}

/// Has all of them ask again and again at the same time.
pub(crate) fn turn(workers: &mut [Worker], seconds: f64) -> Outcome<Turn> {
    for worker in &mut *workers {
        worker.ask(&format!("turn {seconds}"))?;
    }
    let mut all = Turn::default();
    let mut times = Vec::new();
    for worker in workers {
        let (_, words) = worker.answer("turned")?;
        let [grants, nanoseconds, handovers, median] = words.as_slice() else {
            return Err(format!("a turn has four figures, not {words:?}").into());
        };
        let time = nanoseconds.parse::<f64>()? / 1e9;
        all.grants += grants.parse::<f64>()? / time;
        all.handovers += handovers.parse::<f64>()? / time;
        times.push(median.parse::<f64>()? / 1000.0);
    }
    all.time = report::median(&times);
    Ok(all)
}
