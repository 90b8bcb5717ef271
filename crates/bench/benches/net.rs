//! Ricart–Agrawala between three nodes on loopback, under contention, beside bare TCP.
//!
//! Every node asks, leaves as soon as it is in, and asks again. Since nobody stays inside and
//! somebody always waits, the time for one entry *is* the time of a hand-over: from one exit to the
//! next entry. A bare hop is half a round trip of one byte between two tokio tasks with no delay,
//! on the same runtime, in the same run: the least that any message can cost.
//!
//! The same on views, in the same run: as a machine in a fixed group, and as `vorrang node
//! --on-views` has it, in an open group and with messages that are bytes.

use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, mpsc};
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::locks::{NodeFactory, on_views, without_memory};
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_net::{Application, ApplicationEffects, Config, Generation, Node, OpaqueNode, Open};
use vorrang_protocol::{Group, NodeId};

const NODES: u32 = 3;
const REPETITIONS: usize = 7;
const TARGET_PER_S: f64 = 20_000.0;
const TARGET_RATIO: f64 = 3.0;
/// How much longer a hand-over may take on views.
const TARGET_ON_VIEWS: f64 = 1.1;

fn main() {
    // `cargo test --benches` passes no such flag: then once and short is enough.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (entries, repetitions) = if is_bench { (20_000, REPETITIONS) } else { (200, 1) };
    println!(
        "ricart-agrawala, {NODES} nodes on loopback, {entries} entries a node, all contending"
    );
    let one = Builder::new_current_thread().enable_all().build();
    let two = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let (one, two) = (one.expect("a runtime"), two.expect("a runtime"));
    let layouts = [
        ("all nodes on one thread", Layout::Together(&one)),
        ("all nodes on a pool of two threads", Layout::Together(&two)),
        ("a thread and a runtime for each node, as between processes", Layout::Apart),
    ];
    for (name, layout) in layouts {
        measure(name, &layout, entries, repetitions);
    }
}

/// Where the nodes run, and the two ends of the bare connection.
enum Layout<'a> {
    Together(&'a Runtime),
    Apart,
}

impl Layout<'_> {
    /// Runs all `parts` to their ends.
    fn run<T: Send + 'static>(
        &self,
        parts: Vec<impl Future<Output = T> + Send + 'static>,
    ) -> Vec<T> {
        match self {
            // Each in a task of its own: a runtime treats its main future differently.
            Self::Together(runtime) => runtime.block_on(async {
                let tasks: Vec<_> = parts.into_iter().map(tokio::spawn).collect();
                let mut ends = Vec::new();
                for task in tasks {
                    ends.push(task.await.expect("it runs to its end"));
                }
                ends
            }),
            Self::Apart => {
                let start = |part| {
                    thread::spawn(move || {
                        let runtime = Builder::new_current_thread().enable_all().build();
                        let runtime = runtime.expect("a runtime");
                        let task = runtime.spawn(part);
                        runtime.block_on(task).expect("it runs to its end")
                    })
                };
                let threads: Vec<_> = parts.into_iter().map(start).collect();
                let ends = threads.into_iter().map(thread::JoinHandle::join);
                ends.map(|end| end.expect("it runs to its end")).collect()
            }
        }
    }
}

fn measure(name: &str, layout: &Layout<'_>, entries: u32, repetitions: usize) {
    contend(layout, entries / 4);
    ping_pong(layout, entries / 4);
    let mut hand_overs = Vec::new();
    let mut bare = Vec::new();
    let (mut on_views, mut in_full) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        hand_overs.push(contend(layout, entries));
        on_views.push(contend_with(layout, entries, fixed_on_views));
        in_full.push(contend_with(layout, entries, open_on_views));
        bare.push(ping_pong(layout, entries));
    }
    let (hand_over, best) = summary(&mut hand_overs);
    let (hop, best_hop) = summary(&mut bare);
    let per_s = 1.0 / hand_over.as_secs_f64();
    let ratio = hand_over.as_secs_f64() / hop.as_secs_f64();
    let verdict = |is_met| if is_met { "met" } else { "missed" };
    println!("\n{name} (median of {repetitions}, best)");
    println!(
        "  critical sections  {per_s:>9.0} /s  {:>9.0} /s   target {TARGET_PER_S} /s: {}",
        1.0 / best.as_secs_f64(),
        verdict(per_s >= TARGET_PER_S)
    );
    println!("  hand-over          {hand_over:>9.2?}     {best:>9.2?}");
    println!("  bare TCP hop       {hop:>9.2?}     {best_hop:>9.2?}");
    println!(
        "  ratio              {ratio:>9.2}     {:>9.2}      target {TARGET_RATIO}: {}",
        best.as_secs_f64() / best_hop.as_secs_f64(),
        verdict(ratio <= TARGET_RATIO)
    );
    for (name, times) in
        [("on views         ", &mut on_views), ("as a node on views", &mut in_full)]
    {
        let (time, best_time) = summary(times);
        let ratio = time.as_secs_f64() / hand_over.as_secs_f64();
        println!(
            "  {name:<18} {time:>9.2?}     {best_time:>9.2?}      {ratio:.2} times as long, target \
             {TARGET_ON_VIEWS}: {}",
            verdict(ratio <= TARGET_ON_VIEWS)
        );
    }
}

fn summary(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[0])
}

/// Asks, leaves, and asks again, so many times.
struct Contender {
    left: u32,
    /// Whether it has entered: before, groups may have to be founded.
    has_begun: bool,
    moments: mpsc::UnboundedSender<Instant>,
}

impl Application for Contender {
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Command>) {
        fx.command(Command::Acquire(Claim::Exclusive));
    }

    fn on_notice(&mut self, notice: Notice, fx: &mut ApplicationEffects<Command>) {
        if !notice.is_entry() {
            return;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            let _ = self.moments.send(Instant::now());
        }
        fx.command(Command::Release);
        self.left -= 1;
        if self.left > 0 {
            fx.command(Command::Acquire(Claim::Exclusive));
        } else {
            let _ = self.moments.send(Instant::now());
        }
    }
}

/// The mean time of one entry.
fn contend(layout: &Layout<'_>, entries: u32) -> Duration {
    contend_with(layout, entries, |id, config| {
        Node::new(RicartAgrawala::new(id, Group::of(NODES)), config)
    })
}

/// A pace at which nobody is suspected, however busy the machine is.
fn setup() -> Setup {
    let (beat, margin) = (Duration::from_millis(200), Duration::from_secs(10));
    Setup { beat, margin, ..Setup::new(Group::of(NODES)) }
}

fn fixed_on_views(id: NodeId, config: Config) -> Node<Command, Notice> {
    let founders: Vec<NodeId> = (0..NODES).map(NodeId).collect();
    let anew = NodeFactory::new(RicartAgrawala::new);
    Node::new(on_views(id, &setup(), &founders, anew, None), config)
}

fn open_on_views(id: NodeId, config: Config) -> Node<Command, Notice> {
    let generation = Generation::now();
    let founders: Vec<NodeId> = (0..NODES).map(NodeId).collect();
    let founding = Some(Founding { view: generation.number() / 1000, founders, patience: 0 });
    let anew = NodeFactory::new(|me, group: Group| {
        OpaqueNode::new(RicartAgrawala::new(me, group), group.size())
    });
    let machine = without_memory(id, &setup(), (generation.number(), founding), anew, None);
    Node::new(machine, config.open(Open::new(generation, NODES)))
}

/// The same with nodes that are made so.
fn contend_with(
    layout: &Layout<'_>,
    entries: u32,
    make: fn(NodeId, Config) -> Node<Command, Notice>,
) -> Duration {
    let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listeners: Vec<TcpListener> = (0..NODES).map(bind).collect();
    let address = |listener: &TcpListener| listener.local_addr().expect("an address").to_string();
    let peers: Vec<String> = listeners.iter().map(address).collect();
    let all_done = Arc::new(Barrier::new(NODES as usize));
    let nodes = (0..).map(NodeId).zip(listeners);
    let parts = nodes.map(|(id, listener)| {
        let config = Config::new(id, peers.clone(), "ricart-agrawala");
        let all_done = Arc::clone(&all_done);
        async move {
            listener.set_nonblocking(true).expect("a socket option");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            let (moments, mut seen) = mpsc::unbounded_channel();
            let left = entries;
            let node = make(id, config)
                .listener(listener)
                .start_with(Contender { left, has_begun: false, moments })
                .await
                .expect("it starts");
            let start = seen.recv().await.expect("a start");
            let end = seen.recv().await.expect("an end");
            // The others still need our replies.
            all_done.wait().await;
            node.kill().await;
            (start, end)
        }
    });
    let spans = layout.run(parts.collect());
    let first = spans.iter().map(|&(start, _)| start).min().expect("a node");
    let last = spans.iter().map(|&(_, end)| end).max().expect("a node");
    last.duration_since(first) / (entries * NODES)
}

/// The mean time of one hop of a bare connection.
fn ping_pong(layout: &Layout<'_>, hops: u32) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let end = |listener: Option<TcpListener>| async move {
        let caller = listener.is_none();
        let mut stream = match listener {
            None => TcpStream::connect(address).await.expect("a connection"),
            Some(listener) => {
                listener.set_nonblocking(true).expect("a socket option");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                listener.accept().await.expect("a connection").0
            }
        };
        stream.set_nodelay(true).expect("no delay");
        let mut byte = [0];
        if caller {
            stream.write_all(&byte).await.expect("a first call");
        }
        let start = Instant::now();
        for _ in 0..hops / 2 {
            stream.read_exact(&mut byte).await.expect("a hop");
            stream.write_all(&byte).await.expect("a hop");
        }
        start.elapsed()
    };
    let elapsed = layout.run(vec![end(Some(listener)), end(None)]);
    elapsed[1] / hops
}
