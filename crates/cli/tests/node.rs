//! `vorrang node`: real processes, driven over standard input as by hand.

mod support;

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use support::{PATIENCE, vorrang};

/// A process, and the lines that it has written and nobody has read yet.
struct Node {
    child: Child,
    input: Option<ChildStdin>,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Node {
    fn start(id: usize, peers: &[String], more: &[&str]) -> Self {
        let (id, peers) = (id.to_string(), peers.join(","));
        let mut child = vorrang(&[&["node", "--id", &id, "--peers", &peers][..], more].concat())
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

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("the process lives");
    }

    /// The next line on standard output.
    fn hear(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("a line in time")
    }

    /// Reads lines on standard error up to one that has this in it.
    fn until_told(&self, words: &str) -> String {
        let mut read = Vec::new();
        loop {
            let line = self.err.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no '{words}' among {read:#?}"));
            assert!(!line.contains("panicked"), "{line}");
            if line.contains(words) {
                return line;
            }
            read.push(line);
        }
    }

    /// Asks how the node is: its own line, and one for each of so many links. Nothing else must
    /// have been told before, so the node has not entered since.
    fn status(&mut self, links: usize) -> Vec<String> {
        self.say("status");
        let status: Vec<String> = (0..=links).map(|_| self.hear()).collect();
        assert!(status[0].starts_with("node "), "{status:?}");
        status
    }

    /// Asks until the answer is as wanted.
    fn status_until(&mut self, links: usize, wanted: impl Fn(&[String]) -> bool) {
        let begun = Instant::now();
        loop {
            let status = self.status(links);
            if wanted(&status) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "still {status:#?}");
        }
    }

    /// Quits: the exit code, and what was said last.
    fn quit(mut self) -> (Option<i32>, String) {
        self.say("quit");
        self.end()
    }

    /// Waits for the end, which must come in good order.
    fn end(&mut self) -> (Option<i32>, String) {
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

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
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

/// Addresses that are free at this moment.
fn addresses(count: usize) -> Vec<String> {
    let bound: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    bound.iter().map(|it| it.local_addr().expect("an address").to_string()).collect()
}

/// A node for each list of options; all listen. Where a port was taken meanwhile: once more.
fn start(options: &[&[&str]]) -> Vec<Node> {
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
fn group(count: usize, more: &[&str]) -> Vec<Node> {
    let nodes = start(&vec![more; count]);
    for node in &nodes {
        node.until_told("started");
    }
    nodes
}

#[test]
fn one_at_a_time_across_three_processes() {
    let mut nodes = group(3, &[]);
    nodes[0].say("acquire");
    assert_eq!(nodes[0].hear(), "entered");

    nodes[1].say("acquire");
    // Node 0 has the request and keeps its reply; only then it is worth looking at node 1.
    nodes[0].status_until(2, |status| !status[0].contains("deferred: []"));
    let waiting = nodes[1].status(2);
    assert!(waiting[0].contains("Waiting"), "it has not entered: {waiting:?}");

    nodes[0].say("release");
    assert_eq!(nodes[0].hear(), "released");
    assert_eq!(nodes[1].hear(), "entered");
    nodes[1].say("release");
    assert_eq!(nodes[1].hear(), "released");
    for node in nodes {
        assert_eq!(node.quit(), (Some(0), "left".to_owned()));
    }
}

#[test]
fn a_command_at_the_wrong_moment_is_refused_and_the_node_lives_on() {
    let mut nodes = group(2, &[]);
    let node = &mut nodes[0];
    node.say("release");
    assert_eq!(node.hear(), "cannot release: not inside");
    node.say("aquire");
    assert!(node.hear().contains("unknown command 'aquire'"));
    node.say("acquire shared");
    assert!(node.hear().starts_with("cannot acquire: "));
    node.say("");
    node.say("acquire");
    assert_eq!(node.hear(), "entered");
    node.say("acquire");
    assert_eq!(node.hear(), "cannot acquire: already inside");
    node.say("release");
    assert_eq!(node.hear(), "released");
}

#[test]
fn readers_share_and_a_writer_waits_for_them() {
    let mut nodes = group(3, &["--algorithm", "readers-writers"]);
    for id in [0, 1] {
        nodes[id].say("acquire shared");
        assert_eq!(nodes[id].hear(), "entered");
    }
    nodes[2].say("acquire");
    for id in [0, 1] {
        nodes[id].status_until(2, |status| !status[0].contains("deferred: []"));
    }
    nodes[0].say("release");
    assert_eq!(nodes[0].hear(), "released");
    nodes[2].status(2);
    nodes[1].say("release");
    assert_eq!(nodes[2].hear(), "entered");
}

#[test]
fn a_node_that_dies_leaves_the_others_alive_and_waiting() {
    let mut nodes = group(3, &[]);
    let status = nodes[0].status(2);
    assert!(status[1].contains("node 1 at ") && status[1].contains(": connected for "));
    assert!(status[2].contains("node 2 at ") && status[2].contains(": connected for "));

    nodes[2].child.kill().expect("it can be killed");
    for id in [0, 1] {
        nodes[id].until_told("lost the connection with node 2");
        let status = nodes[id].status(2);
        assert!(status[2].contains(": connecting for "), "{status:?}");
    }
    nodes[0].say("acquire");
    // The request is under way to the dead node, the living one has replied.
    nodes[0].status_until(2, |status| {
        status[2].contains("1 messages not acknowledged") && !status[1].contains("not acknowledged")
    });
    let waiting = nodes[0].status(2);
    assert!(waiting[0].contains("Waiting"), "it has not entered: {waiting:?}");
    assert!(nodes[0].child.try_wait().expect("a state").is_none(), "it lives");

    nodes.truncate(2);
    let (code, last) = nodes.remove(0).quit();
    assert_eq!(code, Some(0));
    assert!(last.contains("1 messages were not acknowledged"), "{last}");
    nodes[0].until_told("node 0 has left for good");
    assert_eq!(nodes.remove(0).quit(), (Some(0), "left".to_owned()));
}

/// One is killed inside, and one that waits; the others go on, one at a time.
fn survives(algorithm: &str) {
    // Longer than a busy machine keeps a process waiting.
    let mut nodes = group(3, &["--algorithm", algorithm, "--within", "250ms"]);
    let [zero, one, two] = &mut nodes[..] else { panic!("three") };
    let enters = |node: &mut Node| {
        node.say("acquire");
        assert_eq!(node.hear(), "entered", "{algorithm}");
    };
    let leaves = |node: &mut Node| {
        node.say("release");
        assert_eq!(node.hear(), "released", "{algorithm}");
    };
    enters(two);
    one.say("acquire");
    one.status(2);
    two.child.kill().expect("it can be killed");
    assert_eq!(one.hear(), "entered", "{algorithm}: whoever was inside is dead");

    zero.say("acquire");
    zero.status(2);
    leaves(one);
    assert_eq!(zero.hear(), "entered", "{algorithm}: two are left");
    one.say("acquire");
    one.status(2);
    one.child.kill().expect("it can be killed");
    leaves(zero);
    enters(zero);
    leaves(zero);
    nodes.truncate(1);
    assert_eq!(nodes.remove(0).quit().0, Some(0), "{algorithm}");
}

#[test]
fn probes_survive_the_death_of_a_process() {
    survives("ricart-agrawala-probing");
}

#[test]
fn the_token_of_a_process_that_dies_is_made_anew() {
    thread::scope(|scope| {
        for algorithm in ["regenerating-ring", "regenerating-suzuki-kasami"] {
            scope.spawn(move || survives(algorithm));
        }
    });
}

#[test]
fn a_node_of_another_algorithm_or_group_is_refused_with_a_sentence() {
    let nodes = start(&[&[], &["--algorithm", "lamport"]]);
    let told = nodes[0].until_told("we refused node 1");
    assert!(told.contains("it runs lamport, we run ricart-agrawala"), "{told}");
    let told = nodes[1].until_told("node 0 refused us");
    assert!(told.contains("it runs ricart-agrawala, we run lamport"), "{told}");

    let mut nodes = start(&[&["--group", "red"], &["--group", "blue"]]);
    let told = nodes[0].until_told("we refused node 1");
    assert!(told.contains("it belongs to group blue, we belong to group red"), "{told}");
    nodes[1].until_told("node 0 refused us");
    nodes[1].say("acquire");
    // One line more than usual: it waits to meet all others.
    let status = nodes[1].status(2);
    assert!(status[1].contains("waits to meet all others"), "{status:?}");
    assert!(status[2].contains(": refused: "), "{status:?}");
    for node in nodes {
        assert_eq!(node.quit(), (Some(4), "left".to_owned()), "neither has taken part");
    }
}

/// Stops a process, or lets it go on.
#[cfg(unix)]
fn signal(node: &Node, name: &str) {
    let id = node.child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.expect("kill is there").success());
}

/// The whole group is restarted while one of its processes stands still; when that goes on, it
/// finds others in the places of those that it knew.
#[cfg(unix)]
#[test]
fn a_process_that_has_outlived_its_group_disturbs_nobody() {
    let peers = addresses(3);
    let start = |id, more: &[&str]| Node::start(id, &peers, more);
    let mut old: Vec<Node> = (0..3).map(|id| start(id, &[])).collect();
    for node in &old {
        node.until_told("started");
    }
    signal(&old[2], "STOP");
    let mut stale = old.remove(2);
    drop(old);

    // The address of the one that stands still is taken, so that its successor listens elsewhere.
    let mut new: Vec<Node> =
        vec![start(0, &[]), start(1, &[]), start(2, &["--listen", "127.0.0.1:0"])];
    for node in &new {
        node.until_told("started");
        node.hear();
    }
    new[0].say("acquire");
    assert_eq!(new[0].hear(), "entered");

    signal(&stale, "CONT");
    // By node 0 and node 1, whoever is first.
    for _ in 0..2 {
        stale.until_told(
            " refused us: we were restarted and have lost our memory, or there are two",
        );
    }
    stale.hear();
    stale.say("acquire");
    assert!(stale.hear().contains("must not act"), "it is the one that is fenced");
    assert_eq!(stale.quit().0, Some(4));

    new[0].say("release");
    assert_eq!(new[0].hear(), "released");
    for node in &mut new {
        node.say("acquire");
        assert_eq!(node.hear(), "entered");
        node.say("release");
        assert_eq!(node.hear(), "released");
    }
    for node in new {
        assert_eq!(node.quit().0, Some(0));
    }
}

#[test]
fn a_restarted_node_says_that_it_must_not_act_and_does_not_exit_as_if_all_were_well() {
    let peers = addresses(2);
    let mut nodes: Vec<Node> = (0..2).map(|id| Node::start(id, &peers, &[])).collect();
    for node in &nodes {
        node.until_told("started");
    }
    // With it gone, its address is free.
    drop(nodes.remove(1));
    nodes.push(Node::start(1, &peers, &[]));
    nodes[1].until_told("fenced");
    nodes[1].hear();
    nodes[1].say("acquire");
    assert!(nodes[1].hear().contains("this node must not act"));
    assert_eq!(nodes.remove(1).quit().0, Some(4));
    assert_eq!(nodes.remove(0).quit().0, Some(0));
}

#[test]
fn nobody_left_to_read_is_no_good_end() {
    let mut nodes = group(1, &[]);
    let mut node = nodes.remove(0);
    node.out = channel().1;
    // The thread that read is gone with its next line.
    for _ in 0..3 {
        let input = node.input.as_mut().expect("a pipe");
        let _ = writeln!(input, "status");
        thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(node.child.wait().expect("it ends").code(), Some(4));
}

#[test]
fn a_line_without_end_is_no_command_and_costs_nothing() {
    let mut nodes = group(1, &[]);
    let node = &mut nodes[0];
    node.say(&"x".repeat(20_000_000));
    assert_eq!(node.hear(), "a line of more than 4096 bytes is no command");
    node.say("acquire");
    assert_eq!(node.hear(), "entered");
}

#[test]
fn whoever_does_not_answer_is_named_without_being_asked_for() {
    let mut peers = addresses(2);
    peers[0] = "nowhere.invalid:7000".to_owned();
    let node = Node::start(1, &peers, &["--back-off", "100ms"]);
    node.until_told("waiting for node 0 at nowhere.invalid:7000: ");
}

#[test]
fn nobody_listens_to_the_world_by_accident() {
    for (args, words) in [
        (&["--peers", "0.0.0.0:0"][..], "0.0.0.0:0 can be reached from other machines"),
        (&["--peers", "192.0.2.1:7000"], "give --insecure"),
        (&["--peers", "127.0.0.1:0", "--listen", "[::]:0"], "--listen 127.0.0.1:0"),
        (&["--peers", "127.0.0.1:0", "--listen", "x"], "--listen: 'x' is not an address"),
    ] {
        let (code, _, err) = support::run(&[&["node", "--id", "0"], args].concat());
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(words), "{err}");
    }
    let mut node = Node::start(0, &["127.0.0.1:0".to_owned()], &["--listen", "0.0.0.0:0"]);
    assert_eq!(node.end().0, Some(2));
    let more = ["--listen", "0.0.0.0:0", "--insecure"];
    let node = Node::start(0, &["127.0.0.1:0".to_owned()], &more);
    assert!(node.hear().contains("listens on 0.0.0.0:0"));
    assert_eq!(node.quit(), (Some(0), "left".to_owned()));
}

#[test]
fn times_that_do_not_go_together_are_refused() {
    for (options, words) in [
        (["--heartbeat", "3s"], "to give up after 5s is too soon for a heartbeat of 3s"),
        (["--give-up", "1s"], "to give up after 1s is too soon for a heartbeat of 1s"),
        (["--heartbeat", "soon"], "write a time such as 500ms"),
        (["--back-off", "0s"], "give more than 0"),
    ] {
        let args = ["node", "--id", "0", "--peers", "127.0.0.1:0"];
        let (code, _, err) = support::run(&[&args[..], &options].concat());
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(words), "{err}");
    }
}

#[test]
fn the_end_of_input_is_a_goodbye_unless_the_node_is_to_stay() {
    let mut nodes = start(&[&["--stay"], &[]]);
    let (mut other, mut one) = (nodes.remove(1), nodes.remove(0));
    one.until_told("started");
    other.until_told("started");
    drop(one.input.take());
    other.say("acquire");
    assert_eq!(other.hear(), "entered", "node 0 still answers");
    drop(other.input.take());
    assert_eq!(other.end(), (Some(0), "left".to_owned()));
    one.until_told("node 1 has left for good");
    assert!(one.child.try_wait().expect("a state").is_none(), "it stays");
}
