//! Bytes that make no sense: the node closes that connection, says why, and goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vorrang_algorithms::mutex::ricart_agrawala::Message;
use vorrang_net::wire::{self, Frame, MAX_BODY_LEN};
use vorrang_net::{MAX_INTEGER, bind_loopback};
use vorrang_protocol::Never;

use crate::support::{
    ACQUIRE, Running, bytes, config, event, group, hello, soon, start, take_turn,
};

const NOT_A_FRAME: &str = "are not the beginning of a frame";

/// Writes, and waits until the node has closed the connection.
async fn provoke(address: &str, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The node may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut rest = Vec::new();
    let _ = soon("the end", stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty(), "strangers get no answer");
}

#[tokio::test]
async fn strangers_are_turned_away_and_the_group_goes_on() {
    let (mut nodes, peers) = group(3).await;
    let mut long = b"VR\x07\x01".to_vec();
    long.extend_from_slice(&u32::MAX.to_le_bytes());
    let cases: [(&[u8], &str); 7] = [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", NOT_A_FRAME),
        (&[0; 64], NOT_A_FRAME),
        (b"\xff\xfe\xfd\xfc\xfb", NOT_A_FRAME),
        (b"VR\x07\x2a\0\0\0\0", "there is no frame of kind 42"),
        (&long, "a frame with a body of 4294967295 bytes"),
        (b"VR\x07\x05\x01\0\0\0\0", "a frame other than a hello came first"),
        (b"VR\x07\x01\x03\0\0\0abc", "the body of a frame of kind 1 cannot be read"),
    ];
    for (bytes, why) in cases {
        provoke(&peers[0], bytes).await;
        event(&mut nodes[0].2, &["closed a connection with 127.0.0.1:", why]).await;
        for node in &mut nodes {
            take_turn(node).await;
        }
    }
    for link in nodes[0].0.status().await.unwrap().links {
        assert_eq!(link.connections, 1, "the other links were not touched");
    }
}

#[tokio::test]
async fn half_a_hello_is_waited_for_only_so_long() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut config = config(0, &peers);
    config.timing.hello = Duration::from_millis(100);
    let mut node = start(config, Some(listeners.remove(0))).await;
    let mut slow = TcpStream::connect(&peers[0]).await.unwrap();
    slow.write_all(b"VR\x07\x01\x20\0").await.unwrap();
    event(&mut node.2, &["no whole hello within the time allowed"]).await;
    let mut rest = Vec::new();
    soon("the end", slow.read_to_end(&mut rest)).await.unwrap();

    let mut gone = TcpStream::connect(&peers[0]).await.unwrap();
    gone.write_all(b"VR\x07").await.unwrap();
    drop(gone);
    event(&mut node.2, &["closed a connection", "end of file"]).await;
}

#[tokio::test]
async fn a_member_that_talks_nonsense_is_cut_off() {
    let message = Message::Request { time: 1 };
    let early = bytes(&Frame::Data { seq: 5, received: 0, message });
    let mut too_long = b"VR\x07\x03".to_vec();
    too_long.extend_from_slice(&(MAX_BODY_LEN as u32 + 1).to_le_bytes());
    let cases: [(&[u8], &str); 6] = [
        (b"garbage", NOT_A_FRAME),
        (&early, "message 5 came before those in front of it"),
        (&too_long, "a frame with a body of 1048577 bytes"),
        (b"VR\x07\x03\x02\0\0\0\0\0", "the body of a frame of kind 3 cannot be read"),
        (b"VR\x07\x04\x01\0\0\0\x09", "it acknowledges 9 messages, more than it was sent"),
        (b"VR\x07\x02\x01\0\0\0\x63", "the body of a frame of kind 2 cannot be read"),
    ];
    for (bytes, why) in cases {
        let (mut listeners, peers) = bind_loopback(2).await.unwrap();
        let mut node = start(config(0, &peers), Some(listeners.remove(0))).await;
        let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
        let mut words = hello_of_node_1(&peers);
        words.extend_from_slice(bytes);
        stream.write_all(&words).await.unwrap();
        event(&mut node.2, &["closed a connection with node 1", why]).await;
        event(&mut node.2, &["lost the connection with node 1"]).await;
        node.0.status().await.expect("the node goes on");
    }
}

fn hello_of_node_1(peers: &[String]) -> Vec<u8> {
    bytes::<Never>(&Frame::Hello(hello(1, 0, peers)))
}

#[tokio::test]
async fn a_message_that_comes_twice_is_handled_once() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let (handle, _notices, mut events) = start(config(0, &peers), Some(listeners.remove(0))).await;
    let request =
        |seq, time| bytes(&Frame::Data { seq, received: 0, message: Message::Request { time } });
    // Twice over one connection, then once more over the next.
    for connection in 0..2 {
        let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
        let mut words = hello_of_node_1(&peers);
        words.extend(request(0, 1));
        words.extend(request(0, 1));
        words.extend(request(1 + connection, 2 + connection));
        stream.write_all(&words).await.unwrap();
        let mut status = handle.status().await.unwrap();
        while status.links[0].received < 2 + connection {
            status = soon("a status", handle.status()).await.unwrap();
        }
        drop(stream);
        event(&mut events, &["lost the connection with node 1"]).await;
    }
    let status = handle.status().await.unwrap();
    assert_eq!(status.received, [("REQUEST", 3), ("REPLY", 0)]);
    assert_eq!(status.sent, [("REQUEST", 0), ("REPLY", 3)], "an answer for each");
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_not_acknowledged_and_may_come_again() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let (handle, _notices, mut events) = start(config(0, &peers), Some(listeners.remove(0))).await;
    let mut broken = TcpStream::connect(&peers[0]).await.unwrap();
    let mut words = hello_of_node_1(&peers);
    words.extend(bytes(&Frame::Data { seq: 0, received: 0, message: 0x63_u8 }));
    broken.write_all(&words).await.unwrap();
    event(&mut events, &["the body of a frame of kind 3 cannot be read"]).await;
    assert_eq!(handle.status().await.unwrap().links[0].received, 0);

    let mut whole = TcpStream::connect(&peers[0]).await.unwrap();
    let mut words = hello_of_node_1(&peers);
    let message = Message::Request { time: 1 };
    words.extend(bytes(&Frame::Data { seq: 0, received: 0, message }));
    whole.write_all(&words).await.unwrap();
    while soon("a status", handle.status()).await.unwrap().links[0].received == 0 {}
}

/// A peer says hello, and then that it is the end of time, or almost.
async fn at_the_end_of_time(time: u64) -> (Running, TcpStream) {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let node = start(config(0, &peers), Some(listeners.remove(0))).await;
    let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
    let mut words = hello_of_node_1(&peers);
    let message = Message::Request { time };
    wire::encode(&Frame::Data { seq: 0, received: 0, message }, &mut words).unwrap();
    stream.write_all(&words).await.unwrap();
    (node, stream)
}

#[tokio::test]
async fn a_clock_that_nobody_can_have_counted_to_is_refused_and_the_node_goes_on() {
    for time in [u64::MAX, MAX_INTEGER + 1] {
        let (mut node, _stream) = at_the_end_of_time(time).await;
        let words = "a message with a counter beyond the largest plausible value";
        event(&mut node.2, &["closed a connection with node 1", words]).await;
        assert_eq!(node.0.status().await.unwrap().links[0].received, 0);
        soon("an answer", node.0.command(ACQUIRE)).await.unwrap();
        assert!(node.0.status().await.unwrap().machine.to_string().contains("phase waiting"));
    }
}

#[tokio::test]
async fn a_node_that_has_come_to_the_last_number_ends_with_a_reason_and_no_panic() {
    let ((handle, ..), _stream) = at_the_end_of_time(MAX_INTEGER).await;
    let mut handled = 0;
    while handled == 0 {
        handled = soon("a status", handle.status()).await.unwrap().links[0].received;
    }
    // Its own request needs a later time.
    let _ = soon("an answer", handle.command(ACQUIRE)).await;
    let stopped = handle.status().await.unwrap_err().to_string();
    assert!(stopped.contains("a counter beyond the largest plausible value"), "{stopped}");
    assert!(!stopped.contains("panicked"), "{stopped}");
}

#[tokio::test]
async fn a_member_that_says_nothing_is_called_anew() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut config = config(0, &peers);
    config.timing.heartbeat = Duration::from_millis(20);
    config.timing.give_up = Duration::from_millis(100);
    let (handle, _notices, mut events) = start(config, Some(listeners.remove(0))).await;
    let mut silent = TcpStream::connect(&peers[0]).await.unwrap();
    silent.write_all(&hello_of_node_1(&peers)).await.unwrap();
    handle.command(ACQUIRE).await.unwrap();
    event(&mut events, &["lost the connection with node 1: it has not been heard for too long"])
        .await;
    assert_eq!(handle.status().await.unwrap().links[0].unacknowledged, 1);
}

#[tokio::test]
async fn a_hello_that_was_overtaken_does_not_replace_the_later_one() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let (handle, _notices, mut events) = start(config(0, &peers), Some(listeners.remove(0))).await;
    let mut later = TcpStream::connect(&peers[0]).await.unwrap();
    let mut hello = hello_of_node_1(&peers);
    // The last is whether it returns.
    let attempt = hello.len() - 2;
    hello[attempt] = 2;
    later.write_all(&hello).await.unwrap();
    event(&mut events, &["connected with node 1"]).await;
    let mut early = TcpStream::connect(&peers[0]).await.unwrap();
    early.write_all(&hello_of_node_1(&peers)).await.unwrap();
    let mut rest = Vec::new();
    soon("the end", early.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty());
    assert_eq!(handle.status().await.unwrap().links[0].connections, 1);
}
