//! A program on a terminal of its own: what is typed, and what is to be seen.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::{PATIENCE, vorrang};

/// A pseudo-terminal with the program at its other end.
pub(crate) struct Terminal {
    keyboard: File,
    /// The program's end, so that its settings can be looked at.
    line: File,
    child: Child,
    screen: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    /// So much of what was seen has been waited for.
    passed: usize,
}

impl Terminal {
    /// Starts it on a terminal of so many columns that knows UTF-8, unless these variables say
    /// otherwise.
    pub(crate) fn start(columns: u16, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("it is ours");
        let name = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let line = OpenOptions::new().read(true).write(true).open(path).expect("its other end");
        let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keyboard, size).expect("it has a size");
        let end = || line.try_clone().expect("the same end");
        let mut command = vorrang(args);
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").envs(variables.iter().copied());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
        let keyboard = File::from(keyboard);
        let mut seen = keyboard.try_clone().expect("the same terminal");
        let (sender, screen) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal that nobody has open any more cannot be read.
            while let Ok(read @ 1..) = seen.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let child = child.expect("the program starts");
        Self { keyboard, line, child, screen, bytes: Vec::new(), passed: 0 }
    }

    /// Types this.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("somebody listens");
    }

    /// Waits until this is to be seen behind what was waited for before; all between.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) -> String {
        let start = Instant::now();
        loop {
            let text = String::from_utf8_lossy(&self.bytes[self.passed..]).into_owned();
            if let Some(place) = text.find(words) {
                let end = place + words.len();
                self.passed += end;
                return text[..end].to_owned();
            }
            let left = PATIENCE.checked_sub(start.elapsed()).unwrap_or_default();
            match self.screen.recv_timeout(left) {
                Ok(more) => self.bytes.extend(more),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let _ = self.child.kill();
                    panic!("'{words}' is not to be seen, but:\n{text}");
                }
            }
        }
    }

    /// Sends it a signal, as a key does that the terminal knows, or another program.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it is there");
    }

    /// How the terminal is set.
    pub(crate) fn settings(&self) -> Termios {
        tcgetattr(&self.line).expect("a terminal has settings")
    }

    /// Waits for the end of the program; its exit code.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code();
            }
            if start.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("it does not end: {}", String::from_utf8_lossy(&self.bytes));
            }
            // What it writes must be read, or it waits.
            while let Ok(more) = self.screen.try_recv() {
                self.bytes.extend(more);
            }
            thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// All that was to be seen so far.
    pub(crate) fn all(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
