//! Connections of which the network has forgotten one direction, or both: no end, no error,
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use vorrang_net::wire::Frame;
use vorrang_net::{Config, Timing, bind_loopback};
use vorrang_protocol::Never;

use crate::support::{Running, bytes, config, event, hello, soon, start, take_turn};

/// Stands between the dialler and the one that it dials. What is under way when it is told so is
/// swallowed for ever; connections made later are fine.
struct Middle {
    /// Swallows what goes to the one who listens, and what comes from it.
    forgets: [Arc<AtomicBool>; 2],
}

impl Middle {
    fn between(front: TcpListener, back: String) -> Self {
        let forgets = [Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false))];
        let [there, here] = forgets.clone();
        tokio::spawn(async move {
            loop {
                let (dialler, _) = front.accept().await.unwrap();
                let (from, to) = dialler.into_split();
                let listener = TcpStream::connect(&back).await.unwrap();
                let (from_back, to_back) = listener.into_split();
                tokio::spawn(carry(from, to_back, Arc::clone(&there)));
                tokio::spawn(carry(from_back, to, Arc::clone(&here)));
            }
        });
        Self { forgets }
    }

    /// Makes the present connections forget, and not those that follow.
    async fn forget(&self, there: bool, here: bool) {
        for (forgets, is_meant) in self.forgets.iter().zip([there, here]) {
            forgets.store(is_meant, Ordering::Relaxed);
        }
        // Long enough for a heartbeat to be swallowed in each direction.
        tokio::time::sleep(HEARTBEAT * 3).await;
        for forgets in &self.forgets {
            forgets.store(false, Ordering::Relaxed);
        }
    }
}

/// Carries bytes until it swallows some: from then on, all, and the ends, too.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, forgets: Arc<AtomicBool>) {
    let mut bytes = [0; 4096];
    let mut has_forgotten = false;
    while let Ok(len) = from.read(&mut bytes).await {
        has_forgotten |= forgets.load(Ordering::Relaxed);
        if len == 0 {
            break;
        }
        if !has_forgotten && to.write_all(&bytes[..len]).await.is_err() {
            break;
        }
    }
    if has_forgotten {
        std::future::pending::<()>().await;
    }
}

const HEARTBEAT: Duration = Duration::from_millis(40);

fn watchful(id: u32, peers: &[String]) -> Config {
    let config = config(id, peers);
    let timing = Timing { heartbeat: HEARTBEAT, give_up: HEARTBEAT * 5, ..config.timing };
    Config { timing, ..config }
}

/// Node 1 dials node 0 through somebody in the middle.
async fn pair() -> ([Running; 2], Middle) {
    let bind = || TcpListener::bind("127.0.0.1:0");
    let (front, back, own) = (bind().await.unwrap(), bind().await.unwrap(), bind().await.unwrap());
    let address = |it: &TcpListener| it.local_addr().unwrap().to_string();
    let peers = vec![address(&front), address(&own)];
    let middle = Middle::between(front, address(&back));
    let zero = start(watchful(0, &peers), Some(back)).await;
    let one = start(watchful(1, &peers), Some(own)).await;
    for node in [&zero, &one] {
        soon("the start", node.0.started()).await.unwrap();
    }
    ([zero, one], middle)
}

#[tokio::test]
async fn a_connection_that_swallows_one_direction_or_both_is_made_anew_and_nothing_is_lost() {
    for (there, here) in [(true, true), (true, false), (false, true)] {
        let (mut nodes, middle) = pair().await;
        take_turn(&mut nodes[0]).await;
        middle.forget(there, here).await;
        // Both are idle: nothing but the silence tells them.
        let [zero, one] = &mut nodes;
        event(&mut one.2, &["lost the connection with node 0"]).await;
        event(&mut zero.2, &["lost the connection with node 1"]).await;
        for _ in 0..3 {
            take_turn(zero).await;
            take_turn(one).await;
        }
        let link = one.0.status().await.unwrap().links.remove(0);
        assert_eq!(link.connections, 2, "once is enough ({there}, {here})");
    }
}

#[tokio::test]
async fn an_idle_connection_is_left_alone() {
    let (mut nodes, _middle) = pair().await;
    tokio::time::sleep(HEARTBEAT * 20).await;
    for node in &mut nodes {
        take_turn(node).await;
        assert_eq!(node.0.status().await.unwrap().links[0].connections, 1);
    }
}

/// More heartbeats than a node that has not begun would keep unread.
#[tokio::test]
async fn heartbeats_are_heard_by_one_that_waits_for_others() {
    let (mut listeners, mut peers) = bind_loopback(2).await.unwrap();
    peers.push("127.0.0.1:1".to_owned());
    let mut node = start(watchful(0, &peers), Some(listeners.remove(0))).await;
    let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
    let words = bytes::<Never>(&Frame::Hello(hello(1, 0, &peers)));
    stream.write_all(&words).await.unwrap();
    event(&mut node.2, &["connected with node 1"]).await;
    let beats = bytes::<Never>(&Frame::Ack { received: 0 }).repeat(10_000);
    for _ in 0..20 {
        stream.write_all(&beats).await.unwrap();
    }
    // All of them were read: that it goes is noticed, and its place is free.
    drop(stream);
    event(&mut node.2, &["lost the connection with node 1"]).await;
}
