//! What all tests need: bounded waiting, and nodes that compete.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_net::hello::{Hello, Introduction};
use vorrang_net::wire::{self, Frame};
use vorrang_net::{
    Application, ApplicationEffects, Config, Event, Handle, Node, Timing, bind_loopback,
};
use vorrang_protocol::{Group, Never, NodeId};

pub(crate) const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);

/// Bounds hanging, nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// The next event whose sentence contains all of `words`.
pub(crate) async fn event(events: &mut broadcast::Receiver<Event>, words: &[&str]) -> String {
    let mut seen = Vec::new();
    let search = async {
        loop {
            let sentence = events.recv().await.expect("the node runs").to_string();
            if words.iter().all(|word| sentence.contains(word)) {
                return sentence;
            }
            seen.push(sentence);
        }
    };
    let outcome = timeout(PATIENCE, search).await;
    outcome.unwrap_or_else(|_| panic!("no event with {words:?} among {seen:?}"))
}

/// Short pauses, so that tests of lost connections are quick.
pub(crate) fn quick() -> Timing {
    Timing {
        backoff_min: Duration::from_millis(1),
        backoff_max: Duration::from_millis(10),
        ..Timing::default()
    }
}

pub(crate) fn config(id: u32, peers: &[String]) -> Config {
    Config { timing: quick(), ..Config::new(NodeId(id), peers.to_vec(), "ricart-agrawala") }
}

pub(crate) fn machine(id: u32, nodes: u32) -> RicartAgrawala {
    RicartAgrawala::new(NodeId(id), Group::of(nodes))
}

pub(crate) type Running =
    (Handle<Command>, mpsc::UnboundedReceiver<Notice>, broadcast::Receiver<Event>);

pub(crate) async fn start(config: Config, listener: Option<TcpListener>) -> Running {
    let nodes = config.peers.len() as u32;
    let mut node = Node::new(machine(config.id.0, nodes), config);
    if let Some(listener) = listener {
        node = node.listener(listener);
    }
    let (handle, notices) = node.start().await.expect("it starts");
    let events = handle.events();
    (handle, notices, events)
}

/// A group of so many, all met.
pub(crate) async fn group(nodes: u32) -> (Vec<Running>, Vec<String>) {
    let (listeners, peers) = bind_loopback(nodes).await.unwrap();
    let mut running = Vec::new();
    for (id, listener) in (0..).zip(listeners) {
        running.push(start(config(id, &peers), Some(listener)).await);
    }
    for (handle, ..) in &running {
        soon("the start", handle.started()).await.unwrap();
    }
    (running, peers)
}

/// Enters and leaves once.
pub(crate) async fn take_turn((handle, notices, _): &mut Running) {
    handle.command(ACQUIRE).await.unwrap();
    assert_eq!(soon("an entry", notices.recv()).await, Some(Notice::Entered));
    handle.command(Command::Release).await.unwrap();
}

/// Asks, leaves, and asks again, so many times.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) left: u32,
    pub(crate) done: mpsc::UnboundedSender<()>,
}

impl Application for Contender {
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Command>) {
        fx.command(ACQUIRE);
    }

    fn on_notice(&mut self, _: Notice, fx: &mut ApplicationEffects<Command>) {
        fx.command(Command::Release);
        self.left -= 1;
        if self.left > 0 {
            fx.command(ACQUIRE);
        } else {
            self.done.send(()).expect("the test waits");
        }
    }
}

/// What node `sender` of the group at `peers` says first to node `target`.
pub(crate) fn hello(sender: u32, target: u32, peers: &[String]) -> Hello {
    let who = Introduction {
        group: "default".into(),
        algorithm: "ricart-agrawala".into(),
        setup: String::new(),
        peers: peers.to_vec(),
        sender: NodeId(sender),
        target: NodeId(target),
        generation: 0,
        founders: 0,
        start: None,
    };
    Hello {
        who,
        heartbeat_ms: 1,
        incarnation: 1,
        knows: None,
        received: 0,
        attempt: 1,
        returns: false,
    }
}

/// A frame as it goes over a connection.
pub(crate) fn bytes<M: Serialize>(frame: &Frame<M>) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::encode(frame, &mut bytes).unwrap();
    bytes
}

/// The first frame that comes.
pub(crate) async fn answer(stream: &mut TcpStream) -> Frame<Never> {
    let mut read = Vec::new();
    loop {
        if let Some((frame, _)) = wire::decode(&read).unwrap() {
            return frame;
        }
        let more = soon("an answer", stream.read_buf(&mut read)).await.unwrap();
        assert!(more > 0, "closed without an answer");
    }
}
