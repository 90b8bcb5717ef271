//! A protocol that only counts: the strictest witness of an order.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use vorrang_net::{
    CommandError, Config, Limits, LinkState, Node, Start, StopReason, bind_loopback, wire,
};
use vorrang_protocol::{Effects, Group, Message, Never, NodeId, Protocol, Refused};

use crate::faulty::{Faulty, FaultyListener};
use crate::support::{event, quick, soon};

/// A number, and ballast, so that frames have different lengths.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Number(u64, Vec<u8>);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NUMBER({})", self.0)
    }
}

impl Message for Number {
    const KINDS: &'static [&'static str] = &["NUMBER"];
    fn kind(&self) -> usize {
        0
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Ask {
    /// Sends the next so many numbers to everybody, oneself included.
    Count(u64),
    /// Sends to a node that is not there.
    Stray,
    /// Sends one message of so many bytes.
    Heavy(usize),
    /// Has a bug.
    Fall,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    group: Group,
    next: u64,
    expected: Vec<u64>,
}

impl Counter {
    fn new(nodes: u32) -> Self {
        Self { group: Group::of(nodes), next: 0, expected: vec![0; nodes as usize] }
    }
}

impl Protocol for Counter {
    type Message = Number;
    type Timer = Never;
    type Command = Ask;
    /// Whose numbers have been heard up to where.
    type Notice = (NodeId, u64);

    fn on_command(&mut self, ask: Ask, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match ask {
            Ask::Count(many) => {
                for _ in 0..many {
                    let ballast = fx.choose(NonZeroU32::new(40).unwrap()) as usize;
                    fx.broadcast(self.group.members(), Number(self.next, vec![0; ballast]));
                    self.next += 1;
                }
            }
            Ask::Stray => fx.send(NodeId(99), Number(0, Vec::new())),
            Ask::Heavy(bytes) => {
                fx.broadcast(self.group.members(), Number(self.next, vec![0; bytes]));
                self.next += 1;
            }
            Ask::Fall => panic!("fell over its own feet"),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, Number(number, _): Number, fx: &mut impl Effects<Self>) {
        let expected = &mut self.expected[from.index()];
        assert_eq!(number, *expected, "from node {from}");
        *expected += 1;
        fx.notify((from, *expected));
    }
}

fn config(id: u32, peers: &[String]) -> Config {
    Config { timing: quick(), ..Config::new(NodeId(id), peers.to_vec(), "counting") }
}

async fn heard(notices: &mut mpsc::UnboundedReceiver<(NodeId, u64)>, nodes: u32, upto: u64) {
    let mut missing = u64::from(nodes) * upto;
    while missing > 0 {
        let notice = soon("a number", notices.recv()).await;
        notice.expect("the node runs on: no number was out of order");
        missing -= 1;
    }
}

#[tokio::test]
async fn numbers_arrive_in_order_over_connections_that_are_cut() {
    for (seed, mouthful) in [(0, usize::MAX), (1, 1_000), (2, 13), (3, 1)] {
        let (listeners, peers) = bind_loopback(2).await.unwrap();
        let faulty = Faulty::new(seed, 4_000, 50).in_mouthfuls_of(mouthful);
        let mut nodes = Vec::new();
        for (id, socket) in (0..).zip(listeners) {
            let node = Node::over(faulty.clone(), Counter::new(2), config(id, &peers))
                .listener(FaultyListener(socket, faulty.clone()));
            nodes.push(node.start().await.unwrap());
        }
        for _ in 0..20 {
            for (handle, _) in &nodes {
                handle.command(Ask::Count(100)).await.unwrap();
            }
        }
        for (_, notices) in &mut nodes {
            heard(notices, 2, 2_000).await;
        }
        assert_eq!(faulty.cuts_left(), 0, "seed {seed}");
    }
}

#[tokio::test]
async fn a_backlog_larger_than_all_buffers_arrives_whole() {
    let (listeners, peers) = bind_loopback(2).await.unwrap();
    let mut nodes = Vec::new();
    for (id, socket) in (0..).zip(listeners) {
        let node = Node::new(Counter::new(2), config(id, &peers)).listener(socket);
        nodes.push(node.start().await.unwrap());
    }
    for _ in 0..40 {
        nodes[0].0.command(Ask::Heavy(1_000_000)).await.unwrap();
    }
    heard(&mut nodes[1].1, 1, 40).await;
    let mut status = nodes[0].0.status().await.unwrap();
    while status.links[0].unacknowledged > 0 {
        tokio::task::yield_now().await;
        status = soon("a status", nodes[0].0.status()).await.unwrap();
    }
    assert_eq!(status.sent, [("NUMBER", 40)], "messages to oneself are not counted");
}

#[tokio::test]
async fn a_graceful_shutdown_delivers_what_was_sent_before() {
    let (listeners, peers) = bind_loopback(2).await.unwrap();
    let mut nodes = Vec::new();
    for (id, socket) in (0..).zip(listeners) {
        let node = Node::new(Counter::new(2), config(id, &peers)).listener(socket);
        nodes.push(node.start().await.unwrap());
    }
    let (other, mut notices) = nodes.pop().unwrap();
    let (leaver, _) = nodes.pop().unwrap();
    let mut events = other.events();
    leaver.command(Ask::Count(5_000)).await.unwrap();
    let goodbye = soon("the shutdown", leaver.shutdown()).await.unwrap();
    assert_eq!(goodbye.unacknowledged, 0);
    heard(&mut notices, 1, 5_000).await;
    event(&mut events, &["node 0 has left for good"]).await;

    other.command(Ask::Count(3)).await.unwrap();
    let link = other.status().await.unwrap().links.remove(0);
    assert_eq!(link.state.to_string(), "gone: it has left");
    assert_eq!((link.dropped, link.unacknowledged), (3, 0));
}

#[tokio::test]
async fn a_shutdown_says_what_it_could_not_deliver() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut config = config(0, &peers);
    config.start = Start::AtOnce;
    config.timing.linger = std::time::Duration::from_millis(50);
    let node = Node::new(Counter::new(2), config).listener(listeners.remove(0));
    let (handle, _notices) = node.start().await.unwrap();
    handle.command(Ask::Count(7)).await.unwrap();
    let goodbye = soon("the shutdown", handle.shutdown()).await.unwrap();
    assert_eq!(goodbye.unacknowledged, 7);
}

#[tokio::test]
async fn a_peer_for_which_too_much_waits_is_given_up_and_both_are_told() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let limits = Limits { messages: 10, bytes: 10_000, ..Limits::default() };
    let alone = Config { start: Start::AtOnce, limits, ..config(0, &peers) };
    let node = Node::new(Counter::new(2), alone).listener(listeners.remove(0));
    let (handle, mut notices) = node.start().await.unwrap();
    let mut events = handle.events();
    handle.command(Ask::Count(10)).await.unwrap();
    assert_eq!(handle.status().await.unwrap().links[0].unacknowledged, 10);
    handle.command(Ask::Count(5)).await.unwrap();
    let words = "node 1 is given up for good: its queue exceeded 10 messages or 10000 bytes";
    event(&mut events, &[words]).await;
    heard(&mut notices, 1, 15).await;
    let link = handle.status().await.unwrap().links.remove(0);
    assert!(matches!(link.state, LinkState::Gone(_)), "{}", link.state);
    assert_eq!((link.unacknowledged, link.unacknowledged_bytes, link.dropped), (0, 0, 15));

    let late = Node::new(Counter::new(2), config(1, &peers)).listener(listeners.remove(0));
    let (late, _notices) = late.start().await.unwrap();
    let mut events = late.events();
    event(&mut events, &["node 0 refused us: its queue of messages for us overflowed"]).await;
    let error = soon("an answer", late.command(Ask::Count(1))).await.unwrap_err();
    assert!(matches!(error, CommandError::Fenced(_)), "{error}");
}

#[tokio::test]
async fn a_machine_that_does_the_impossible_fails_with_a_reason() {
    let heavy = Ask::Heavy(wire::MAX_BODY_LEN);
    let cases = [
        (Ask::Stray, "it sent to node 99, which is not in its group"),
        (heavy, "it cannot send to node 1: a frame with a body of"),
    ];
    for (ask, words) in cases {
        let (mut listeners, peers) = bind_loopback(2).await.unwrap();
        let mut config = config(0, &peers);
        config.start = Start::AtOnce;
        let node = Node::new(Counter::new(2), config).listener(listeners.remove(0));
        let (handle, _notices) = node.start().await.unwrap();
        handle.command(ask).await.unwrap();
        let error = soon("an error", handle.command(Ask::Count(1))).await.unwrap_err();
        let CommandError::Stopped(stopped) = &error else {
            panic!("{error}");
        };
        assert!(matches!(stopped.why, StopReason::Failed(_)));
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_panics_ends_its_own_node_with_a_reason_and_no_other() {
    for _ in 0..20 {
        let (listeners, peers) = bind_loopback(2).await.unwrap();
        let mut nodes = Vec::new();
        for (id, socket) in (0..).zip(listeners) {
            let node = Node::new(Counter::new(2), config(id, &peers)).listener(socket);
            nodes.push(node.start().await.unwrap());
        }
        // Otherwise node 1 would wait for a node 0 that is no more.
        soon("the start", nodes[1].0.started()).await.unwrap();
        let mut events = nodes[1].0.events();
        let error = soon("an error", nodes[0].0.command(Ask::Fall)).await.unwrap_err();
        let words = "the node has stopped: it panicked: fell over its own feet";
        assert_eq!(error.to_string(), words, "whoever asked is told, too");
        assert_eq!(nodes[0].0.status().await.unwrap_err().to_string(), words);

        event(&mut events, &["lost the connection with node 0"]).await;
        nodes[1].0.command(Ask::Count(2)).await.unwrap();
        heard(&mut nodes[1].1, 1, 2).await;
    }
}
