//! `vorrang node --on-views`: real processes that are killed, stopped, started again and joined by
//! others, and a resource that checks the numbers of those who use it.

use crate::support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

#[cfg(unix)]
use support::node::signal;
use support::node::{Node, addresses};
use support::{PATIENCE, vorrang};

/// The number of an entry.
pub(crate) type FencingToken = (u64, u64);

/// A counter over TCP: whoever shows a lower number than it has seen is refused.
struct Counter {
    address: String,
}

impl Counter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        thread::spawn(move || {
            let (mut count, mut highest) = (0, (0, 0));
            for stream in listener.incoming().map_while(Result::ok) {
                let mut line = String::new();
                if BufReader::new(&stream).read_line(&mut line).is_err() {
                    continue;
                }
                let shown = fence(line.trim());
                let answer = if shown < highest {
                    format!("refused: {highest:?} was here\n")
                } else {
                    (highest, count) = (shown, count + 1);
                    format!("{count}\n")
                };
                // Whoever does not wait for the answer need not have it.
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Self { address }
    }

    /// Counts one more, in the name of whoever has this number: how many there are, if it may.
    fn count(&self, (view, clock): FencingToken) -> Option<u32> {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        writeln!(stream, "({view}, {clock})").expect("it reads");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("it answers");
        assert!(answer.starts_with("refused") || answer.trim().parse::<u32>().is_ok(), "{answer}");
        answer.trim().parse().ok()
    }
}

fn fence(text: &str) -> FencingToken {
    let inner = text.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let parts = inner.and_then(|it| it.split_once(", "));
    let (view, clock) = parts.unwrap_or_else(|| panic!("no number: {text}"));
    (view.parse().expect("a view"), clock.parse().expect("a clock"))
}

#[test]
fn the_counter_objects_to_lower_numbers_and_to_nothing_else() {
    let counter = Counter::start();
    let shown = [(7, 2), (7, 2), (7, 1), (6, 9), (8, 1), (7, 3)].map(|it| counter.count(it));
    assert_eq!(shown, [Some(1), Some(2), None, None, Some(3), None]);
}

/// Longer than a busy machine keeps a process waiting.
pub(crate) const PACE: [&str; 4] = ["--beat", "200ms", "--margin", "2s"];

pub(crate) fn options() -> Vec<&'static str> {
    [&["--on-views", "--algorithm", "raymond"][..], &PACE].concat()
}

/// Starts a node, which listens unless its port was taken meanwhile.
pub(crate) fn member(id: usize, peers: &[String]) -> Option<Node> {
    let node = Node::start(id, peers, &options());
    let line = node.out.recv_timeout(PATIENCE).unwrap_or_default();
    let at = &peers[id];
    line.starts_with(&format!("node {id} of at most 64 listens on {at}, ")).then_some(node)
}

/// Five processes that have founded a group.
fn five() -> (Vec<Node>, Vec<String>) {
    for _ in 0..5 {
        let peers = addresses(5);
        let nodes: Option<Vec<Node>> = (0..5).map(|id| member(id, &peers)).collect();
        if let Some(nodes) = nodes {
            for node in &nodes {
                node.until_told("{0, 1, 2, 3, 4}");
            }
            return (nodes, peers);
        }
    }
    panic!("no free ports");
}

/// With which number it enters, now that it may.
pub(crate) fn entered(node: &Node) -> FencingToken {
    let line = node.hear();
    fence(line.strip_prefix("entered with token ").unwrap_or_else(|| panic!("it has not: {line}")))
}

pub(crate) fn leave(node: &mut Node) {
    node.say("release");
    assert_eq!(node.hear(), "released");
}

#[test]
fn five_go_on_without_whoever_is_killed_and_take_it_back_and_a_sixth() {
    let (mut nodes, peers) = five();
    let counter = Counter::start();
    nodes[2].say("acquire");
    let first = entered(&nodes[2]);
    assert_eq!(counter.count(first), Some(1));

    nodes[3].say("acquire");
    nodes[2].child.kill().expect("it can be killed");
    let second = entered(&nodes[3]);
    nodes[3].until_told("{0, 1, 3, 4}");
    assert!(second > first, "{second:?} after {first:?}");
    assert_eq!(counter.count(second), Some(2));
    assert_eq!(counter.count(first), None, "what was under way comes too late");

    // It comes back to the same address with the same words, and knows nothing.
    nodes[2].child.wait().expect("it is dead");
    let back = member(2, &peers).expect("its address is free");
    back.until_told("{0, 1, 2, 3, 4}");
    nodes[0].until_told("{0, 1, 2, 3, 4}");
    nodes[2] = back;
    nodes[2].say("acquire");
    leave(&mut nodes[3]);
    let third = entered(&nodes[2]);
    assert!(third > second, "{third:?} after {second:?}");
    assert_eq!(counter.count(third), Some(3));

    let newcomer = ["node", "--join", &peers[3], "--listen", "127.0.0.1:0"];
    let mut sixth = Node::of(vorrang(&[&newcomer[..], &options()].concat()));
    let line = sixth.hear();
    assert!(line.starts_with("node 5 of at most 64 listens on 127.0.0.1:"), "{line}");
    sixth.until_told("{0, 1, 2, 3, 4, 5}");
    nodes[4].until_told("{0, 1, 2, 3, 4, 5}");
    sixth.say("acquire");
    leave(&mut nodes[2]);
    let fourth = entered(&sixth);
    assert!(fourth > third, "{fourth:?} after {third:?}");
    assert_eq!(counter.count(fourth), Some(4));
    let status = sixth.status(6);
    assert!(status[1].contains("inside, for "), "{status:?}");
    assert!(status[2].contains("{0, 1, 2, 3, 4, 5}"), "{status:?}");
    leave(&mut sixth);
    assert_eq!(sixth.quit().0, Some(0));
    nodes[0].until_told("{0, 1, 2, 3, 4}");
    for node in nodes {
        assert_eq!(node.quit().0, Some(0));
    }
}

#[cfg(unix)]
#[test]
fn whoever_stood_still_inside_is_refused_by_the_resource_and_comes_back() {
    let (mut nodes, _) = five();
    let counter = Counter::start();
    nodes[1].say("acquire");
    let early = entered(&nodes[1]);
    assert_eq!(counter.count(early), Some(1));
    signal(&nodes[1], "STOP");
    nodes[4].say("acquire");
    let late = entered(&nodes[4]);
    assert!(late > early, "{late:?} after {early:?}");
    assert_eq!(counter.count(late), Some(2));

    signal(&nodes[1], "CONT");
    assert_eq!(counter.count(early), None, "it does not know yet, and writes");
    assert_eq!(nodes[1].hear(), "lost the lock");
    nodes[1].until_told("lost the lock: the others had not heard this node in time");
    nodes[1].until_told("{0, 1, 2, 3, 4}");
    assert_eq!(counter.count(late), Some(3), "nothing has come between");
    nodes[1].say("acquire");
    leave(&mut nodes[4]);
    let again = entered(&nodes[1]);
    assert!(again > late, "{again:?} after {late:?}");
    assert_eq!(counter.count(again), Some(4));
}

/// Two that are set up differently refuse each other.
#[test]
fn a_silent_member_is_suspected_after_a_second_unless_told_otherwise() {
    let peers = addresses(2);
    let by_default = Node::start(0, &peers, &["--on-views"]);
    let told = Node::start(1, &peers, &["--on-views", "--beat", "200ms", "--margin", "800ms"]);
    by_default.until_told("{0, 1}");
    told.until_told("{0, 1}");
}

#[test]
fn whoever_cannot_join_is_told_why() {
    let fails = |more: &[&str], words: &str| {
        let mut node = Node::of(vorrang(&[&["node", "--on-views"][..], more].concat()));
        assert_ne!(node.child.wait().expect("it ends").code(), Some(0));
        node.until_told(words);
    };
    let own = ["--listen", "127.0.0.1:0"];
    let nobody = &addresses(1)[0];
    fails(&[&own[..], &["--join", nobody]].concat(), "does not let us in: connection refused");
    fails(&["--join", nobody, "--listen", "0.0.0.0:0"], "other members cannot reach 0.0.0.0");
    fails(&[&own[..], &["--join", "nowhere"]].concat(), "'nowhere' is not an address");
    fails(&["--id", "0", "--peers", nobody, "-a", "bully"], "is for mutual exclusion");
    fails(&["--id", "0", "--peers", "a:1,b:2,c:3", "--room", "2"], "too small for 3 --peers");

    let peers = addresses(1);
    let alone = member(0, &peers).expect("its address is free");
    alone.until_told("{0}");
    let join = [&own[..], &["--join", &peers[0]]].concat();
    fails(&join, "runs raymond, we run ricart-agrawala");
    let other = [&join[..], &["--algorithm", "raymond", "--room", "3"]].concat();
    fails(&other, "it belongs to a group of 64, we belong to a group of 3");
}

const CHAT: [&str; 3] = ["--on-views", "--algorithm", "virtual-synchrony"];

/// Starts a process that joins a group by this address, and says where it listens itself.
fn newcomer(by: &str) -> (Node, String) {
    let join = ["node", "--join", by, "--listen", "127.0.0.1:0"];
    let node = Node::of(vorrang(&[&join[..], &CHAT, &PACE].concat()));
    let line = node.hear();
    let (_, rest) = line.split_once(" listens on ").unwrap_or_else(|| panic!("{line}"));
    let address = rest.split(',').next().unwrap_or_default().to_owned();
    (node, address)
}

fn hears_at_last(node: &Node, words: &str) {
    while !node.hear().ends_with(words) {}
}

/// Nobody has to know more than one member, and that need not be a founder.
#[test]
fn a_group_that_multicasts_is_joined_by_the_address_of_any_member() {
    let options = [&CHAT[..], &PACE].concat();
    let mut founded = None;
    for _ in 0..5 {
        let peers = addresses(2);
        let nodes: Vec<Node> = (0..2).map(|id| Node::start(id, &peers, &options)).collect();
        if nodes.iter().all(|node| node.hear().contains(" listens on ")) {
            founded = Some((nodes, peers));
            break;
        }
    }
    let (mut nodes, peers) = founded.expect("free ports");
    for node in &nodes {
        hears_at_last(node, "{0', 1'}");
    }
    nodes[0].say("before they came");
    for node in &nodes {
        assert_eq!(node.hear(), "delivers 0/0: before they came");
    }
    let (third, at) = newcomer(&peers[1]);
    nodes.push(third);
    for node in &nodes {
        hears_at_last(node, "{0', 1', 2'}");
    }
    let (fourth, _) = newcomer(&at);
    nodes.push(fourth);
    for node in &nodes {
        hears_at_last(node, "{0', 1', 2', 3'}");
    }
    nodes[3].say("hello from   the fourth");
    for node in &nodes {
        assert_eq!(node.hear(), "delivers 3/0: hello from   the fourth");
    }
    // A founder is gone without a word: the others go on, those who joined included.
    let mut killed = nodes.remove(1);
    killed.child.kill().expect("it can be killed");
    killed.child.wait().expect("it is dead");
    for node in &nodes {
        hears_at_last(node, "{0', 2', 3'}");
    }
    nodes[1].say("still here");
    for node in &nodes {
        assert_eq!(node.hear(), "delivers 2/0: still here");
    }
    nodes[2].say("leave");
    hears_at_last(&nodes[2], "out of the group");
    for node in &nodes[..2] {
        hears_at_last(node, "{0', 2'}");
    }
    assert_eq!(nodes.pop().map(|node| node.quit().0), Some(Some(0)));
    // Of two the first would go on alone, and the other does not.
    let mut first = nodes.remove(0);
    first.child.kill().expect("it can be killed");
    first.child.wait().expect("it is dead");
    let words = "answers, and nothing is delivered at this node any more (silent: 0)";
    nodes[0].until_told(words);
    nodes[0].say("status");
    while !nodes[0].hear().contains(words) {}
    nodes[0].say("state");
    let state: Vec<String> = (0..200).map_while(|_| heard(&nodes[0])).collect();
    let state = state.join("\n");
    assert!(state.contains("suspects") && !state.contains("62 63"), "numbers of nobody: {state}");
}

/// What it says within a moment.
fn heard(node: &Node) -> Option<String> {
    node.out.recv_timeout(Duration::from_millis(500)).ok()
}

#[test]
fn what_does_not_fit_a_group_that_others_join_is_refused() {
    let founder = ["node", "--id", "0", "--peers", "127.0.0.1:1", "--on-views"];
    let fails = |more: &[&str], words: &str| {
        let (code, _, err) = support::run(&[&founder[..], more].concat());
        assert!(code == 2 && err.contains(words), "{more:?}: {err}");
    };
    fails(&["-a", "bully"], "--on-views is for mutual exclusion and virtual-synchrony");
    fails(&["-a", "virtual-synchrony", "--lease", "2s"], "--lease is for locks");
    fails(&["-a", "virtual-synchrony", "--founders", "1"], "does not take --founders");
}
