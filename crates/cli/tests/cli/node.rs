//! `vorrang node`: real processes, driven over standard input as by hand.

use crate::support;

use std::io::Write as _;
use std::sync::mpsc::channel;
use std::thread;

#[cfg(unix)]
use support::node::signal;
use support::node::{Node, addresses, group, start};

#[test]
fn one_at_a_time_across_three_processes() {
    let mut nodes = group(3, &[]);
    nodes[0].say("acquire");
    assert_eq!(nodes[0].hear(), "entered");

    nodes[1].say("acquire");
    // Node 0 has the request and keeps its reply; only then it is worth looking at node 1.
    nodes[0].state_until("\"deferred\":[]", false);
    let waiting = nodes[1].status(2);
    assert!(waiting[1].contains("waiting to enter, for "), "it has not entered: {waiting:?}");

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
    assert!(node.hear().contains("unknown command 'aquire': did you mean 'acquire'?"));
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
        nodes[id].state_until("\"deferred\":[]", false);
    }
    nodes[0].say("release");
    assert_eq!(nodes[0].hear(), "released");
    nodes[2].status(2);
    nodes[1].say("release");
    assert_eq!(nodes[2].hear(), "entered");
}

#[test]
fn a_node_that_dies_leaves_the_others_alive_and_waiting() {
    let mut nodes = group(3, &["--leave-within", "200ms"]);
    let status = nodes[0].status(2);
    assert!(status[2].contains("node 1 at ") && status[2].contains(": connected for "));
    assert!(status[3].contains("node 2 at ") && status[3].contains(": connected for "));

    nodes[2].child.kill().expect("it can be killed");
    for id in [0, 1] {
        nodes[id].until_told("lost the connection with node 2");
        let status = nodes[id].status(2);
        assert!(status[3].contains(": connecting for "), "{status:?}");
    }
    nodes[0].say("acquire");
    // The request is under way to the dead node, the living one has replied.
    nodes[0].status_until(2, |status| {
        status[3].contains("1 message not acknowledged") && !status[2].contains("not acknowledged")
    });
    let waiting = nodes[0].status(2);
    assert!(waiting[1].contains("waiting to enter, for "), "it has not entered: {waiting:?}");
    assert!(nodes[0].child.try_wait().expect("a state").is_none(), "it lives");

    nodes.truncate(2);
    let (code, last) = nodes.remove(0).quit();
    assert_eq!(code, Some(0));
    assert!(last.contains("1 message was not acknowledged"), "{last}");
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
    let status = nodes[1].status(1);
    assert!(status[1].contains("waits to meet all others"), "{status:?}");
    assert!(status[2].contains(": refused: "), "{status:?}");
    for node in nodes {
        assert_eq!(node.quit(), (Some(4), "left".to_owned()), "neither has taken part");
    }
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
        stale
            .until_told(" refused us: we were restarted and have lost our state, or there are two");
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
        (["--back-off", "0s"], "more than 0"),
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
