//! Rounds of one message to all and an answer of each, over TCP, over UDP with a datagram to each,
//! and over UDP with one multicast to all.
//!
//! A round is an entry of Ricart–Agrawala at one node while nobody else asks: a request to all
//! others, a reply of each. All nodes are on one thread, so that a round costs what its messages
//! cost and no switch between threads. Nothing is lost here: on loopback a datagram is, only if a
//! socket's buffer overflows.

use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_net::{
    Application, ApplicationEffects, Cast, Config, Handle, Multicast, Node, Udp, bind_loopback, udp,
};
use vorrang_protocol::{Group, NodeId};

const REPETITIONS: usize = 5;

fn main() {
    // `cargo test --benches` passes no such flag: then once and short is enough.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, repetitions) = if is_bench { (5_000, REPETITIONS) } else { (50, 1) };
    for nodes in [2, 4, 16] {
        measure(nodes, rounds, repetitions);
    }
}

/// What carries the messages.
#[derive(Clone, Copy)]
enum Over {
    Tcp,
    UdpToEach,
    UdpMulticast,
}

fn measure(nodes: u32, rounds: u32, repetitions: usize) {
    println!("\n{nodes} nodes on one thread, {rounds} rounds (median of {repetitions}, best)");
    let mut tcp = None;
    let all = [
        ("TCP", Over::Tcp),
        ("UDP, to each", Over::UdpToEach),
        ("UDP multicast", Over::UdpMulticast),
    ];
    for (name, over) in all {
        time_of_a_round(over, nodes, rounds / 4);
        let mut times: Vec<Duration> =
            (0..repetitions).map(|_| time_of_a_round(over, nodes, rounds)).collect();
        times.sort();
        let (median, best) = (times[repetitions / 2], times[0]);
        let reference = *tcp.get_or_insert(median);
        let messages = f64::from(2 * (nodes - 1)) / median.as_secs_f64();
        println!(
            "  {name:<14} {median:>9.2?} a round {best:>9.2?}  {messages:>9.0} messages/s  \
             TCP takes {:.2} times as long",
            reference.as_secs_f64() / median.as_secs_f64()
        );
    }
}

/// Enters so many times; the others only answer.
struct Asker {
    left: u32,
    moments: mpsc::UnboundedSender<Instant>,
}

impl Application for Asker {
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Command>) {
        let _ = self.moments.send(Instant::now());
        if self.left > 0 {
            fx.command(Command::Acquire(Claim::Exclusive));
        }
    }

    fn on_notice(&mut self, _: Notice, fx: &mut ApplicationEffects<Command>) {
        fx.command(Command::Release);
        self.left -= 1;
        if self.left > 0 {
            fx.command(Command::Acquire(Claim::Exclusive));
        } else {
            let _ = self.moments.send(Instant::now());
        }
    }
}

fn time_of_a_round(over: Over, nodes: u32, rounds: u32) -> Duration {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (mut started, mut asker) = (Vec::new(), None);
        let (listeners, sockets, peers) = match over {
            Over::Tcp => {
                let (listeners, peers) = bind_loopback(nodes).await.expect("free ports");
                (listeners, Vec::new(), peers)
            }
            Over::UdpToEach | Over::UdpMulticast => {
                let (sockets, peers) = udp::bind_loopback(nodes).expect("free ports");
                (Vec::new(), sockets, peers)
            }
        };
        let (mut listeners, mut sockets) = (listeners.into_iter(), sockets.into_iter());
        for id in (0..nodes).map(NodeId) {
            let (moments, seen) = mpsc::unbounded_channel();
            let left = if id == NodeId(0) { rounds } else { 0 };
            let place = (listeners.next(), sockets.next());
            started.push(start(over, (id, &peers), place, Asker { left, moments }).await);
            asker = asker.or(Some(seen));
        }
        let mut asker = asker.expect("a node");
        let first = asker.recv().await.expect("a start");
        let last = asker.recv().await.expect("an end");
        for node in started {
            node.kill().await;
        }
        last.duration_since(first) / rounds.max(1)
    })
}

async fn start(
    over: Over,
    (id, peers): (NodeId, &[String]),
    (listener, socket): (Option<TcpListener>, Option<std::net::UdpSocket>),
    asker: Asker,
) -> Handle<Command> {
    let machine = RicartAgrawala::new(id, Group::of(peers.len() as u32));
    let config = Config::new(id, peers.to_vec(), "ricart-agrawala");
    let cast = match over {
        Over::Tcp => {
            let node = Node::new(machine, config).listener(listener.expect("a listener"));
            return node.start_with(asker).await.expect("it starts");
        }
        Over::UdpToEach => Cast::Unicast,
        Over::UdpMulticast => Cast::Multicast(Multicast::of(peers)),
    };
    let node = Node::over_udp(Udp { cast, ..Udp::default() }, machine, config);
    node.socket(socket.expect("a socket")).start_with(asker).await.expect("it starts")
}
