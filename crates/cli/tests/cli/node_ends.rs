//! `vorrang node` as a service and as a tool: how it is stopped, what those who are left are told,
//! how requests are given up, and that nobody can make it hang by what it says.
#![cfg(unix)]

use crate::support;

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::PATIENCE;
use support::node::{Node, addresses, command, group, lines, signal, start};

/// All that a node says on standard output until it ends, and how it ends.
fn last_words(node: &mut Node) -> (Option<i32>, Vec<String>) {
    let mut words = Vec::new();
    while let Ok(line) = node.out.recv_timeout(PATIENCE) {
        words.push(line);
    }
    (node.child.wait().expect("it ends").code(), words)
}

#[test]
fn whoever_is_stopped_inside_releases_and_says_goodbye() {
    for (name, called) in [("TERM", "SIGTERM"), ("HUP", "SIGHUP"), ("INT", "SIGINT")] {
        let mut nodes = group(2, &["--algorithm", "central"]);
        let [client, desk] = &mut nodes[..] else { panic!("two") };
        client.say("acquire");
        assert_eq!(client.hear(), "entered");
        desk.say("acquire");
        desk.state_until("\"phase\":\"waiting\"", true);
        signal(client, name);
        client.until_told(&format!("told to stop by {called}"));
        let (code, words) = last_words(client);
        assert_eq!((code, words), (Some(0), vec!["released".to_owned(), "left".to_owned()]));
        assert_eq!(desk.hear(), "entered", "{name}: what it had is free");
        desk.until_told("node 0 has left for good; central goes on without it");
    }
}

#[test]
fn whoever_is_stopped_while_it_waits_leaves_when_it_had_its_turn() {
    let mut nodes = group(3, &["--algorithm", "central", "--leave-within", "60s"]);
    let [holder, waits, desk] = &mut nodes[..] else { panic!("three") };
    holder.say("acquire");
    assert_eq!(holder.hear(), "entered");
    waits.say("acquire");
    desk.state_until("\"queue\":[]", false);
    signal(waits, "TERM");
    assert!(waits.hear().starts_with("withdrawn; leaves when what it asked for was granted"));
    assert!(waits.child.try_wait().expect("a state").is_none(), "its request is under way");
    holder.say("release");
    assert_eq!(holder.hear(), "released");
    assert_eq!(last_words(waits), (Some(0), vec!["left".to_owned()]));
    // Nobody waits for the one that has left.
    holder.say("acquire");
    assert_eq!(holder.hear(), "entered");
}

#[test]
fn the_second_signal_ends_it_at_once_and_the_first_in_a_stated_time() {
    let mut nodes = group(2, &["--leave-within", "60s"]);
    nodes[0].say("acquire");
    assert_eq!(nodes[0].hear(), "entered");
    nodes[1].say("acquire");
    nodes[1].state_until("\"phase\":\"waiting\"", true);
    signal(&nodes[1], "TERM");
    assert!(nodes[1].hear().starts_with("withdrawn; leaves when"));
    let begun = Instant::now();
    signal(&nodes[1], "TERM");
    assert_eq!(last_words(&mut nodes[1]).0, Some(128 + 15));
    assert!(begun.elapsed() < Duration::from_secs(30), "at once");

    let mut nodes = group(2, &["--leave-within", "300ms"]);
    nodes[0].say("acquire");
    assert_eq!(nodes[0].hear(), "entered");
    nodes[1].say("acquire");
    nodes[1].state_until("\"phase\":\"waiting\"", true);
    let begun = Instant::now();
    signal(&nodes[1], "HUP");
    let (code, words) = last_words(&mut nodes[1]);
    assert!(begun.elapsed() < Duration::from_secs(30), "it does not wait for node 0");
    assert_eq!(code, Some(0));
    assert!(words[1].starts_with("its request is still pending"), "{words:?}");
}

/// It leaves before it had its turn, and what it asked for is granted to nobody.
#[test]
fn whoever_leaves_before_its_turn_is_not_said_to_be_no_loss() {
    let mut nodes = group(3, &["--algorithm", "central", "--leave-within", "300ms"]);
    let [holder, waits, desk] = &mut nodes[..] else { panic!("three") };
    holder.say("acquire");
    assert_eq!(holder.hear(), "entered");
    waits.say("acquire");
    desk.state_until("\"queue\":[]", false);
    signal(waits, "TERM");
    let (code, words) = last_words(waits);
    assert_eq!(code, Some(0));
    assert!(words[1].starts_with("its request is still pending"), "{words:?}");
    for node in [&*holder, &*desk] {
        node.until_told(
            "node 1 has left for good, and its request was not granted yet, and central may grant \
             it to the process that is gone: requests may wait for ever",
        );
    }
    holder.say("release");
    assert_eq!(holder.hear(), "released");
    holder.say("acquire --timeout 1s");
    assert!(holder.hear().starts_with("gave up after 1 s"), "nobody enters");
}

#[test]
fn one_of_five_is_stopped_and_the_others_say_what_they_cannot_do_any_more() {
    let mut nodes = group(5, &[]);
    signal(&nodes[3], "TERM");
    assert_eq!(last_words(&mut nodes[3]).0, Some(0));
    for id in [0, 1, 2, 4] {
        nodes[id].until_told(
            "node 3 has left for good, and ricart-agrawala needs an answer of every node: no \
             request can be granted any more",
        );
        nodes[id].say("acquire");
        assert_eq!(
            nodes[id].hear(),
            "node 3 has left for good, and ricart-agrawala needs an answer of every node: this \
             request can never be granted"
        );
    }

    let mut nodes = group(5, &["--algorithm", "majority-votes"]);
    for (id, ending) in [(3, "goes on without it"), (4, "goes on without it")] {
        signal(&nodes[id], "TERM");
        assert_eq!(last_words(&mut nodes[id]).0, Some(0));
        let left = format!("node {id} has left for good; majority-votes {ending}");
        nodes[0].until_told(&left);
    }
    nodes[0].say("acquire");
    assert_eq!(nodes[0].hear(), "entered", "three of five are left");
    signal(&nodes[2], "TERM");
    nodes[0].until_told("tolerates the loss of 2 nodes and not of more");
    nodes[1].until_told("tolerates the loss of 2 nodes and not of more");
    nodes[1].say("acquire");
    assert!(nodes[1].hear().ends_with("this request can never be granted"));
}

/// A multicast is no request, and whoever takes the silent for crashed needs none of them.
#[test]
fn an_absence_is_told_in_the_words_of_the_problem() {
    for (line, told) in [
        ("nack --tries 3", "has left for good; nack goes on without it"),
        ("nack --history 5", "has left for good; nack goes on without it"),
        ("nack", "has left for good, and nack may need it: multicasts may wait for ever"),
        ("echo", "and echo needs an answer of every node: no wave can end any more"),
        ("tree-election", "needs an answer of every node: no election can end any more"),
    ] {
        let words: Vec<&str> = ["--algorithm"].into_iter().chain(line.split(' ')).collect();
        let mut nodes = group(2, &words);
        signal(&nodes[1], "TERM");
        assert_eq!(last_words(&mut nodes[1]).0, Some(0));
        nodes[0].until_told(told);
    }
}

/// Views go on with most of the members of the last one, or half of them with the first.
#[test]
fn a_group_without_most_of_its_nodes_does_not_say_that_it_goes_on() {
    for (algorithm, stops) in
        [("virtual-synchrony", "nothing is delivered"), ("view-leader", "no leader is found")]
    {
        let mut nodes = group(3, &["--algorithm", algorithm]);
        signal(&nodes[0], "TERM");
        assert_eq!(last_words(&mut nodes[0]).0, Some(0));
        nodes[2].until_told(&format!("node 0 has left for good; {algorithm} goes on without it"));
        signal(&nodes[1], "TERM");
        assert_eq!(last_words(&mut nodes[1]).0, Some(0));
        let told = nodes[2].until_told("node 1 has left for good");
        assert!(told.contains("tolerates the loss of one node and not of more"), "{told}");
        // It is so as soon as the others are suspected.
        let words = ["no majority of view ", stops, "any more (silent: "];
        let says_so = (0..200).any(|_| {
            nodes[2].say("status");
            let within = || nodes[2].out.recv_timeout(Duration::from_millis(100)).ok();
            let lines: Vec<String> = std::iter::from_fn(within).collect();
            lines.iter().any(|line| words.iter().all(|word| line.contains(word)))
        });
        assert!(says_so, "{algorithm}");
    }
    // The first of two goes on alone.
    let mut nodes = group(2, &["--algorithm", "virtual-synchrony"]);
    signal(&nodes[1], "TERM");
    assert_eq!(last_words(&mut nodes[1]).0, Some(0));
    nodes[0].until_told("node 1 has left for good; virtual-synchrony goes on without it");
    while nodes[0].hear() != "view 2 {0}" {}
}

#[test]
fn a_node_that_has_met_nobody_can_be_stopped() {
    let peers = addresses(2);
    let mut node = Node::start(0, &peers, &[]);
    node.hear();
    node.say("acquire --timeout 50ms");
    assert!(node.hear().contains("this node has not met all others yet"));
    node.say("acquire");
    // What is said next is done next.
    assert!(node.status(1)[1].contains("waits to meet all others"));
    node.say("withdraw");
    let mut words = [node.hear(), node.hear()];
    words.sort();
    assert!(words[0].contains("has not met all others yet"), "{words:?}");
    assert_eq!(words[1], "withdrawn");
    node.say("withdraw");
    assert_eq!(node.hear(), "cannot withdraw: nothing is asked for");
    signal(&node, "TERM");
    assert_eq!(last_words(&mut node), (Some(0), vec!["left".to_owned()]));
}

/// As `nohup` does.
#[cfg(target_os = "linux")]
#[test]
fn a_hang_up_that_was_ignored_from_the_start_is_left_so() {
    let peers = addresses(1);
    let started = command(0, &peers, &[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(started.get_program());
    shell.args(started.get_args()).env("NO_COLOR", "1");
    let mut node = Node::of(shell);
    node.hear();
    signal(&node, "HUP");
    node.say("acquire");
    assert_eq!(node.hear(), "entered");
    signal(&node, "TERM");
    assert_eq!(last_words(&mut node).0, Some(0));
}

#[test]
fn patience_ends_withdrawing_is_told_and_the_old_request_is_taken_over() {
    let mut nodes = group(3, &["--algorithm", "central"]);
    let [holder, waits, desk] = &mut nodes[..] else { panic!("three") };
    holder.say("acquire");
    assert_eq!(holder.hear(), "entered");
    waits.say("acquire --timeout 100ms");
    assert!(waits.hear().starts_with("gave up after 0.1 s"));
    assert!(waits.status(2)[1].contains("has withdrawn its request"));
    waits.say("withdraw");
    assert_eq!(waits.hear(), "cannot withdraw: the request was given up before");
    waits.say("acquire");
    waits.say("acquire");
    assert_eq!(waits.hear(), "cannot acquire: already waiting to enter");
    waits.say("withdraw");
    assert_eq!(waits.hear(), "withdrawn");
    desk.state_until("\"queue\":[]", false);
    desk.say("acquire");
    desk.status(2);
    // Behind the request that was given up, and held up by it for no longer than it takes.
    holder.say("release");
    assert_eq!(holder.hear(), "released");
    assert_eq!(desk.hear(), "entered");
    waits.until_told("the withdrawn request was granted, and released at once");
    waits.say("acquire --timeout 60s");
    waits.state_until("\"phase\":\"waiting\"", true);
    desk.say("release");
    assert_eq!(waits.hear(), "entered");
}

/// A pipe that takes nothing any more.
fn full() -> (std::io::PipeReader, Stdio) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut filler = writer.try_clone().expect("a pipe");
    // Whoever fills it is stuck in the end, and stays so.
    std::thread::spawn(move || while filler.write_all(&[b'x'; 4096]).is_ok() {});
    std::thread::sleep(Duration::from_millis(300));
    (reader, writer.into())
}

fn junk(address: &str, many: u32) {
    for number in 0..many {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let _ = write!(stream, "GET /{number} HTTP/1.1\r\n\x1b[2J\r\n");
    }
}

#[test]
fn junk_does_not_hang_a_node_whose_standard_error_nobody_reads() {
    let peers = addresses(1);
    let (_reader, stuck) = full();
    let mut child = command(0, &peers, &[])
        .env("VORRANG_LOG", "debug")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stuck)
        .spawn()
        .expect("the program starts");
    let out = lines(child.stdout.take().expect("a pipe"));
    let err = std::sync::mpsc::channel().1;
    let input = child.stdin.take();
    let mut node = Node { child, input, out, err };
    node.hear();
    junk(&peers[0], 400);
    node.say("acquire");
    assert_eq!(node.hear(), "entered");
    signal(&node, "TERM");
    assert_eq!(last_words(&mut node).0, Some(0));
}

#[test]
fn a_node_whose_standard_output_nobody_reads_can_be_stopped() {
    let peers = addresses(1);
    let (_reader, stuck) = full();
    let mut child = command(0, &peers, &[])
        .stdin(Stdio::piped())
        .stdout(stuck)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let err = lines(child.stderr.take().expect("a pipe"));
    let out = std::sync::mpsc::channel().1;
    let input = child.stdin.take();
    let mut node = Node { child, input, out, err };
    for _ in 0..3_000 {
        node.say("status");
    }
    node.until_told("started");
    signal(&node, "TERM");
    assert_eq!(node.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn strangers_cannot_fill_the_log() {
    let peers = addresses(1);
    let node = Node::start(0, &peers, &[]);
    node.hear();
    node.until_told("started");
    junk(&peers[0], 400);
    let mut said = Vec::new();
    loop {
        let line = node.err.recv_timeout(PATIENCE).expect("a line in time");
        let is_last = line.contains("more like that, left out");
        assert!(!line.contains('\x1b'), "{line}");
        said.push(line);
        if is_last {
            break;
        }
    }
    assert!((20..60).contains(&said.len()), "{said:#?}");
}

#[test]
fn what_others_call_themselves_does_nothing_to_a_terminal() {
    let evil = "\u{1b}[2J\u{1b}]0;mine\u{7}\r\nentered\r\n";
    let nodes = start(&[&["--group", "red"], &["--group", evil]]);
    let told = nodes[0].until_told("we refused node 1");
    assert!(told.contains("\\u{1b}[2J") && told.contains("\\r\\nentered"), "{told}");
    assert!(!told.contains(char::is_control), "{told}");
    let told = nodes[1].until_told("node 0 refused us");
    assert!(!told.contains(char::is_control), "{told}");
}

#[test]
fn every_event_is_said_once_and_without_colours_in_a_pipe() {
    let peers = addresses(2);
    let start = |id| {
        let mut command = command(id, &peers, &[]);
        command.env("VORRANG_LOG", "debug").env_remove("NO_COLOR");
        Node::of(command)
    };
    let nodes = [start(0), start(1)];
    nodes[0].until_told("started");
    signal(&nodes[1], "TERM");
    let gone = "node 1 has left for good";
    let mut said = vec![nodes[0].until_told(gone)];
    signal(&nodes[0], "TERM");
    while let Ok(line) = nodes[0].err.recv_timeout(PATIENCE) {
        said.push(line);
    }
    let many = said.iter().filter(|line| line.contains(gone)).count();
    assert_eq!(many, 1, "{said:#?}");
    assert!(!said.iter().any(|line| line.contains('\x1b')), "{said:#?}");
}

#[test]
fn a_node_tells_how_it_is_to_programs_and_on_narrow_screens() {
    let mut nodes = group(3, &[]);
    nodes[0].say("acquire");
    assert_eq!(nodes[0].hear(), "entered");
    nodes[0].say("status --json");
    let status: Value = serde_json::from_str(&nodes[0].hear()).expect("a line of JSON");
    assert_eq!(status["node"], 0);
    assert_eq!(status["turn"], "inside");
    assert_eq!(status["algorithm"], "ricart-agrawala");
    assert_eq!(status["links"][1]["state"], "connected");
    assert_eq!(status["sent"]["REQUEST"], 2);
    let own = serde_json::json!({
        "phase": "inside",
        "our number": null,
        "highest number": 1,
        "awaits reply": null,
        "deferred": [],
    });
    assert_eq!(status["state"], own);
    nodes[0].say("state");
    let state: Vec<String> = (0..5).map(|_| nodes[0].hear()).collect();
    let expected = [
        "phase           inside",
        "our number      –",
        "highest number  1",
        "awaits reply    –",
        "deferred        –",
    ];
    assert_eq!(state, expected);

    let peers = addresses(2);
    let mut narrow = command(1, &peers, &["--back-off", "100ms"]);
    narrow.env("COLUMNS", "40");
    let mut node = Node::of(narrow);
    node.hear();
    node.until_told("waiting for node 0 at 127.0.0.1:");
    for words in ["help", "status", "aquire", "acquire group x", "acquire --timeout soon"] {
        node.say(words);
    }
    node.say("quit");
    let mut said = Vec::new();
    while let Ok(line) = node.out.recv_timeout(PATIENCE) {
        assert!(line.chars().count() <= 40, "{line}");
        said.push(line);
    }
    // However it was wrapped.
    let said = said.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["withdraw", "waits to meet all others", "connecting for ", "did you mean"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
