//! Datagrams that a node must not heed: malformed, of strangers, of other lives; and floods.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use vorrang_net::Datagrams;
use vorrang_net::hello::Refusal;
use vorrang_net::udp::datagram::{
    self, Body, Frame, Greeting, HEADER_LEN, MAX_DATAGRAM, Refuse, VERSION,
};
use vorrang_net::udp::{Udp, bind_loopback};
use vorrang_protocol::NodeId;

use crate::support::{event, soon};
use crate::udp_support::{Order, Puppet, Running, cast, config, heard, start};

/// Node 0 of two, which has begun, with a puppet as the other.
async fn pair() -> (Running, Puppet, SocketAddr) {
    let (mut sockets, peers) = bind_loopback(2).unwrap();
    let mut puppet = Puppet::new(1, sockets.pop().unwrap());
    let mut config = config(0, &peers);
    // The puppet says nothing by itself.
    config.timing.give_up = Duration::from_secs(600);
    let node = start(Udp::default(), config, sockets.pop()).await;
    let at = peers[0].parse().unwrap();
    puppet.meet(at, &node.0).await;
    (node, puppet, at)
}

/// As a machine writes it.
fn say(word: u8) -> Vec<u8> {
    vec![0, 1, word]
}

async fn stranger() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

fn bytes(frame: &Frame<Body<'_>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    datagram::encode(frame, &mut bytes).unwrap();
    bytes
}

/// The member is heard, and nothing was before.
async fn assert_unharmed(node: &mut Running, puppet: &Puppet, at: SocketAddr) {
    let word = say(42);
    puppet.send(at, &puppet.frame(Some(0), Body::Data { number: 9, message: &word })).await;
    assert_eq!(heard(node).await, (NodeId(1), vec![42]));
}

async fn counts(node: &Running) -> Datagrams {
    node.0.status().await.unwrap().datagrams.unwrap()
}

#[tokio::test]
async fn what_is_no_frame_is_dropped_and_named() {
    let (mut node, puppet, at) = pair().await;
    let stranger = stranger().await;
    let good = bytes(&puppet.frame(Some(0), Body::Data { number: 1, message: &say(1) }));
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        bytes
    };
    let mut long = good.clone();
    long.resize(MAX_DATAGRAM + 1, 0);
    let mut longest = good.clone();
    longest.resize(60_000, 0);
    let mut here = bytes(&puppet.frame(Some(0), Body::Here));
    here.push(0);
    for (words, datagram) in [
        ("0 bytes are not a whole header", vec![]),
        ("[47, 45] are not the beginning", b"GET / HTTP/1.1\r\n".to_vec()),
        ("27 bytes are not a whole header, which has 28", good[..HEADER_LEN - 1].to_vec()),
        ("the body of a frame of kind 3 cannot be read", good[..HEADER_LEN].to_vec()),
        ("the body of a frame of kind 4 cannot be read", here),
        ("the body of a frame of kind 1 cannot be read", with(3, 1)),
        ("there is no frame of kind 0", with(3, 0)),
        ("there is no frame of kind 200", with(3, 200)),
        ("a frame of version 77, and this side speaks version 2", with(2, 77)),
        ("it is longer than 1438 bytes", long),
        ("it is longer than 1438 bytes", longest),
    ] {
        stranger.send_to(&datagram, at).await.unwrap();
        let from = stranger.local_addr().unwrap().to_string();
        event(&mut node.2, &[&format!("dropped a datagram from {from}: "), words]).await;
    }
    assert_unharmed(&mut node, &puppet, at).await;
    assert_eq!(counts(&node).await.refused, 11);
}

#[tokio::test]
async fn only_members_that_were_met_are_heeded() {
    let (mut node, puppet, at) = pair().await;
    let stranger = stranger().await;
    let word = say(1);
    let data = Body::Data { number: 1, message: &word };
    let good = puppet.frame(Some(0), data);
    let member = &puppet.socket;
    for (socket, frame, words) in [
        (member, Frame { digest: good.digest ^ 1, ..good.clone() }, "another group"),
        (member, Frame { from: NodeId(2), ..good.clone() }, "there is no node 2"),
        (member, Frame { from: NodeId(u32::MAX), ..good.clone() }, "there is no node 4294967295"),
        (member, Frame { from: NodeId(0), ..good.clone() }, "uses our own id"),
        (member, Frame { to: Some(NodeId(1)), ..good.clone() }, "for another node"),
        (
            member,
            Frame { incarnation: good.incarnation ^ 1, ..good.clone() },
            "another incarnation of node 1",
        ),
        (&stranger, good.clone(), "it says it is node 1, which is at"),
        (&stranger, puppet.frame(None, Body::Bye), "it says it is node 1, which is at"),
        (&stranger, puppet.frame(None, Body::Here), "it says it is node 1, which is at"),
    ] {
        socket.send_to(&bytes(&frame), at).await.unwrap();
        let sentence = event(&mut node.2, &["dropped a datagram from", words]).await;
        let from = socket.local_addr().unwrap().to_string();
        assert!(sentence.contains(&from), "{sentence}");
    }
    // Our own words, come back.
    let echo = Frame { from: NodeId(0), incarnation: puppet.its_life, ..good.clone() };
    member.send_to(&bytes(&echo), at).await.unwrap();
    event(&mut node.2, &["another process uses our own id"]).await;
    // A member may make mistakes, too.
    let nonsense = Body::Data { number: 2, message: &[9, 9, 9] };
    puppet.send(at, &puppet.frame(Some(0), nonsense)).await;
    event(&mut node.2, &["a message of node 1: the body of a frame of kind 3"]).await;
    assert_unharmed(&mut node, &puppet, at).await;
}

#[tokio::test]
async fn nobody_refuses_us_but_members_and_nobody_takes_their_place() {
    let (mut node, mut puppet, at) = pair().await;
    let stranger = stranger().await;
    let incarnation = puppet.its_life;
    let refuse = |incarnation| Body::Refuse(Refuse { incarnation, why: Refusal::Restarted });
    stranger.send_to(&bytes(&puppet.frame(Some(0), refuse(incarnation))), at).await.unwrap();
    event(&mut node.2, &["it refuses us, and is no member"]).await;
    // It means another life than this one.
    puppet.send(at, &puppet.frame(Some(0), refuse(incarnation ^ 1))).await;
    assert_unharmed(&mut node, &puppet, at).await;
    assert_eq!(node.0.status().await.unwrap().fenced, None);

    // The same hello as a member's, from elsewhere.
    let greeting = puppet.last.clone().unwrap();
    let hello = puppet.frame(Some(0), Body::Hello(Box::new(greeting)));
    stranger.send_to(&bytes(&hello), at).await.unwrap();
    event(&mut node.2, &["we refused node 1 at", "it expects node 1 at"]).await;
    let mut room = [0; MAX_DATAGRAM];
    let (length, _) = soon("a refusal", stranger.recv_from(&mut room)).await.unwrap();
    let Body::Refuse(refuse) = datagram::decode(&room[..length]).unwrap().body else {
        panic!("no refusal");
    };
    assert_eq!(refuse.incarnation, puppet.incarnation);
    assert!(matches!(refuse.why, Refusal::Peers { node: NodeId(1), .. }), "{refuse:?}");

    // Another life at the same place, whatever it claims to know.
    puppet.incarnation = 99;
    assert_eq!(puppet.meet_again(at).await, Refusal::Restarted);
    puppet.incarnation = 77;
    assert_unharmed(&mut node, &puppet, at).await;
}

#[tokio::test]
async fn a_hello_of_another_version_is_answered_and_nothing_else_is() {
    let (mut node, puppet, at) = pair().await;
    let stranger = stranger().await;
    for kind in [2, 3, 4, 5, 1] {
        stranger.send_to(&[b'V', b'U', VERSION + 1, kind], at).await.unwrap();
        event(&mut node.2, &["a frame of version 3"]).await;
    }
    let mut room = [0; MAX_DATAGRAM];
    let (length, _) = soon("an answer", stranger.recv_from(&mut room)).await.unwrap();
    let frame = datagram::decode(&room[..length]).unwrap();
    let why = Refusal::Version { refuser: VERSION, refused: VERSION + 1 };
    assert_eq!(frame.body, Body::Refuse(Refuse { incarnation: 0, why }));
    assert!(stranger.try_recv_from(&mut room).is_err(), "one answer");
    assert_unharmed(&mut node, &puppet, at).await;
}

/// The events that are kept are fewer than the datagrams: a listener that falls behind would miss
/// the older ones, and is not made to.
#[tokio::test]
async fn a_flood_makes_a_node_say_little_and_keep_nothing() {
    let (mut node, puppet, at) = pair().await;
    let stranger = stranger().await;
    let greeting = Greeting { setup: "another".to_owned(), ..puppet.last.clone().unwrap() };
    let odd = puppet.frame(Some(0), Body::Hello(Box::new(greeting)));
    let flood = [b"garbage".to_vec(), bytes(&odd), bytes(&puppet.frame(Some(0), Body::Here))];
    let mut sent = 0;
    while counts(&node).await.refused < 20_000 {
        for datagram in flood.iter().cycle().take(300) {
            stranger.send_to(datagram, at).await.unwrap();
        }
        sent += 300;
        assert!(sent < 10_000_000, "it hears hardly anything");
    }
    let mut said = 0;
    while let Ok(event) = node.2.try_recv() {
        said += 1;
        assert!(!event.to_string().is_empty());
    }
    // 20 at once, and one a second.
    assert!((20..100).contains(&said), "{said} events");
    let counted = counts(&node).await;
    // 50 refusals at once, and 20 a second.
    assert!(counted.unicast < 5_000, "{counted:?}");
    // What was not said is counted.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    stranger.send_to(b"garbage", at).await.unwrap();
    event(&mut node.2, &["dropped a datagram", "more of the kind)"]).await;
    assert_unharmed(&mut node, &puppet, at).await;
}

/// What is sent to all is heard by its sender, and is neither heeded nor complained about.
#[tokio::test]
async fn our_own_multicasts_are_not_heeded() {
    let (mut sockets, peers) = bind_loopback(3).unwrap();
    let mut nodes = Vec::new();
    for id in 0..3 {
        nodes.push(start(cast(&peers), config(id, &peers), Some(sockets.remove(0))).await);
    }
    for node in &nodes {
        soon("the start", node.0.started()).await.unwrap();
    }
    for _ in 0..20 {
        nodes[0].0.command(Order::All(vec![5])).await.unwrap();
        for node in &mut nodes[1..] {
            assert_eq!(heard(node).await, (NodeId(0), vec![5]));
        }
    }
    assert!(nodes[0].1.try_recv().is_err());
    while let Ok(event) = nodes[0].2.try_recv() {
        assert!(!event.to_string().contains("dropped"), "{event}");
    }
}
