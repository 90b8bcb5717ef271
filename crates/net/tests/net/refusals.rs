//! Who is not let in, and what both sides say about it.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vorrang_net::hello::{Hello, Refusal};
use vorrang_net::wire::{self, Frame};
use vorrang_net::{Config, LinkState, bind_loopback};
use vorrang_protocol::{Never, NodeId};

use crate::support::{Running, config, event, soon, start};

/// Two nodes whose settings differ: node 1 dials node 0.
async fn two(change: impl FnOnce(&mut Config)) -> (Running, Running) {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut odd = config(1, &peers);
    change(&mut odd);
    let dialler = start(odd, Some(listeners.remove(1))).await;
    let listener = start(config(0, &peers), Some(listeners.remove(0))).await;
    (listener, dialler)
}

async fn assert_refused((mut left, mut right): (Running, Running), here: &str, there: &str) {
    let ours = event(&mut left.2, &["we refused node 1 at 127.0.0.1:"]).await;
    assert!(ours.ends_with(here), "{ours}");
    let theirs = event(&mut right.2, &["node 0 refused us: "]).await;
    assert!(theirs.ends_with(there), "{theirs}");
    let link = right.0.status().await.unwrap().links.remove(0);
    let LinkState::Refused(why) = &link.state else {
        panic!("{:?}", link.state);
    };
    assert!(why.ends_with(there), "{why}");
}

#[tokio::test]
async fn another_group_is_refused() {
    assert_refused(
        two(|config| config.group = "blue".into()).await,
        ": it belongs to group blue, we belong to group default",
        ": it belongs to group default, we belong to group blue",
    )
    .await;
}

#[tokio::test]
async fn another_algorithm_is_refused() {
    assert_refused(
        two(|config| config.algorithm = "lamport".into()).await,
        ": it runs lamport, we run ricart-agrawala",
        ": it runs ricart-agrawala, we run lamport",
    )
    .await;
}

#[tokio::test]
async fn a_group_of_another_size_is_refused() {
    assert_refused(
        two(|config| config.peers.push("127.0.0.1:1".into())).await,
        ": it belongs to a group of 3, we belong to a group of 2",
        ": it belongs to a group of 2, we belong to a group of 3",
    )
    .await;
}

#[tokio::test]
async fn a_wrong_address_is_noticed_by_the_wrong_node() {
    let (mut listeners, mut peers) = bind_loopback(3).await.unwrap();
    let mut second = start(config(1, &peers), Some(listeners.remove(1))).await;
    // Node 2 takes the address of node 1 for that of node 0.
    peers[0] = peers[1].clone();
    let mut third = start(config(2, &peers), Some(listeners.remove(1))).await;
    let here = event(&mut second.2, &["we refused node 2 at"]).await;
    assert!(here.ends_with(": it looks for node 0, we are node 1"), "{here}");
    let there = event(&mut third.2, &["node 0 refused us"]).await;
    assert!(there.ends_with(": it is node 1, we look for node 0"), "{there}");
}

fn hello(sender: u32, target: u32, nodes: u32) -> Hello {
    Hello {
        group: "default".into(),
        algorithm: "ricart-agrawala".into(),
        nodes,
        sender: NodeId(sender),
        target: NodeId(target),
        incarnation: 1,
        knows: None,
        received: 0,
        attempt: 1,
    }
}

fn bytes(frame: &Frame<Never>) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::encode(frame, &mut bytes).unwrap();
    bytes
}

async fn answer(stream: &mut TcpStream) -> Frame<Never> {
    let mut read = Vec::new();
    loop {
        if let Some((frame, _)) = wire::decode(&read).unwrap() {
            return frame;
        }
        let more = soon("an answer", stream.read_buf(&mut read)).await.unwrap();
        assert!(more > 0, "closed without an answer");
    }
}

#[tokio::test]
async fn an_impossible_sender_is_refused() {
    let (mut listeners, peers) = bind_loopback(3).await.unwrap();
    let mut node = start(config(1, &peers), Some(listeners.remove(1))).await;
    for claimed in [7, 1, 0] {
        let mut stream = TcpStream::connect(&peers[1]).await.unwrap();
        let hello = bytes(&Frame::Hello(hello(claimed, 1, 3)));
        stream.write_all(&hello).await.unwrap();
        let refused = Refusal::Sender { claimed: NodeId(claimed), refuser: NodeId(1) };
        assert_eq!(answer(&mut stream).await, Frame::Refuse(refused));
        let sentence = event(&mut node.2, &["we refused"]).await;
        let words = format!("it says it is node {claimed}, which we, node 1, do not expect");
        assert!(sentence.ends_with(&words), "{sentence}");
    }
}

#[tokio::test]
async fn another_version_that_dials_is_refused_and_told_ours() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut node = start(config(0, &peers), Some(listeners.remove(0))).await;
    let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
    let mut foreign = bytes(&Frame::Hello(hello(1, 0, 2)));
    foreign[2] = 9;
    stream.write_all(&foreign).await.unwrap();
    let sentence = event(&mut node.2, &["we refused 127.0.0.1:"]).await;
    assert!(sentence.ends_with(": it speaks version 9, we speak version 1"), "{sentence}");
    let mut header = [0; 3];
    soon("an answer", stream.read_exact(&mut header)).await.unwrap();
    assert_eq!(header, *b"VR\x01");
}

#[tokio::test]
async fn another_version_that_is_dialled_refuses_us() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let foreign: TcpListener = listeners.remove(0);
    let mut node = start(config(1, &peers), Some(listeners.remove(0))).await;
    let (mut stream, _) = soon("a call", foreign.accept()).await.unwrap();
    stream.write_all(b"VR\x02 whatever its frames look like").await.unwrap();
    let sentence = event(&mut node.2, &["node 0 refused us"]).await;
    assert!(sentence.ends_with(": it speaks version 2, we speak version 1"), "{sentence}");
}

#[tokio::test]
async fn corrected_settings_are_let_in() {
    let (mut first, mut second) = two(|config| config.algorithm = "lamport".into()).await;
    event(&mut first.2, &["we refused"]).await;
    event(&mut second.2, &["refused us"]).await;
    let peers = vec![
        second.0.status().await.unwrap().links.remove(0).address,
        first.0.status().await.unwrap().links.remove(0).address,
    ];
    second.0.kill().await;
    let second = start(config(1, &peers), None).await;
    soon("the start", first.0.started()).await.unwrap();
    soon("the start", second.0.started()).await.unwrap();
}
