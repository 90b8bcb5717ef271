//! Processes that know the group and do not belong to it: old ones, second ones and impostors.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vorrang_algorithms::mutex::ricart_agrawala::Message;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_net::bind_loopback;
use vorrang_net::hello::{DialRequest, Hello, Refusal};
use vorrang_net::wire::Frame;
use vorrang_protocol::{Never, NodeId};

use crate::support::{ACQUIRE, answer, bytes, config, event, group, hello, soon, start, take_turn};

/// Says hello and hears what is answered.
async fn meet(address: &str, hello: Hello) -> (TcpStream, Frame<Never>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&bytes::<Never>(&Frame::Hello(hello))).await.unwrap();
    let heard = answer(&mut stream).await;
    (stream, heard)
}

/// A whole group was restarted while one of its processes stood still. Now it goes on, knows node 0
/// by a number that is gone, and has called many times.
#[tokio::test]
async fn a_process_that_has_outlived_its_group_fences_nobody() {
    let (mut nodes, peers) = group(3).await;
    nodes[0].0.command(ACQUIRE).await.unwrap();
    assert_eq!(soon("an entry", nodes[0].1.recv()).await, Some(Notice::Entered));
    for (target, sender) in [(0, 2), (0, 1), (1, 2)] {
        let stale = Hello { incarnation: 999, knows: Some(42), ..hello(sender, target, &peers) };
        let (_, heard) = meet(&peers[target as usize], stale).await;
        assert_eq!(heard, Frame::Refuse(Refusal::Restarted));
    }
    for node in &nodes {
        assert_eq!(node.0.status().await.unwrap().fenced, None);
    }
    nodes[0].0.command(Command::Release).await.unwrap();
    for node in &mut nodes {
        take_turn(node).await;
    }
}

/// What the refusals say does not help, and neither does guessing.
#[tokio::test]
async fn nobody_takes_the_place_of_a_member() {
    let (mut nodes, peers) = group(3).await;
    nodes[2].0.command(ACQUIRE).await.unwrap();
    assert_eq!(soon("an entry", nodes[2].1.recv()).await, Some(Notice::Entered));
    for attempt in [1, 2, u64::from(u32::MAX), u64::MAX] {
        for knows in [None, Some(0), Some(1)] {
            let impostor = Hello { attempt, knows, incarnation: 5, ..hello(2, 0, &peers) };
            let (_, heard) = meet(&peers[0], impostor).await;
            assert_eq!(heard, Frame::Refuse(Refusal::Restarted), "not a number in it");
        }
    }
    let link = nodes[0].0.status().await.unwrap().links.remove(1);
    assert_eq!(link.connections, 1, "node 2 is where it was");
    nodes[2].0.command(Command::Release).await.unwrap();
    for node in &mut nodes {
        take_turn(node).await;
    }
}

/// Before the start a place is free again when the connection of whoever had it is over.
#[tokio::test]
async fn of_two_processes_with_one_number_the_first_stays_and_both_are_named() {
    let (mut listeners, peers) = bind_loopback(3).await.unwrap();
    let mut config = config(0, &peers);
    config.timing.backoff_max = Duration::from_millis(500);
    let mut zero = start(config, Some(listeners.remove(0))).await;
    let first = Hello { incarnation: 1, ..hello(2, 0, &peers) };
    let (kept, heard) = meet(&peers[0], first).await;
    let Frame::Hello(ours) = heard else { panic!("{heard:?}") };
    assert_eq!(ours.knows, Some(1));
    event(&mut zero.2, &["connected with node 2"]).await;

    let second = || Hello { incarnation: 2, ..hello(2, 0, &peers) };
    let (_, heard) = meet(&peers[0], second()).await;
    assert_eq!(heard, Frame::Refuse(Refusal::Taken));
    event(&mut zero.2, &["we refused node 2 at", "another process is connected"]).await;

    drop(kept);
    event(&mut zero.2, &["lost the connection with node 2"]).await;
    let (_, heard) = meet(&peers[0], second()).await;
    assert_eq!(heard, Frame::Refuse(Refusal::Taken), "the first may call again");
    tokio::time::sleep(Duration::from_millis(600)).await;
    let (_stream, heard) = meet(&peers[0], second()).await;
    let Frame::Hello(anew) = heard else { panic!("{heard:?}") };
    assert_ne!(anew.incarnation, ours.incarnation, "what the first was told is worth nothing now");
    let former = Hello { knows: Some(ours.incarnation), ..hello(2, 0, &peers) };
    let (_, heard) = meet(&peers[0], Hello { incarnation: 1, ..former }).await;
    assert_eq!(heard, Frame::Refuse(Refusal::Taken));
}

#[tokio::test]
async fn a_count_of_connections_that_leaps_is_nonsense() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut node = start(config(0, &peers), Some(listeners.remove(0))).await;
    let (_kept, _) = meet(&peers[0], hello(1, 0, &peers)).await;
    let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
    let leap = Hello { attempt: u64::MAX, ..hello(1, 0, &peers) };
    stream.write_all(&bytes::<Never>(&Frame::Hello(leap))).await.unwrap();
    event(&mut node.2, &["closed a connection with node 1", "connections that cannot"]).await;
    assert_eq!(node.0.status().await.unwrap().links[0].connections, 1);
}

/// More than are let to the door at once, all with a valid hello of somebody else.
#[tokio::test]
async fn those_who_are_refused_keep_their_place_at_the_door_until_they_are_gone() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut config = config(0, &peers);
    config.timing.hello = Duration::from_secs(600);
    let mut node = start(config, Some(listeners.remove(0))).await;
    let (_kept, _) = meet(&peers[0], hello(1, 0, &peers)).await;
    soon("the start", node.0.started()).await.unwrap();
    let other = bytes::<Never>(&Frame::Hello(Hello { incarnation: 9, ..hello(1, 0, &peers) }));
    let mut waiting = Vec::new();
    let mut turned_away = 0;
    for _ in 0..200 {
        let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
        let _ = stream.write_all(&other).await;
        let mut first = [0; 1];
        // Whoever is at the door hears a refusal; whoever is turned away hears nothing.
        match soon("an answer or the end", stream.read(&mut first)).await {
            Ok(1) => waiting.push(stream),
            Ok(_) | Err(_) => turned_away += 1,
        }
    }
    assert_eq!((waiting.len(), turned_away), (128, 72));
    drop(waiting);
    event(&mut node.2, &["we refused node 1"]).await;
    let (_, heard) = meet(&peers[0], Hello { incarnation: 9, ..hello(1, 0, &peers) }).await;
    assert_eq!(heard, Frame::Refuse(Refusal::Restarted), "there is room again");
}

#[tokio::test]
async fn those_who_say_nothing_keep_nobody_out() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let mut config = config(0, &peers);
    // Longer than any of this takes.
    config.timing.hello = Duration::from_secs(600);
    let mut node = start(config, Some(listeners.remove(0))).await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(&peers[0]).await.unwrap());
    }
    let (_kept, heard) = meet(&peers[0], hello(1, 0, &peers)).await;
    assert!(matches!(heard, Frame::Hello(_)), "{heard:?}");
    event(&mut node.2, &["connected with node 1"]).await;
}

/// The dialler is the node, and whom it dials claims to have messages that there never were.
#[tokio::test]
async fn a_peer_that_claims_what_it_was_never_sent_is_called_with_growing_pauses() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let impostor = listeners.remove(0);
    let mut node = start(config(1, &peers), Some(listeners.remove(0))).await;
    let mut calls = 0;
    let answering = async {
        loop {
            let (mut stream, _) = impostor.accept().await.unwrap();
            let Frame::Hello(theirs) = answer(&mut stream).await else { panic!("no hello") };
            let ours = Hello {
                knows: Some(theirs.incarnation),
                attempt: theirs.attempt,
                received: 7,
                ..hello(0, 1, &peers)
            };
            stream.write_all(&bytes::<Never>(&Frame::Hello(ours))).await.unwrap();
            calls += 1;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), answering).await;
    // At most 10 ms lie between two calls here, and 1 at least.
    assert!((3..400).contains(&calls), "{calls} calls in a second");
    event(&mut node.2, &["it claims to have messages that it was never sent"]).await;
}

/// Two who each think that they are node 0 never dial each other.
#[tokio::test]
async fn lists_in_another_order_are_noticed_even_if_nobody_dials() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let swapped: Vec<String> = peers.iter().rev().cloned().collect();
    let mut one = start(config(0, &peers), Some(listeners.remove(0))).await;
    let mut other = start(config(0, &swapped), Some(listeners.remove(0))).await;
    for node in [&mut one, &mut other] {
        event(&mut node.2, &["node 1 refused us: it expects node 0 at"]).await;
        event(&mut node.2, &["we refused node 0 at"]).await;
    }
}

#[tokio::test]
async fn whoever_knocks_is_told_that_it_will_be_called() {
    let (mut nodes, peers) = group(2).await;
    let who = hello(0, 1, &peers).who;
    let mut stream = TcpStream::connect(&peers[1]).await.unwrap();
    stream.write_all(&bytes::<Never>(&Frame::DialRequest(DialRequest { who }))).await.unwrap();
    assert_eq!(answer(&mut stream).await, Frame::Refuse(Refusal::WillCall));

    let who = hello(1, 1, &peers).who;
    let mut stream = TcpStream::connect(&peers[1]).await.unwrap();
    stream.write_all(&bytes::<Never>(&Frame::DialRequest(DialRequest { who }))).await.unwrap();
    let refusal = Refusal::Sender { claimed: NodeId(1), refuser: NodeId(1) };
    assert_eq!(answer(&mut stream).await, Frame::Refuse(refusal));
    take_turn(&mut nodes[0]).await;
}

#[tokio::test]
async fn peers_that_do_not_answer_are_named_on_both_sides() {
    let (mut listeners, mut peers) = bind_loopback(2).await.unwrap();
    peers.push("nowhere.invalid:7000".to_owned());
    drop(listeners.remove(0));
    let mut node = start(config(1, &peers), Some(listeners.remove(0))).await;
    let sentence = event(&mut node.2, &["waiting for node 0 at 127.0.0.1:"]).await;
    assert!(sentence.contains(": connection refused, "), "{sentence}");
    event(&mut node.2, &["waiting for node 2 at nowhere.invalid:7000: "]).await;
    let links = node.0.status().await.unwrap().links;
    assert!(links.iter().all(|link| link.unanswered > 0 && link.trouble.is_some()), "{links:?}");
}

#[tokio::test]
async fn a_member_that_speaks_too_seldom_is_refused_with_both_times() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let slow = Duration::from_secs(60);
    let mut odd = config(1, &peers);
    (odd.timing.heartbeat, odd.timing.give_up) = (slow, slow * 3);
    let mut dialler = start(odd, Some(listeners.remove(1))).await;
    let _listener = start(config(0, &peers), Some(listeners.remove(0))).await;
    let words = "our heartbeat is 60000 ms, its time-out 5000 ms";
    event(&mut dialler.2, &["node 0 refused us", words]).await;
}

/// A message from one who is not let in is not handled, whatever follows its hello.
#[tokio::test]
async fn what_follows_a_refused_hello_is_not_handled() {
    let (nodes, peers) = group(2).await;
    let mut words = bytes::<Never>(&Frame::Hello(Hello { incarnation: 9, ..hello(1, 0, &peers) }));
    let message = Message::Request { time: 1 };
    words.extend(bytes(&Frame::Data { seq: 0, received: 0, message }));
    let mut stream = TcpStream::connect(&peers[0]).await.unwrap();
    stream.write_all(&words).await.unwrap();
    assert_eq!(answer(&mut stream).await, Frame::Refuse(Refusal::Restarted));
    assert_eq!(nodes[0].0.status().await.unwrap().received, [("REQUEST", 0), ("REPLY", 0)]);
}
