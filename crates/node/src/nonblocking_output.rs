//! Non-blocking output: standard output and standard error are written by threads of their own, so
//! that a full pipe or a stopped terminal never keeps the node from answering its peers.
//!
//! The buffers are bounded. Lines that do not fit are dropped, and their number is printed as soon
//! as the output is read again. Lines that strangers can cause are rate-limited besides.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use vorrang_net::RateLimit;

use crate::terminal::{print, say_aside};

/// How many lines wait to be written, at most.
const QUEUE_LEN: usize = 1024;
/// How long the exit waits for buffered lines.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Where lines go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Out,
    Err,
}

enum Job {
    Line(String),
    /// All before this is written.
    Done(SyncSender<()>),
}

/// Lines for one side, and the thread that writes them.
#[derive(Clone)]
struct OutputThread {
    jobs: SyncSender<Job>,
    dropped: Arc<AtomicU64>,
}

impl OutputThread {
    fn open(write: impl FnMut(&str) + Send + 'static) -> io::Result<Self> {
        let (jobs, received) = sync_channel(QUEUE_LEN);
        let dropped = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&dropped);
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || write_all(&received, &count, write))?;
        Ok(Self { jobs, dropped })
    }

    /// Has a line written, if there is room. Never waits.
    fn say(&self, line: String) {
        if self.jobs.try_send(Job::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all is written, but not for long. False if it is not.
    fn finish(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        let (done, is_done) = sync_channel(1);
        let mut job = Job::Done(done);
        loop {
            match self.jobs.try_send(job) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) if Instant::now() < until => {
                    job = back;
                    thread::sleep(Duration::from_millis(5));
                }
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return false,
            }
        }
        is_done.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok()
    }
}

fn write_all(jobs: &Receiver<Job>, dropped: &AtomicU64, mut write: impl FnMut(&str)) {
    for job in jobs {
        let missed = dropped.swap(0, Ordering::Relaxed);
        if missed > 0 {
            write(&format!("… {missed} lines were dropped: they were not read in time"));
        }
        match job {
            Job::Line(line) => write(&line),
            Job::Done(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// Both sides.
#[derive(Clone)]
pub(crate) struct NonblockingOutput {
    out: OutputThread,
    err: OutputThread,
    log: Arc<Mutex<RateLimit>>,
}

impl NonblockingOutput {
    pub(crate) fn new() -> io::Result<Self> {
        let speak = |side: Side| {
            move |line: &str| match side {
                // A closed reader is noticed by the caller; other errors cannot be reported.
                Side::Out => drop(print(&format!("{line}\n"))),
                Side::Err => say_aside(line),
            }
        };
        Ok(Self {
            out: OutputThread::open(speak(Side::Out))?,
            err: OutputThread::open(speak(Side::Err))?,
            log: Arc::new(Mutex::new(RateLimit::new(50, Duration::from_millis(200)))),
        })
    }

    /// An answer, or what the node is there to tell.
    pub(crate) fn tell(&self, line: impl Into<String>) {
        self.out.say(line.into());
    }

    /// Lines on standard error.
    pub(crate) fn aside(&self, line: impl Into<String>) {
        self.err.say(line.into());
    }

    /// Waits until all is written, but not for long. False if it is not read.
    pub(crate) fn finish(&self) -> bool {
        // One after the other: either has its second.
        [&self.out, &self.err].map(|outlet| outlet.finish(LAST_WORDS)).iter().all(|&it| it)
    }

    /// For the log, of which every event comes in one piece.
    pub(crate) fn logger(&self) -> Logger {
        Logger(self.clone())
    }
}

/// Takes the lines of the log.
pub(crate) struct Logger(NonblockingOutput);

impl Write for Logger {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = tokio::time::Instant::now();
        let allowed = self.0.log.lock().unwrap_or_else(PoisonError::into_inner).ask(now);
        if let Some(missed) = allowed {
            if missed > 0 {
                self.0.aside(format!("… {missed} lines of the log were left out: too many"));
            }
            let text = String::from_utf8_lossy(bytes);
            self.0.aside(text.trim_end_matches('\n'));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn whoever_does_not_listen_is_not_waited_for_and_learns_what_it_missed() {
        let (go, may_go) = channel::<()>();
        let (sender, heard) = channel();
        let outlet = OutputThread::open(move |line| {
            may_go.recv().expect("the test goes on");
            sender.send(line.to_owned()).expect("the test listens");
        });
        let outlet = outlet.expect("a thread");
        outlet.say("first".to_owned());
        // The thread may or may not have taken the first yet.
        for _ in 0..QUEUE_LEN + 100 {
            outlet.say("more".to_owned());
        }
        assert!(!outlet.finish(Duration::from_millis(20)), "it stands still");
        for _ in 0..QUEUE_LEN + 200 {
            go.send(()).expect("the thread lives");
        }
        assert!(outlet.finish(Duration::from_secs(60)));
        let heard: Vec<String> = heard.try_iter().collect();
        let word = "lines were dropped: they were not read in time";
        let first = heard.iter().find(|line| !line.contains(word));
        assert_eq!(first.map(String::as_str), Some("first"));
        let missed = heard.iter().filter(|line| line.contains(word)).count();
        assert!(missed >= 1, "{heard:?}");
        let written = heard.iter().filter(|line| *line == "more").count();
        assert!((QUEUE_LEN - 1..=QUEUE_LEN + 1).contains(&written), "{written}");
    }
}
