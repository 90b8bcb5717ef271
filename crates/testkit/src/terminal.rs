//! A program on a terminal of its own: what is typed, and what is to be seen.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcgetpgrp, tcsetwinsize};

/// Bounds hanging, nothing else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A pseudo-terminal with a program at its other end.
#[derive(Debug)]
pub struct Terminal {
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
    /// Starts a program on a terminal of so many columns.
    ///
    /// # Panics
    ///
    /// If there is no terminal, or the program does not start.
    pub fn start(columns: u16, command: &mut Command) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("it is ours");
        let name = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let line = OpenOptions::new().read(true).write(true).open(path).expect("its other end");
        let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keyboard, size).expect("it has a size");
        let end = || line.try_clone().expect("the same end");
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

    /// The program.
    pub const fn child(&self) -> &Child {
        &self.child
    }

    /// Types this.
    ///
    /// # Panics
    ///
    /// If nobody has the terminal open.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("somebody listens");
    }

    /// Types this again and again, until such an answer is to be seen.
    ///
    /// # Panics
    ///
    /// If it never is.
    #[track_caller]
    pub fn types_until(&mut self, keys: &str, words: &str) {
        let start = Instant::now();
        loop {
            self.types(keys);
            thread::sleep(Duration::from_millis(100));
            self.bytes.extend(self.screen.try_iter().flatten());
            if self.pass(words).is_some() {
                return;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "'{words}' is not to be seen, but:\n{}",
                self.all()
            );
        }
    }

    /// Waits until this is to be seen behind what was waited for before; all between.
    ///
    /// # Panics
    ///
    /// If it never is.
    #[track_caller]
    pub fn shows(&mut self, words: &str) -> String {
        let start = Instant::now();
        loop {
            if let Some(seen) = self.pass(words) {
                return seen;
            }
            let left = PATIENCE.checked_sub(start.elapsed()).unwrap_or_default();
            match self.screen.recv_timeout(left) {
                Ok(more) => self.bytes.extend(more),
                Err(why) => panic!("'{words}' is not to be seen ({why}), but:\n{}", self.all()),
            }
        }
    }

    /// What is to be seen up to these words, if they are.
    fn pass(&mut self, words: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes[self.passed..]).into_owned();
        let end = text.find(words)? + words.len();
        self.passed += end;
        Some(text[..end].to_owned())
    }

    /// Waits until the program, a shell, has given the terminal to a job.
    ///
    /// # Panics
    ///
    /// If it never does.
    #[track_caller]
    pub fn is_given_to_a_job(&self) {
        let start = Instant::now();
        let is_given = || {
            let in_front = tcgetpgrp(&self.keyboard).ok()?.as_raw_nonzero().get();
            (in_front.unsigned_abs() != self.child.id()).then_some(())
        };
        while is_given().is_none() {
            assert!(start.elapsed() < PATIENCE, "no job has the terminal");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// How the terminal is set.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn settings(&self) -> Termios {
        tcgetattr(&self.line).expect("a terminal has settings")
    }

    /// Waits for the end of the program; its exit code.
    ///
    /// # Panics
    ///
    /// If it does not end.
    #[track_caller]
    pub fn ends(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "it does not end: {}", self.all());
            // What it writes must be read, or it waits.
            self.bytes.extend(self.screen.try_iter().flatten());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// All that was to be seen so far.
    pub fn all(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that has failed; and the end of a shell hangs up those who use its terminal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
