//! `vorrang node --on-views` where single links are broken, in one direction or both: between real
//! processes whose connections all go through this test.
#![cfg(unix)]

use crate::node_on_views::{PACE, entered};
use crate::support;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use support::PATIENCE;
use support::node::{Node, addresses};
use vorrang_net::wire::{self, Frame};
use vorrang_protocol::Never;

/// How long it takes until a silent member is suspected, with the pace of these tests.
const DETECTION: Duration = Duration::from_millis(2200);

/// Stands in front of every node. Who dials is read in its hello, so that a link can be cut in
/// either direction: what is said over it is swallowed, and so is all that follows.
struct Wires {
    /// Where each node is found.
    fronts: Vec<String>,
    /// Where each node listens.
    backs: Vec<String>,
    cuts: Cuts,
}

/// Senders and receivers that do not reach each other.
type Cuts = Arc<Mutex<BTreeSet<(u32, u32)>>>;

impl Wires {
    fn between(nodes: usize) -> Self {
        let (backs, cuts) = (addresses(nodes), Cuts::default());
        let mut fronts = Vec::new();
        for (to, back) in (0..).zip(backs.clone()) {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            fronts.push(listener.local_addr().expect("an address").to_string());
            let cuts = Arc::clone(&cuts);
            thread::spawn(move || {
                for dialler in listener.incoming().map_while(Result::ok) {
                    let (back, cuts) = (back.clone(), Arc::clone(&cuts));
                    thread::spawn(move || connect(dialler, to, &back, &cuts));
                }
            });
        }
        Self { fronts, backs, cuts }
    }

    fn cut(&self, links: &[(u32, u32)]) {
        self.cuts.lock().expect("no panic").extend(links);
    }

    fn mend(&self) {
        self.cuts.lock().expect("no panic").clear();
    }
}

/// Carries what a process says to the node behind, and back.
fn connect(mut dialler: TcpStream, to: u32, back: &str, cuts: &Cuts) {
    let (mut first, mut bytes) = (Vec::new(), [0; 4096]);
    let from = loop {
        match wire::decode::<Never>(&first) {
            Ok(Some((Frame::Hello(hello), _))) => break Some(hello.who.sender.0),
            Ok(Some((Frame::DialRequest(knock), _))) => break Some(knock.who.sender.0),
            Ok(Some(_)) | Err(_) => break None,
            Ok(None) => match dialler.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(many) => first.extend_from_slice(&bytes[..many]),
            },
        }
    };
    // One that asks for a place has no number yet.
    let from = from.unwrap_or(u32::MAX);
    let Ok(mut node) = TcpStream::connect(back) else { return };
    let is_cut = cuts.lock().expect("no panic").contains(&(from, to));
    if !is_cut && node.write_all(&first).is_err() {
        return;
    }
    let (there, here) = (Arc::clone(cuts), Arc::clone(cuts));
    let ends = (dialler.try_clone().expect("a socket"), node.try_clone().expect("a socket"));
    thread::spawn(move || carry(ends.1, ends.0, (to, from), &here, false));
    carry(dialler, node, (from, to), &there, is_cut);
}

/// Carries bytes in one direction. What has swallowed some closes when the link is mended, so that
/// a connection is made anew.
fn carry(mut from: TcpStream, mut to: TcpStream, link: (u32, u32), cuts: &Cuts, is_cut: bool) {
    let (mut bytes, mut has_swallowed) = ([0; 4096], is_cut);
    from.set_read_timeout(Some(Duration::from_millis(20))).expect("a limit");
    loop {
        let read = from.read(&mut bytes);
        let is_cut = cuts.lock().expect("no panic").contains(&link);
        if has_swallowed && !is_cut {
            break;
        }
        match read {
            Ok(0) if !is_cut => break,
            // Its end is swallowed, too.
            Ok(0) => thread::sleep(Duration::from_millis(20)),
            Ok(_) if is_cut => has_swallowed = true,
            Ok(many) => {
                if to.write_all(&bytes[..many]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    for end in [from, to] {
        // The other direction may have closed it.
        let _ = end.shutdown(Shutdown::Both);
    }
}

/// Five members whose algorithm needs the answer of all.
fn five(more: &[&str]) -> (Vec<Node>, Wires) {
    founded(5, &[&["--algorithm", "ricart-agrawala"], more].concat())
}

fn founded(count: usize, more: &[&str]) -> (Vec<Node>, Wires) {
    let all: Vec<String> = (0..count).map(|id| id.to_string()).collect();
    let view = format!("{{{}}}", all.join(", "));
    for _ in 0..5 {
        let wires = Wires::between(count);
        let start = |id: usize| start(id, &wires.fronts, &wires.backs[id], more);
        let nodes: Vec<Node> = (0..count).map(start).collect();
        let listens =
            |node: &Node| node.out.recv_timeout(PATIENCE).is_ok_and(|it| it.contains("listens"));
        if nodes.iter().all(listens) {
            for node in &nodes {
                node.until_told(&view);
            }
            return (nodes, wires);
        }
    }
    panic!("no free ports");
}

fn start(id: usize, peers: &[String], listen: &str, more: &[&str]) -> Node {
    Node::start(id, peers, &[&["--on-views", "--listen", listen], &PACE[..], more].concat())
}

/// Everyone but node 2 goes on in time, and stays together; when the link is mended, all do.
fn all_but_one_go_on(cut: &[(u32, u32)]) {
    let (mut nodes, wires) = five(&[]);
    wires.cut(cut);
    let begun = Instant::now();
    for id in [0, 1, 3, 4] {
        nodes[id].until_told("{0, 1, 3, 4}");
    }
    assert!(begun.elapsed() < 3 * DETECTION, "{:?}", begun.elapsed());
    nodes[2].until_told("{0, 1, 3, 4}, to which this node does not belong");
    nodes[1].say("acquire");
    entered(&nodes[1]);
    let calm = Instant::now();
    while let Some(left) = DETECTION.checked_sub(calm.elapsed()) {
        let line = nodes[0].err.recv_timeout(left).unwrap_or_default();
        assert!(!line.starts_with("view "), "views change to and fro: {line}");
    }
    wires.mend();
    for node in &nodes {
        node.until_told("{0, 1, 2, 3, 4}");
    }
}

#[test]
fn a_broken_link_leaves_out_one_and_the_others_go_on() {
    all_but_one_go_on(&[(1, 2), (2, 1)]);
}

#[test]
fn a_link_that_is_broken_in_one_direction_leaves_out_one() {
    all_but_one_go_on(&[(1, 2)]);
}

/// Each hears two others: there are no three that hear each other, and each of them says so.
///
/// On a busy machine one link may be missed a second before the others are, and three go on for
/// that second: of these three two are a majority. Then it is tried again.
#[test]
fn where_no_majority_hears_each_other_every_member_says_so() {
    let broken = [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4)];
    let back = broken.map(|(one, other)| (other, one));
    for _ in 0..8 {
        let (mut nodes, wires) = five(&[]);
        wires.cut(&[broken, back].concat());
        let begun = Instant::now();
        let told = |node: &Node| node.until_told_one_of(&["no majority of view ", "view 1"]);
        let said: Vec<String> = nodes.iter().map(told).collect();
        if said.iter().any(|it| it.starts_with("view ")) {
            continue;
        }
        assert!(begun.elapsed() < 3 * DETECTION, "{:?}", begun.elapsed());
        for line in said {
            assert!(line.contains("heard here, and not by all others that are: "), "{line}");
        }
        wires.mend();
        nodes[4].say("acquire");
        entered(&nodes[4]);
        return;
    }
    panic!("eight times the broken links were missed one after the other");
}

/// A holder is cut off, and its number is started elsewhere: until its lease is over, the first is
/// inside.
#[test]
fn a_holder_that_is_cut_off_and_replaced_is_waited_for() {
    let lease = ["--algorithm", "raymond", "--lease", "4s"];
    let (mut nodes, wires) = founded(3, &lease);
    nodes[2].say("acquire");
    let first = entered(&nodes[2]);
    wires.cut(&[(0, 2), (2, 0), (1, 2), (2, 1)]);
    let own = &addresses(1)[0];
    // It reaches the others by a way of its own.
    let peers = [wires.backs[0].clone(), wires.backs[1].clone(), own.clone()];
    let _second = start(2, &peers, own, &lease);
    nodes[0].until_told("{0, 1, 2}");
    let begun = Instant::now();
    nodes[0].say("acquire");
    let later = entered(&nodes[0]);
    assert!(later > first, "{later:?} after {first:?}");
    // A busy machine may show it a little later.
    let lost = nodes[2].out.recv_timeout(Duration::from_millis(500));
    assert_eq!(lost.as_deref(), Ok("lost the lock"), "another is inside");
    assert!(begun.elapsed() > Duration::from_secs(2), "it waits: {:?}", begun.elapsed());
    nodes[2].until_told("lost the lock: this node could not renew its lease");
}
