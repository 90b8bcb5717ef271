//! Somebody in the middle who records what is said, and says it again.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::support::{Keys, config, places, soon, start};

/// What went over connections in one direction.
type Recording = Arc<Mutex<Vec<u8>>>;

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, into: Recording) {
    let mut bytes = [0; 4096];
    while let Ok(len) = from.read(&mut bytes).await {
        into.lock().unwrap().extend_from_slice(&bytes[..len]);
        if len == 0 || to.write_all(&bytes[..len]).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn what_was_recorded_is_worth_nothing() {
    let keys = Keys::new();
    let (mut listeners, addresses) = places(3).await;
    let (front, back, own) = (listeners.remove(0), listeners.remove(0), listeners.remove(0));
    let peers = vec![addresses[0].clone(), addresses[2].clone()];
    let behind = addresses[1].clone();
    let (there, here) = (Recording::default(), Recording::default());
    let (said, answered) = (Arc::clone(&there), Arc::clone(&here));
    let target = behind.clone();
    let middle = tokio::spawn(async move {
        let (caller, _) = front.accept().await.unwrap();
        let behind_it = TcpStream::connect(&target).await.unwrap();
        let ((from, to), (from_behind, to_behind)) = (caller.into_split(), behind_it.into_split());
        tokio::spawn(carry(from_behind, to, answered));
        carry(from, to_behind, said).await;
        front
    });
    let mut zero = start(&keys.member(0, &peers), back, config(0, &peers)).await;
    let mut one = start(&keys.member(1, &peers), own, config(1, &peers)).await;
    for node in [&mut zero, &mut one] {
        soon("the start", node.handle.started()).await.unwrap();
        node.take_turn().await;
    }

    // All that node 1 has said, once more.
    let recorded = there.lock().unwrap().clone();
    assert!(recorded.len() > 500, "a handshake, a hello and messages: {}", recorded.len());
    let mut again = TcpStream::connect(&behind).await.unwrap();
    again.write_all(&recorded).await.unwrap();
    let mut rest = Vec::new();
    let _ = soon("the end", again.read_to_end(&mut rest)).await;
    zero.event(&["closed a connection", "was recorded elsewhere"]).await;
    assert_eq!(zero.connections(1).await, 1, "the real one has not noticed");
    zero.take_turn().await;
    one.take_turn().await;

    // All that node 0 has answered, once more: to node 1, which calls again.
    let recorded = here.lock().unwrap().clone();
    zero.handle.kill().await;
    let front = soon("the end of the connection", middle).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut caller, _)) = front.accept().await {
            let _ = caller.write_all(&recorded).await;
            let mut rest = Vec::new();
            let _ = caller.read_to_end(&mut rest).await;
        }
    });
    one.event(&["waiting for node 0", "was recorded elsewhere"]).await;
    assert_eq!(one.connections(0).await, 1);
}
