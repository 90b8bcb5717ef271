//! Many that begin a handshake and do not go on with it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;
use vorrang_net::Timing;

use super::support::{Keys, NAMES, config, places, soon, start};

/// How many strangers come first and stay for as long as they are let: more than there is room for.
const STAY: usize = 300;
/// How many of those who come later are there at a time.
const KEPT: usize = 200;

/// The beginning of a hello of TLS, of which the rest never comes.
const BEGINNING: [u8; 9] = [0x16, 3, 1, 1, 0, 1, 0, 0, 252];

/// Connects again and again from another address of this machine, where it has one, and says the
/// beginning of a handshake, until it is stopped.
async fn strangers(target: SocketAddr, made: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
    let mut kept = std::collections::VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        let socket = TcpSocket::new_v4().unwrap();
        let elsewhere: SocketAddr = "127.0.0.2:0".parse().unwrap();
        // Not all systems have more than one address here.
        let _ = socket.bind(elsewhere);
        if let Ok(mut stream) = socket.connect(target).await {
            let _ = stream.write_all(&BEGINNING).await;
            kept.push_back(stream);
            made.fetch_add(1, Ordering::Relaxed);
        }
        if kept.len() > STAY + KEPT {
            kept.remove(STAY);
        }
        tokio::task::yield_now().await;
    }
}

/// Passes connections on to `back`; they can be cut.
struct Middle {
    carriers: Arc<std::sync::Mutex<Vec<AbortHandle>>>,
}

impl Middle {
    fn between(front: TcpListener, back: String) -> Self {
        let carriers = Arc::new(std::sync::Mutex::new(Vec::new()));
        let made = Arc::clone(&carriers);
        tokio::spawn(async move {
            while let Ok((mut caller, _)) = front.accept().await {
                let back = back.clone();
                let carrier = tokio::spawn(async move {
                    let mut called = TcpStream::connect(&back).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut caller, &mut called).await;
                });
                made.lock().unwrap().push(carrier.abort_handle());
            }
        });
        Self { carriers }
    }

    fn cut(&self) {
        for carrier in self.carriers.lock().unwrap().drain(..) {
            carrier.abort();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_handshakes_keep_no_member_out_and_locks_are_handed_over() {
    let keys = Keys::new();
    let (mut listeners, mut peers) = places(NAMES.len()).await;
    // Others find node 0 behind somebody in the middle, who can cut its connections.
    let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = peers[0].clone();
    peers[0] = front.local_addr().unwrap().to_string();
    let middle = Middle::between(front, target.clone());
    let patient = |id| {
        let mut config = config(id, &peers);
        // Strangers do not go by themselves while this test runs.
        config.timing = Timing { hello: Duration::from_secs(600), ..config.timing };
        config
    };
    let mut nodes = Vec::new();
    for (id, listener) in (0..).zip(listeners.drain(..)) {
        nodes.push(start(&keys.member(id, &peers), listener, patient(id)).await);
    }
    for node in &nodes {
        soon("the start", node.handle.started()).await.unwrap();
    }

    let (made, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let target: SocketAddr = target.parse().unwrap();
    let flood = tokio::spawn(strangers(target, Arc::clone(&made), Arc::clone(&stop)));
    let reached = async |many: u64| {
        while made.load(Ordering::Relaxed) < many {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon("strangers", reached(STAY as u64 + 100)).await;
    for round in 1..=5 {
        middle.cut();
        for (peer, node) in [(2, 0), (1, 0), (0, 1), (0, 2)] {
            let back = async {
                while nodes[node].connections(peer).await <= round {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            soon("a member that comes back", back).await;
        }
        for node in &mut nodes {
            node.take_turn().await;
        }
        let more = made.load(Ordering::Relaxed) + 50;
        soon("more strangers", reached(more)).await;
    }
    stop.store(true, Ordering::Relaxed);
    soon("the end of the flood", flood).await.unwrap();
}
