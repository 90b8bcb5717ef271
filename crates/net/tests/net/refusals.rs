//! Who is not let in, and what both sides say about it.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vorrang_net::hello::Refusal;
use vorrang_net::wire::Frame;
use vorrang_net::{Config, LinkState, MAX_NAME_LEN, NetError, Node, bind_loopback};
use vorrang_protocol::{Never, NodeId};

use crate::support::{Running, answer, bytes, config, event, hello, machine, soon, start};

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
async fn another_setup_is_refused() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let set_up = |id, setup: &str| Config { setup: setup.to_owned(), ..config(id, &peers) };
    let dialler = start(set_up(1, "--nodes 2 --k 1"), Some(listeners.remove(1))).await;
    let listener = start(set_up(0, "--nodes 2 --k 2"), Some(listeners.remove(0))).await;
    assert_refused(
        (listener, dialler),
        ": it is set up with --nodes 2 --k 1, we are set up with --nodes 2 --k 2",
        ": it is set up with --nodes 2 --k 2, we are set up with --nodes 2 --k 1",
    )
    .await;
}

#[tokio::test]
async fn what_strangers_call_themselves_is_shown_without_its_effects() {
    assert_refused(
        two(|config| config.group = "\x1b[31mred\n".into()).await,
        r": it belongs to group \u{1b}[31mred\n, we belong to group default",
        r": it belongs to group default, we belong to group \u{1b}[31mred\n",
    )
    .await;
}

/// Node 0 dials nobody: it knows the list of the others from what they say.
#[tokio::test]
async fn another_list_of_peers_is_refused() {
    let mut places = Vec::new();
    let listed = two(|config| {
        places = config.peers.clone();
        config.peers[1] = "localhost:1".into();
    })
    .await;
    let here = &places[1];
    assert_refused(
        listed,
        &format!(": it expects node 1 at localhost:1, we expect node 1 at {here}"),
        &format!(": it expects node 1 at {here}, we expect node 1 at localhost:1"),
    )
    .await;
}

#[tokio::test]
async fn a_list_of_peers_in_another_order_is_refused_by_all() {
    let (mut listeners, peers) = bind_loopback(3).await.unwrap();
    let mut swapped = peers.clone();
    swapped.swap(0, 1);
    let mut third = start(config(2, &swapped), Some(listeners.remove(2))).await;
    let mut second = start(config(1, &peers), Some(listeners.remove(1))).await;
    let mut first = start(config(0, &peers), Some(listeners.remove(0))).await;
    let (ours, theirs) = (&peers[0], &peers[1]);
    for node in [&mut first, &mut second] {
        let here = event(&mut node.2, &["we refused node 2 at"]).await;
        let why = format!(": it expects node 0 at {theirs}, we expect node 0 at {ours}");
        assert!(here.ends_with(&why), "{here}");
        let link = node.0.status().await.unwrap().links.remove(1);
        assert!(matches!(link.state, LinkState::Refused(_)), "{}", link.state);
    }
    for refuser in ["node 0 refused us", "node 1 refused us"] {
        let there = event(&mut third.2, &[refuser]).await;
        let why = format!(": it expects node 0 at {ours}, we expect node 0 at {theirs}");
        assert!(there.ends_with(&why), "{there}");
    }
}

#[tokio::test]
async fn a_wrong_node_at_the_right_address_is_noticed() {
    let (mut listeners, peers) = bind_loopback(3).await.unwrap();
    // Node 1 listens where node 0 should.
    let mut second = start(config(1, &peers), Some(listeners.remove(0))).await;
    let mut third = start(config(2, &peers), Some(listeners.remove(1))).await;
    let here = event(&mut second.2, &["we refused node 2 at"]).await;
    assert!(here.ends_with(": it looks for node 0, we are node 1"), "{here}");
    let there = event(&mut third.2, &["node 0 refused us"]).await;
    assert!(there.ends_with(": it is node 1, we look for node 0"), "{there}");
}

/// The longest name of a host, and a port.
fn long_address(id: usize) -> String {
    let labels = [format!("{id:061}"), "a".repeat(63), "b".repeat(63), "c".repeat(63)];
    format!("{}:65535", labels.join("."))
}

#[tokio::test]
async fn a_list_of_128_long_names_fits_and_one_that_does_not_is_an_error_at_the_start() {
    let (mut listeners, own) = bind_loopback(1).await.unwrap();
    let mut peers: Vec<String> = (0..128).map(long_address).collect();
    assert_eq!(peers[0].len(), 253 + 6);
    let (setup, name) = ("s".repeat(1_000), "n".repeat(MAX_NAME_LEN));
    peers[0] = own[0].clone();
    let config = Config { setup, group: name.clone(), algorithm: name, ..config(0, &peers) };
    let listener = Some(listeners.remove(0));
    start(config.clone(), listener).await;

    let peers = (0..300).map(long_address).collect();
    let error = Node::new(machine(0, 300), Config { peers, ..config }).start().await.unwrap_err();
    assert!(matches!(error, NetError::HelloTooLong { .. }), "{error}");
    assert!(error.to_string().contains("use shorter addresses"), "{error}");
}

#[tokio::test]
async fn an_impossible_sender_is_refused() {
    let (mut listeners, peers) = bind_loopback(3).await.unwrap();
    let mut node = start(config(1, &peers), Some(listeners.remove(1))).await;
    for claimed in [7, 1, 0] {
        let mut stream = TcpStream::connect(&peers[1]).await.unwrap();
        let hello = bytes::<Never>(&Frame::Hello(hello(claimed, 1, &peers)));
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
    let mut foreign = bytes::<Never>(&Frame::Hello(hello(1, 0, &peers)));
    foreign[2] = 9;
    stream.write_all(&foreign).await.unwrap();
    let sentence = event(&mut node.2, &["we refused 127.0.0.1:"]).await;
    assert!(sentence.ends_with(": it speaks version 9, we speak version 7"), "{sentence}");
    let mut header = [0; 3];
    soon("an answer", stream.read_exact(&mut header)).await.unwrap();
    assert_eq!(header, *b"VR\x07");
}

#[tokio::test]
async fn another_version_that_is_dialled_refuses_us() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let foreign: TcpListener = listeners.remove(0);
    let mut node = start(config(1, &peers), Some(listeners.remove(0))).await;
    let (mut stream, _) = soon("a call", foreign.accept()).await.unwrap();
    stream.write_all(b"VR\x01 whatever its frames look like").await.unwrap();
    let sentence = event(&mut node.2, &["node 0 refused us"]).await;
    assert!(sentence.ends_with(": it speaks version 1, we speak version 7"), "{sentence}");
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
