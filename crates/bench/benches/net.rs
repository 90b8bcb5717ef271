//! Ricart–Agrawala between three nodes on loopback, under contention, beside bare TCP.
//!
//! Every node asks, leaves as soon as it is in, and asks again. Since nobody stays inside and
//! somebody always waits, the time for one entry *is* the time of a hand-over: from one exit to the
//! next entry. A bare hop is half a round trip of one byte between two tokio tasks with no delay,
//! on the same runtime, in the same run: the least that any message can cost.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_net::{Application, ApplicationEffects, Config, cluster_on_loopback};
use vorrang_protocol::Group;

const NODES: u32 = 3;
const REPETITIONS: usize = 7;
const TARGET_PER_S: f64 = 20_000.0;
const TARGET_RATIO: f64 = 3.0;

fn main() {
    // `cargo test --benches` passes no such flag: then once and short is enough.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (entries, hops) = if is_bench {
        (20_000, 20_000)
    } else {
        (200, 200)
    };
    let repetitions = if is_bench { REPETITIONS } else { 1 };
    println!(
        "ricart-agrawala, {NODES} nodes on loopback, {entries} entries a node under contention"
    );
    let one_thread = Builder::new_current_thread().enable_all().build();
    measure(
        "one thread",
        &one_thread.expect("a runtime"),
        entries,
        hops,
        repetitions,
    );
    let two_threads = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    measure(
        "two threads",
        &two_threads.expect("a runtime"),
        entries,
        hops,
        repetitions,
    );
}

fn measure(name: &str, runtime: &Runtime, entries: u32, hops: u32, repetitions: usize) {
    runtime.block_on(contend(entries / 4));
    runtime.block_on(ping_pong(hops / 4));
    let mut hand_overs = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..repetitions {
        hand_overs.push(runtime.block_on(contend(entries)));
        bare.push(runtime.block_on(ping_pong(hops)));
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
}

fn summary(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[0])
}

/// Asks, leaves, and asks again, so many times.
struct Contender {
    left: u32,
    done: mpsc::UnboundedSender<Instant>,
}

impl Application<RicartAgrawala> for Contender {
    fn on_start(&mut self, fx: &mut ApplicationEffects<RicartAgrawala>) {
        let _ = self.done.send(Instant::now());
        fx.command(Command::Acquire(Claim::Exclusive));
    }

    fn on_notice(&mut self, Notice::Entered: Notice, fx: &mut ApplicationEffects<RicartAgrawala>) {
        fx.command(Command::Release);
        self.left -= 1;
        if self.left > 0 {
            fx.command(Command::Acquire(Claim::Exclusive));
        } else {
            let _ = self.done.send(Instant::now());
        }
    }
}

/// The mean time of one entry.
async fn contend(entries: u32) -> Duration {
    let (done, mut moments) = mpsc::unbounded_channel();
    let group = Group::of(NODES);
    let config = Config::new(vorrang_protocol::NodeId(0), Vec::new(), "ricart-agrawala");
    let nodes = cluster_on_loopback(
        NODES,
        &config,
        |id| RicartAgrawala::new(id, group),
        |_| Contender {
            left: entries,
            done: done.clone(),
        },
        None,
    )
    .await
    .expect("free ports on loopback");
    let mut seen = Vec::new();
    while seen.len() < 2 * NODES as usize {
        seen.push(moments.recv().await.expect("all nodes run to their end"));
    }
    let elapsed = seen
        .iter()
        .max()
        .unwrap()
        .duration_since(*seen.iter().min().unwrap());
    for node in nodes {
        node.kill().await;
    }
    elapsed / (entries * NODES)
}

/// The mean time of one hop.
async fn ping_pong(hops: u32) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let echo = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            stream.write_all(&byte).await.expect("an echo");
        }
    });
    // In a task of its own, like the echo: a runtime treats its main future differently.
    let caller = tokio::spawn(async move {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let mut byte = [0];
        let start = Instant::now();
        for _ in 0..hops / 2 {
            stream.write_all(&byte).await.expect("a call");
            stream.read_exact(&mut byte).await.expect("an echo");
        }
        start.elapsed()
    });
    let elapsed = caller.await.expect("the caller");
    echo.await.expect("the echo");
    elapsed / hops
}
