//! What tests over UDP need: a machine that says what it is told to, and members that are none.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::{broadcast, mpsc};
use vorrang_net::hello::Refusal;
use vorrang_net::udp::datagram::{self, Body, Frame, Greeting, MAX_DATAGRAM};
use vorrang_net::udp::{Cast, Multicast, Udp, bind_loopback};
use vorrang_net::{Config, Event, Handle, Node, Timing};
use vorrang_protocol::{Effects, Group, Message, Never, NodeId, NodeState, Protocol, Refused};

use crate::support::{quick, soon};

/// What criers say to each other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Cry {
    Say(Vec<u8>),
    /// Say this many bytes back.
    Ask(u32),
}

impl fmt::Display for Cry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say(bytes) => write!(f, "SAY({})", bytes.len()),
            Self::Ask(length) => write!(f, "ASK({length})"),
        }
    }
}

impl Message for Cry {
    const KINDS: &'static [&'static str] = &["SAY", "ASK"];
    fn kind(&self) -> usize {
        match self {
            Self::Say(_) => 0,
            Self::Ask(_) => 1,
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Say it to all others, in one step.
    All(Vec<u8>),
    /// Say it to this one.
    One(NodeId, Vec<u8>),
    /// Have this one say so many bytes.
    Ask(NodeId, u32),
}

/// What was heard, and of whom.
pub(crate) type Heard = (NodeId, Vec<u8>);

/// Says what it is told to, and tells what it hears.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Crier {
    me: NodeId,
    group: Group,
    /// How many orders it has carried out.
    pub(crate) orders: u32,
}

impl Crier {
    pub(crate) const fn new(me: u32, nodes: u32) -> Self {
        Self { me: NodeId(me), group: Group::of(nodes), orders: 0 }
    }
}

impl Protocol for Crier {
    type Message = Cry;
    type Timer = Never;
    type Command = Order;
    type Notice = Heard;

    fn on_command(&mut self, order: Order, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.orders += 1;
        match order {
            Order::All(bytes) => fx.broadcast(self.group.others(self.me), Cry::Say(bytes)),
            Order::One(to, bytes) => fx.send(to, Cry::Say(bytes)),
            Order::Ask(to, length) => fx.send(to, Cry::Ask(length)),
        }
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, cry: Cry, fx: &mut impl Effects<Self>) {
        match cry {
            Cry::Say(bytes) => fx.notify((from, bytes)),
            Cry::Ask(length) => fx.send(from, Cry::Say(vec![7; length as usize])),
        }
    }

    fn state(&self) -> NodeState {
        NodeState::new().with("orders", self.orders)
    }
}

pub(crate) type Running =
    (Handle<Order>, mpsc::UnboundedReceiver<Heard>, broadcast::Receiver<Event>);

pub(crate) fn config(id: u32, peers: &[String]) -> Config {
    Config { timing: quick(), ..Config::new(NodeId(id), peers.to_vec(), "crier") }
}

/// As above, for tests of silence.
pub(crate) fn impatient(id: u32, peers: &[String]) -> Config {
    let heartbeat = Duration::from_millis(50);
    let timing = Timing { heartbeat, give_up: heartbeat * 10, ..quick() };
    Config { timing, ..config(id, peers) }
}

pub(crate) async fn start(
    udp: Udp,
    config: Config,
    socket: Option<std::net::UdpSocket>,
) -> Running {
    let mut node = Node::over_udp(udp, Crier::new(config.id.0, config.peers.len() as u32), config);
    if let Some(socket) = socket {
        node = node.socket(socket);
    }
    let (handle, notices) = node.start().await.expect("it starts");
    let events = handle.events();
    (handle, notices, events)
}

/// Multicast on loopback, to an address of its own.
pub(crate) fn cast(peers: &[String]) -> Udp {
    Udp { cast: Cast::Multicast(Multicast::of(peers)), ..Udp::default() }
}

/// A group of so many, all met.
pub(crate) async fn group(
    nodes: u32,
    udp: impl Fn(&[String]) -> Udp,
) -> (Vec<Running>, Vec<String>) {
    let (sockets, peers) = bind_loopback(nodes).unwrap();
    let mut running = Vec::new();
    for (id, socket) in (0..).zip(sockets) {
        running.push(start(udp(&peers), config(id, &peers), Some(socket)).await);
    }
    for (handle, ..) in &running {
        soon("the start", handle.started()).await.unwrap();
    }
    (running, peers)
}

pub(crate) async fn heard(node: &mut Running) -> Heard {
    soon("a cry", node.1.recv()).await.expect("the node runs")
}

/// Each says something to each, and each hears it once.
pub(crate) async fn talk(nodes: &mut [Running]) {
    for from in 0..nodes.len() {
        let word = format!("from {from}").into_bytes();
        nodes[from].0.command(Order::All(word.clone())).await.unwrap();
        for (to, node) in nodes.iter_mut().enumerate() {
            if to != from {
                assert_eq!(heard(node).await, (NodeId(from as u32), word.clone()), "{to}");
            }
        }
    }
    for node in nodes {
        assert!(node.1.try_recv().is_err(), "once is enough");
    }
}

/// Hears what is sent to a multicast group, as a member's second socket does.
pub(crate) fn listen_to(group: SocketAddrV4) -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.bind(&SocketAddr::V4(group).into()).unwrap();
    socket.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST).unwrap();
    UdpSocket::from_std(socket.into()).unwrap()
}

/// A socket that speaks as a member.
pub(crate) struct Puppet {
    pub(crate) socket: UdpSocket,
    pub(crate) id: NodeId,
    pub(crate) incarnation: u64,
    /// What the node under test said, once it has said hello.
    pub(crate) digest: u64,
    pub(crate) its_life: u64,
    /// Whether it says that it hears multicasts.
    pub(crate) hears: bool,
    /// What was said to it.
    pub(crate) last: Option<Greeting>,
}

impl Puppet {
    /// One at this socket.
    pub(crate) fn new(id: u32, socket: std::net::UdpSocket) -> Self {
        socket.set_nonblocking(true).unwrap();
        let socket = UdpSocket::from_std(socket).unwrap();
        SockRef::from(&socket).set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
        Self {
            socket,
            id: NodeId(id),
            incarnation: 77,
            digest: 0,
            its_life: 0,
            hears: true,
            last: None,
        }
    }

    /// The next frame that comes.
    pub(crate) async fn hear<T>(&self, look: impl FnOnce(Frame<Body<'_>>) -> T) -> T {
        let mut room = [0; MAX_DATAGRAM + 1];
        let (length, _) = soon("a datagram", self.socket.recv_from(&mut room)).await.unwrap();
        look(datagram::decode(&room[..length]).unwrap())
    }

    /// Waits for a hello of the node, and says what it said, turned around.
    pub(crate) async fn wait_for_hello(&mut self) -> Greeting {
        loop {
            let said = self.hear(|frame| match frame.body {
                Body::Hello(greeting) => Some((frame.digest, frame.incarnation, *greeting)),
                _ => None,
            });
            if let Some((digest, incarnation, greeting)) = said.await {
                (self.digest, self.its_life) = (digest, incarnation);
                let (here, there) = (greeting.there.clone(), greeting.here.clone());
                let hears = greeting.hears.map(|_| self.hears);
                return Greeting {
                    here,
                    there,
                    hears,
                    knows: Some(incarnation),
                    is_answer: true,
                    ..greeting
                };
            }
        }
    }

    pub(crate) fn frame<'a>(&self, to: Option<u32>, body: Body<'a>) -> Frame<Body<'a>> {
        let (digest, from, incarnation) = (self.digest, self.id, self.incarnation);
        Frame { digest, from, to: to.map(NodeId), incarnation, body }
    }

    pub(crate) async fn send(&self, to: impl Into<SocketAddr>, frame: &Frame<Body<'_>>) {
        let mut bytes = Vec::new();
        datagram::encode(frame, &mut bytes).unwrap();
        self.socket.send_to(&bytes, to.into()).await.unwrap();
    }

    /// Answers node 0 until it has started.
    pub(crate) async fn meet(&mut self, at: SocketAddr, node: &Handle<Order>) {
        let answering = async {
            loop {
                let greeting = self.wait_for_hello().await;
                self.last = Some(greeting.clone());
                self.send(at, &self.frame(Some(0), Body::Hello(Box::new(greeting)))).await;
            }
        };
        tokio::select! {
            () = answering => {}
            started = soon("the start", node.started()) => started.unwrap(),
        }
    }

    /// Says hello once more to node 0, and hears that it is refused.
    pub(crate) async fn meet_again(&mut self, at: SocketAddr) -> Refusal {
        let greeting = Greeting { is_answer: false, ..self.last.clone().expect("it has met") };
        self.send(at, &self.frame(Some(0), Body::Hello(Box::new(greeting)))).await;
        loop {
            let refusal = self.hear(|frame| match frame.body {
                Body::Refuse(refuse) => Some(refuse.why),
                _ => None,
            });
            if let Some(why) = refusal.await {
                return why;
            }
        }
    }
}
