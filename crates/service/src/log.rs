//! The log, on standard error, as text or as JSON. It is written by a thread of its own: a full
//! pipe or a stopped terminal must not keep the daemon from serving.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use vorrang_lock::LogFormat;

/// The environment variable of the log filter.
const VARIABLE: &str = "VORRANG_LOG";

/// How many lines wait to be written, at most.
const QUEUE_LEN: usize = 1024;

/// How long the end waits for lines that are not written yet.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Logs from now on. The log ends, with all lines that are read in time, when this is dropped.
pub(crate) fn start(format: LogFormat) -> Result<Log, String> {
    let asked = std::env::var_os(VARIABLE).unwrap_or_default();
    let filter = filter(&asked.to_string_lossy())?;
    let (log, lines) = Log::open().map_err(|why| format!("cannot start a thread: {why}"))?;
    let with_colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = || tracing_subscriber::fmt::layer().with_writer(lines.clone());
    match format {
        LogFormat::Text => {
            let layer = text().with_ansi(with_colours).with_filter(filter);
            tracing_subscriber::registry().with(layer).init();
        }
        LogFormat::Json => {
            let layer = text().json().flatten_event(true).with_filter(filter);
            tracing_subscriber::registry().with(layer).init();
        }
    }
    Ok(log)
}

/// Reads the log filter: levels, each for all parts of the program or for one of them.
fn filter(text: &str) -> Result<Targets, String> {
    if text.trim().is_empty() {
        return Ok(Targets::new().with_default(LevelFilter::INFO));
    }
    text.parse().map_err(|_| {
        format!(
            "{VARIABLE}: '{text}' is no filter: say off, error, warn, info, debug or trace, for \
             all or for a part, as in 'info' or 'vorrang_net=debug,info'"
        )
    })
}

/// The thread that writes.
pub(crate) struct Log {
    lines: SyncSender<Vec<u8>>,
    done: Mutex<Receiver<()>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Log {
    fn open() -> io::Result<(Self, Lines)> {
        let (lines, received) = sync_channel(QUEUE_LEN);
        let (said, done) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&dropped);
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            write_all(&received, &count, &mut io::stderr());
            // Whoever waits for the end may have given up.
            let _ = said.send(());
        })?;
        let writer = Lines { lines: lines.clone(), dropped };
        Ok((Self { lines, done: Mutex::new(done) }, writer))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // An empty line ends it: subscribers are never dropped.
        if self.lines.try_send(Vec::new()).is_ok()
            && let Ok(done) = self.done.lock()
        {
            // If nobody reads, it need not be said.
            let _ = done.recv_timeout(LAST_WORDS);
        }
    }
}

fn write_all(lines: &Receiver<Vec<u8>>, dropped: &AtomicU64, output: &mut impl Write) {
    for line in lines {
        let missed = dropped.swap(0, Ordering::Relaxed);
        if missed > 0 {
            // A log that cannot be written cannot be reported either.
            let _ = writeln!(output, "{missed} lines of the log were dropped: nobody read them");
        }
        if line.is_empty() {
            return;
        }
        let _ = output.write_all(&line);
    }
}

/// Takes lines for the thread, and never waits.
#[derive(Clone)]
struct Lines {
    lines: SyncSender<Vec<u8>>,
    dropped: Arc<AtomicU64>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !line.is_empty() && self.lines.try_send(line.to_vec()).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_nobody_reads_drops_lines_and_says_so() {
        let (lines, received) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = Lines { lines, dropped: Arc::clone(&dropped) };
        for _ in 0..3 {
            writer.write_all(b"hello\n").expect("it never fails");
        }
        drop(writer);
        let mut output = Vec::new();
        write_all(&received, &dropped, &mut output);
        let text = String::from_utf8(output).expect("it is text");
        assert_eq!(text, "2 lines of the log were dropped: nobody read them\nhello\n");
    }

    #[test]
    fn a_filter_is_levels() {
        for text in ["", "warn", "vorrang_net=debug,info", "off"] {
            filter(text).expect(text);
        }
        let why = filter("vorrang_net=loud").unwrap_err();
        assert!(why.contains("'vorrang_net=loud'") && why.contains(VARIABLE), "{why}");
    }
}
