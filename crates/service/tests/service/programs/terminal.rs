//! A shell with job control on a terminal of its own: what is typed, and what is to be seen.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetpgrp, tcsetwinsize};

use super::PATIENCE;

/// A pseudo-terminal with an interactive shell at its other end, which finds the program in
/// `PROGRAM`.
pub(crate) struct Terminal {
    keyboard: File,
    shell: Child,
    screen: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    /// So much of what was seen has been waited for.
    passed: usize,
}

impl Terminal {
    pub(crate) fn start() -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("it is ours");
        let name = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let mut options = OpenOptions::new();
        let line = options.read(true).write(true).open(path).expect("its other end");
        let size = Winsize { ws_row: 50, ws_col: 1000, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keyboard, size).expect("it has a size");
        let end = || line.try_clone().expect("the same end");
        let mut command = crate::support::heeding_signals("setsid");
        command.args(["--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
        command.env("PROGRAM", env!("CARGO_BIN_EXE_vorrang-service")).env("PS1", "$ ");
        command.env("TERM", "dumb").env("LC_ALL", "C.UTF-8").env_remove("VORRANG_LOCK");
        let shell = command.stdin(end()).stdout(end()).stderr(end()).spawn();
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
        let shell = shell.expect("bash is there");
        let mut terminal = Self { keyboard, shell, screen, bytes: Vec::new(), passed: 0 };
        terminal.shows("$ ");
        terminal
    }

    /// Types this.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("somebody listens");
    }

    /// Types this again and again, until such an answer is to be seen.
    #[track_caller]
    pub(crate) fn types_until(&mut self, keys: &str, words: &str) {
        super::wait_for(words, || {
            self.types(keys);
            thread::sleep(Duration::from_millis(100));
            self.bytes.extend(self.screen.try_iter().flatten());
            let place = String::from_utf8_lossy(&self.bytes[self.passed..]).find(words)?;
            self.passed += place + words.len();
            Some(())
        });
    }

    /// Waits until the shell has given the terminal to a job.
    #[track_caller]
    pub(crate) fn is_given_to_a_job(&self) {
        super::wait_for("a job has the terminal", || {
            let in_front = tcgetpgrp(&self.keyboard).ok()?;
            (in_front.as_raw_nonzero().get() as u32 != self.shell.id()).then_some(())
        });
    }

    /// Waits until this is to be seen behind what was waited for before.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) {
        let start = Instant::now();
        loop {
            let text = String::from_utf8_lossy(&self.bytes[self.passed..]).into_owned();
            if let Some(place) = text.find(words) {
                self.passed += place + words.len();
                return;
            }
            let left = PATIENCE.checked_sub(start.elapsed()).unwrap_or_default();
            match self.screen.recv_timeout(left) {
                Ok(more) => self.bytes.extend(more),
                Err(why) => panic!("'{words}' is not to be seen ({why}), but:\n{text}"),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The end of a shell hangs up those who use its terminal.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
