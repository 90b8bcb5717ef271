//! `vorrang node --on-views --data DIR`: what is on disk outlives every process, and nothing leaves
//! a node before it is there.
#![cfg(unix)]

use crate::node_on_views::{entered, leave, options};
use crate::support;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::node::{Node, addresses, command, signal};
use support::{PATIENCE, vorrang};
use vorrang_testkit::Folder;

/// Members with a directory each.
struct Members {
    peers: Vec<String>,
    folder: Folder,
}

impl Members {
    /// So many that have founded a group.
    fn founded(count: usize, name: &str) -> (Vec<Node>, Self) {
        for _ in 0..5 {
            let members = Self { peers: addresses(count), folder: Folder::new(name) };
            let nodes: Vec<Node> = (0..count).map(|id| members.start(id)).collect();
            let listens = |node: &Node| {
                node.out.recv_timeout(PATIENCE).is_ok_and(|it| it.contains("listens"))
            };
            if nodes.iter().all(listens) {
                let all: Vec<String> = (0..count).map(|id| id.to_string()).collect();
                let view = format!("{{{}}}", all.join(", "));
                for node in &nodes {
                    node.until_told(&view);
                }
                return (nodes, members);
            }
        }
        panic!("no free ports");
    }

    fn data(&self, id: usize) -> PathBuf {
        self.folder.file(&id.to_string())
    }

    fn options(&self, id: usize) -> Vec<String> {
        let mut options: Vec<String> = options().into_iter().map(str::to_owned).collect();
        options.extend(["--data".to_owned(), self.data(id).display().to_string()]);
        options
    }

    fn start(&self, id: usize) -> Node {
        let options = self.options(id);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Node::start(id, &self.peers, &options)
    }

    /// Starts it again; its address is free.
    fn back(&self, id: usize) -> Node {
        let node = self.start(id);
        let line = node.hear();
        assert!(line.contains("listens"), "{line}");
        node
    }
}

fn kill(node: &mut Node) {
    node.child.kill().expect("it can be killed");
    node.child.wait().expect("it is dead");
}

/// Node 1 stands still, so that the view is {0, 2}; then node 0 is killed, and remembers it.
#[test]
fn a_majority_of_founders_goes_on_however_small_the_view_was() {
    let (mut nodes, members) = Members::founded(3, "data-small-view");
    signal(&nodes[1], "STOP");
    nodes[2].until_told("{0, 2}");
    kill(&mut nodes[0]);
    signal(&nodes[1], "CONT");
    for node in &nodes[1..] {
        node.until_told("{1, 2}");
    }
    nodes[0] = members.back(0);
    for node in &nodes {
        node.until_told("{0, 1, 2}");
    }
    nodes[1].say("acquire");
    entered(&nodes[1]);
}

#[test]
fn all_are_killed_again_and_again_and_tokens_grow_in_one_group() {
    let (mut nodes, members) = Members::founded(3, "data-all-killed");
    let mut last = (0, 0);
    for round in 0..3 {
        nodes[round].say("acquire");
        let token = entered(&nodes[round]);
        let jump = token.0 - last.0;
        assert!(round == 0 || (1..100).contains(&jump), "one group: {token:?} after {last:?}");
        last = token;
        nodes.iter_mut().for_each(kill);
        nodes = (0..3).map(|id| members.back(id)).collect();
        for node in &nodes {
            node.until_told("{0, 1, 2}");
        }
    }
}

/// Founders are killed one by one, and those who joined do not go on as another group.
#[test]
fn two_groups_are_impossible() {
    let (mut nodes, members) = Members::founded(3, "data-one-group");
    for (id, view) in [(3, "{0, 1, 2, 3}"), (4, "{0, 1, 2, 3, 4}")] {
        let options = members.options(id);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let join = ["node", "--join", &members.peers[0], "--listen", "127.0.0.1:0"];
        let node = Node::of(vorrang(&[&join[..], &options].concat()));
        let line = node.hear();
        assert!(line.starts_with(&format!("node {id} of at most 64")), "{line}");
        nodes.push(node);
        for node in &nodes {
            node.until_told(view);
        }
    }
    kill(&mut nodes[0]);
    for node in &nodes[1..] {
        node.until_told("{1, 2, 3, 4}");
    }
    nodes[3].say("acquire");
    let token = entered(&nodes[3]);
    leave(&mut nodes[3]);
    kill(&mut nodes[1]);
    let told = nodes[3].until_told("no majority of the voters {0, 1, 2} answers");
    assert!(told.contains("silent: 0, 1"), "{told}");
    kill(&mut nodes[2]);
    for (id, node) in nodes.iter_mut().enumerate().take(3) {
        *node = members.back(id);
    }
    for node in &nodes {
        node.until_told("{0, 1, 2, 3, 4}");
    }
    nodes[0].say("acquire");
    let later = entered(&nodes[0]);
    assert!(later > token && later.0 - token.0 < 100, "{later:?} after {token:?}");
}

#[test]
fn a_hand_over_within_a_view_writes_nothing() {
    let (mut nodes, members) = Members::founded(3, "data-hand-over");
    nodes[0].say("acquire");
    entered(&nodes[0]);
    leave(&mut nodes[0]);
    // A file that is written anew is another one, and a later one: the third may have the number of
    // the first.
    let file = |id: usize| {
        let told = fs::metadata(members.data(id).join("state")).expect("it is there");
        (told.ino(), told.modified().expect("when it was written"))
    };
    let before: Vec<_> = (0..3).map(file).collect();
    for round in 0..30 {
        let node = &mut nodes[round % 3];
        node.say("acquire");
        entered(node);
        leave(node);
    }
    assert_eq!((0..3).map(file).collect::<Vec<_>>(), before);
    kill(&mut nodes[2]);
    nodes[0].until_told("{0, 1}");
    assert_ne!(file(0), before[0], "a view is written");
}

/// How a command ends that must not run, and what it says.
fn fails(mut command: Command) -> (Option<i32>, String) {
    let out = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&out.stderr);
    (out.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_directory_that_cannot_be_used_is_refused_with_the_reason() {
    const USUAL: [&str; 6] = ["--algorithm", "raymond", "--beat", "200ms", "--group", "one"];
    let folder = Folder::new("data-refused");
    let peers = addresses(1);
    // With something else at one place.
    let of = |other: Option<(usize, &str)>, more: &[&str], data: &Path| {
        let (data, mut usual) = (data.display().to_string(), USUAL);
        if let Some((place, other)) = other {
            usual[place] = other;
        }
        command(0, &peers, &[&["--on-views", "--data", &data][..], &usual, more].concat())
    };
    let refused = |other: Option<(usize, &str)>, more: &[&str], data: &Path, words: &str| {
        let (code, said) = fails(of(other, more, data));
        assert!(code == Some(4) && said.contains(words), "{code:?}: {said}");
    };
    let data = folder.file("own");
    let mut node = Node::of(of(None, &[], &data));
    node.hear();
    node.until_told("{0}");
    let listen = ["--listen", "127.0.0.1:0"];
    refused(None, &listen, &data, "own is used by another process that runs");
    kill(&mut node);

    let group = "belongs to the group 'one', and this node has the group 'other'";
    refused(Some((5, "other")), &[], &data, group);
    refused(Some((1, "lamport")), &[], &data, "belongs to the algorithm 'raymond'");
    refused(Some((3, "300ms")), &[], &data, "belongs to the set-up");
    let more = [addresses(1), peers.clone()].concat();
    let path = data.display().to_string();
    let as_second = [&["--on-views", "--data", &path][..], &USUAL].concat();
    let (code, said) = fails(command(1, &more, &as_second));
    assert!(code == Some(4) && said.contains("a number of founders of 1, and"), "{said}");

    let state = data.join("state");
    let whole = fs::read(&state).expect("it is there");
    let mut damaged = whole.clone();
    *damaged.last_mut().expect("a byte") ^= 1;
    fs::write(&state, damaged).expect("it is written");
    refused(
        None,
        &[],
        &data,
        "state is damaged (its checksum is wrong), so what this node has promised",
    );
    refused(None, &[], Path::new("/proc/vorrang"), "cannot make the directory /proc/vorrang");
    let file = folder.file("file");
    fs::write(&file, "").expect("it is written");
    refused(None, &[], &file, "cannot make the directory");
}

/// The limit on the size of files stands for a disk that is full.
#[test]
fn a_node_that_cannot_write_ends_and_says_why() {
    let folder = Folder::new("data-full");
    let peers = addresses(1);
    let data = folder.path("full");
    let node = command(0, &peers, &[&options()[..], &["--data", &data]].concat());
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
    limited.arg(node.get_program()).args(node.get_args());
    let (code, said) = fails(limited);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("cannot write") && said.contains("state.new"), "{said}");

    let (mut nodes, members) = Members::founded(3, "data-full-later");
    // Its next record cannot be written.
    fs::create_dir(members.data(1).join("state.new")).expect("it is made");
    kill(&mut nodes[2]);
    let (code, _) = nodes[1].end();
    assert_eq!(code, Some(4));
    nodes[0].until_told("no majority of the voters {0, 1, 2} answers");
    fs::remove_dir(members.data(1).join("state.new")).expect("it is empty");
    nodes[1] = members.back(1);
    nodes[0].until_told("{0, 1}");
}

#[test]
fn members_with_and_without_data_do_not_mix() {
    let (nodes, members) = Members::founded(2, "data-mixed");
    let join = ["node", "--join", &members.peers[0], "--listen", "127.0.0.1:0"];
    let (code, said) = fails(vorrang(&[&join[..], &options()].concat()));
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("--on-views --data") && said.contains("is set up with"), "{said}");
    drop(nodes);
    let (code, _, said) =
        support::run(&["node", "--id", "0", "--peers", "127.0.0.1:1", "--data", "x"]);
    assert!(code == 2 && said.contains("--on-views"), "{said}");
    let chat = ["node", "--on-views", "-a", "virtual-synchrony", "--id", "0"];
    let chat = [&chat[..], &["--peers", "127.0.0.1:1", "--data", "x"]].concat();
    let (code, _, said) = support::run(&chat);
    assert!(code == 2 && said.contains("--data is for locks"), "{said}");
}
