//! Real processes that find each other by announcements to a multicast address.

use crate::support;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use support::node::{Node, addresses, signal, undisturbed};
use support::{run, vorrang};

/// An address that no other test uses.
pub(crate) fn multicast() -> String {
    let drawn = RandomState::new().hash_one(std::process::id());
    let [a, b, c, d, ..] = drawn.to_le_bytes();
    format!("239.255.{a}.{b}:{}", 10_000 + u16::from_le_bytes([c, d]) % 20_000)
}

fn looks(at: &str, more: &[&str]) -> Node {
    let words = [&["node", "-a", "nack", "--udp", at][..], more].concat();
    let node = Node::of(undisturbed(&vorrang(&words)));
    assert!(node.hear().contains(" looks for "));
    node
}

/// Which node it is, and the list.
fn found(node: &Node) -> (usize, String) {
    let line = node.hear();
    let (list, id) = line.split_once("; this is node ").expect("a place");
    (id.parse().expect("a number"), list.to_owned())
}

/// All have found each other, and everyone hears what each says.
fn talk(nodes: &mut [Node]) -> String {
    let places: Vec<(usize, String)> = nodes.iter().map(found).collect();
    let mut ids: Vec<usize> = places.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..nodes.len()).collect::<Vec<_>>(), "{places:?}");
    let list = places[0].1.clone();
    assert!(places.iter().all(|(_, its)| *its == list), "{places:?}");
    for node in &*nodes {
        node.until_told("started");
    }
    for (speaker, (id, _)) in places.iter().enumerate() {
        nodes[speaker].say(&format!("hello from {id}"));
        for node in &*nodes {
            while node.hear() != format!("delivers {id}/0: hello from {id}") {}
        }
    }
    list
}

fn quit(nodes: Vec<Node>) {
    for node in nodes {
        assert_eq!(node.quit().0, Some(0));
    }
}

#[test]
fn three_find_each_other_though_datagrams_are_lost_and_a_fourth_is_told_that_it_is_late() {
    let at = multicast();
    let options = ["--discover", "3", "--drop", "20%"];
    let mut nodes: Vec<Node> = (0..3).map(|_| looks(&at, &options)).collect();
    let list = talk(&mut nodes);
    let members = list.strip_prefix("found 3 members: ").expect("a list");
    let (code, _, err) = run(&["node", "-a", "nack", "--udp", &at, "--discover", "3"]);
    let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = format!("the group 'default' is complete without this process: {members}.");
    assert!(code != 0 && err.contains(&told), "{code}: {err}");
    for mut node in nodes.drain(..) {
        node.say("quit");
        while let Ok(line) = node.err.recv_timeout(support::PATIENCE) {
            assert!(!line.contains("not the beginning of a frame"), "{line}");
        }
        assert_eq!(node.end().0, Some(0));
    }
}

#[test]
fn a_process_that_is_set_up_differently_is_named_and_not_counted() {
    let at = multicast();
    let mut nodes = vec![looks(&at, &["--discover", "2"])];
    for (wrong, named) in [
        (&["--discover", "2", "--window", "8"][..], "--window 8"),
        (&["--discover", "3"], "nack among 3"),
    ] {
        let mut other = looks(&at, wrong);
        let line = nodes[0].until_told("set up differently");
        let more = if line.contains(named) { line } else { nodes[0].until_told(named) };
        assert!(more.contains(named), "{more}");
        other.until_told("set up differently");
        signal(&other, "TERM");
        assert_eq!(other.end().0, Some(0), "told to stop while it looks");
    }
    nodes.push(looks(&at, &["--discover", "2"]));
    talk(&mut nodes);
    quit(nodes);
}

#[test]
fn two_groups_share_an_address() {
    let at = multicast();
    let of = |name| looks(&at, &["--discover", "2", "--group", name]);
    let (mut red, mut blue) = (vec![of("red")], vec![of("blue")]);
    red.push(of("red"));
    blue.push(of("blue"));
    let lists = [talk(&mut red), talk(&mut blue)];
    assert_ne!(lists[0], lists[1]);
    quit(red);
    quit(blue);
}

#[test]
fn one_that_dies_while_they_look_is_replaced() {
    let at = multicast();
    let options = ["--discover", "3"];
    let (first, mut dies) = (looks(&at, &options), looks(&at, &options));
    first.until_told("2 of 3 are there");
    dies.child.kill().expect("it can be killed");
    dies.child.wait().expect("it is dead");
    // It is forgotten after 1.5 s, and may have spoken last some time before.
    let killed = Instant::now();
    first.until_told("1 of 3 are there");
    let silence = killed.elapsed();
    assert!(silence > Duration::from_millis(1_200), "{silence:?}");
    let mut nodes = vec![first, looks(&at, &options), looks(&at, &options)];
    talk(&mut nodes);
    quit(nodes);
}

#[test]
fn a_member_that_is_killed_after_the_start_takes_its_place_again_at_its_address() {
    let (at, address) = (multicast(), addresses(1).remove(0));
    let options = ["--discover", "2", "--tries", "8", "--within", "50ms"];
    let listening = [&options[..], &["--listen", &address]].concat();
    let mut nodes = vec![looks(&at, &options), looks(&at, &listening)];
    talk(&mut nodes);
    let mut dies = nodes.pop().expect("two");
    dies.child.kill().expect("it can be killed");
    dies.child.wait().expect("it is dead");
    let mut back = looks(&at, &listening);
    found(&back);
    back.until_told("came back");
    back.say("here again");
    while !nodes[0].hear().ends_with(": here again") {}
    nodes[0].say("welcome");
    while !back.hear().ends_with(": welcome") {}
    nodes.push(back);
    quit(nodes);
}

#[test]
fn what_makes_no_sense_is_named() {
    for (line, words) in [
        ("--udp --discover 3", "--discover needs a multicast address"),
        ("--udp unicast --discover 3", "'unicast'"),
        ("--udp 239.255.0.1:7400 --discover 1", "'1' for '--discover"),
        ("--udp 239.255.0.1:7400 --discover 65", "a whole number from 2 to 64"),
        ("--discover 3", "--udp"),
        ("--udp 239.255.0.1:7400 --discover 3 --id 0", "'--id"),
        ("--udp 239.255.0.1:7400 --discover 2 --listen 0.0.0.0:0", "--insecure"),
        ("--udp 239.255.0.1:7400 --discover 2 --listen 0.0.0.0:0 --insecure", "of its own"),
        ("--udp 239.255.0.1:7400 --discover 2 --interface 192.0.2.1", "--insecure"),
        ("--udp 239.255.0.1:7400 --discover 2 --listen x", "'x' is not an address"),
    ] {
        let typed: Vec<&str> = ["node", "-a", "nack"].into_iter().chain(line.split(' ')).collect();
        let (code, _, err) = run(&typed);
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 2 && err.contains(words), "{line}: {code} {err}");
    }
}
