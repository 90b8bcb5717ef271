//! Nodes that are real processes, driven over standard input as by hand.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use serde_json::Value;
pub(crate) use vorrang_testkit::addresses;

use super::{PATIENCE, vorrang};

/// A process, and the lines that it has written and nobody has read yet.
pub(crate) struct Node {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) out: Receiver<String>,
    pub(crate) err: Receiver<String>,
}

impl Node {
    pub(crate) fn start(id: usize, peers: &[String], more: &[&str]) -> Self {
        Self::of(undisturbed(&command(id, peers, more)))
    }

    /// A process that is started so; what it says can be read.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = lines(child.stdout.take().expect("a pipe"));
        let err = lines(child.stderr.take().expect("a pipe"));
        let input = child.stdin.take();
        Self { child, input, out, err }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("the process lives");
    }

    /// The next line on standard output.
    pub(crate) fn hear(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("a line in time")
    }

    /// Reads lines on standard error up to one that has this in it.
    pub(crate) fn until_told(&self, words: &str) -> String {
        self.until_told_one_of(&[words])
    }

    /// Reads lines on standard error up to one that has one of these in it.
    pub(crate) fn until_told_one_of(&self, words: &[&str]) -> String {
        let (mut read, begun) = (Vec::new(), Instant::now());
        loop {
            let line = self.err.recv_timeout(PATIENCE).ok();
            // A process may go on talking for ever.
            let line = line.filter(|_| begun.elapsed() < 3 * PATIENCE);
            let line = line.unwrap_or_else(|| panic!("none of {words:?} among {read:#?}"));
            assert!(!line.contains("panicked"), "{line}");
            if words.iter().any(|it| line.contains(it)) {
                return line;
            }
            read.push(line);
        }
    }

    /// Asks how the node is: who it is, how far it is, and a line for each of so many links.
    /// Nothing else must have been told before, so the node has not entered since.
    pub(crate) fn status(&mut self, links: usize) -> Vec<String> {
        self.say("status");
        let status: Vec<String> = (0..links + 2).map(|_| self.hear()).collect();
        assert!(status[0].starts_with("node "), "{status:?}");
        status
    }

    /// Asks until the answer is as wanted.
    pub(crate) fn status_until(&mut self, links: usize, wanted: impl Fn(&[String]) -> bool) {
        let begun = Instant::now();
        loop {
            let status = self.status(links);
            if wanted(&status) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "still {status:#?}");
        }
    }

    /// Asks for the algorithm's own state, as JSON, until it has this in it, or has not.
    pub(crate) fn state_until(&mut self, words: &str, is_in_it: bool) {
        let begun = Instant::now();
        loop {
            self.say("status --json");
            let status: Value = serde_json::from_str(&self.hear()).expect("a line of JSON");
            let state = status["state"].to_string();
            if state.contains(words) == is_in_it {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "still {state}");
        }
    }

    /// Quits: the exit code, and what was said last.
    pub(crate) fn quit(mut self) -> (Option<i32>, String) {
        self.say("quit");
        self.end()
    }

    /// Waits for the end, which must come in good order.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let mut last = String::new();
        while let Ok(line) = self.out.recv_timeout(PATIENCE) {
            last = line;
        }
        while let Ok(line) = self.err.recv_timeout(PATIENCE) {
            assert!(!line.contains("panicked"), "{line}");
        }
        (self.child.wait().expect("it ends").code(), last)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command that starts a node.
pub(crate) fn command(id: usize, peers: &[String], more: &[&str]) -> Command {
    let (id, peers) = (id.to_string(), peers.join(","));
    vorrang(&[&["node", "--id", &id, "--peers", &peers][..], more].concat())
}

/// The same with signals as a shell leaves them, whatever started the tests: under `nohup`, for
/// one, hang-ups are ignored, and processes inherit that.
pub(crate) fn undisturbed(command: &Command) -> Command {
    let mut env = Command::new("env");
    if cfg!(target_os = "linux") {
        env.arg("--default-signal=HUP,INT,QUIT,TERM");
    }
    env.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        env.current_dir(folder);
    }
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => env.env(key, value),
            None => env.env_remove(key),
        };
    }
    env
}

pub(crate) fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// A node for each list of options; all listen. Where a port was taken meanwhile: once more.
pub(crate) fn start(options: &[&[&str]]) -> Vec<Node> {
    for _ in 0..5 {
        let peers = addresses(options.len());
        let nodes: Vec<Node> =
            (0..).zip(options).map(|(id, options)| Node::start(id, &peers, options)).collect();
        let listens = |(id, node): (usize, &Node)| {
            let line = node.out.recv_timeout(PATIENCE).unwrap_or_default();
            let count = options.len();
            line.starts_with(&format!("node {id} of {count} listens on {}, running ", peers[id]))
        };
        if nodes.iter().enumerate().all(listens) {
            return nodes;
        }
    }
    panic!("no free ports");
}

/// So many nodes that have all met.
pub(crate) fn group(count: usize, more: &[&str]) -> Vec<Node> {
    let nodes = start(&vec![more; count]);
    for node in &nodes {
        node.until_told("started");
    }
    nodes
}

/// Sends a signal to a process.
#[cfg(unix)]
pub(crate) fn signal(node: &Node, name: &str) {
    let id = node.child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.expect("kill is there").success());
}
