//! Nodes over UDP: multicast, losses on purpose, what fits into a datagram, who is let in.

use std::time::Duration;

use tokio::sync::mpsc;
use vorrang_algorithms::detection::Notice as Belief;
use vorrang_algorithms::detection::heartbeat::Heartbeat;
use vorrang_algorithms::layer::reliable::{Peers, Reliable, Retries};
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::AnyNode;
use vorrang_net::hello::Refusal;
use vorrang_net::udp::datagram::{self, Body, MAX_DATAGRAM};
use vorrang_net::udp::{Cast, Faults, MAX_PAYLOAD, Multicast, Udp, bind_loopback};
use vorrang_net::{
    Application, ApplicationEffects, Clock, CommandError, Config, Datagrams, Event, Log, NetError,
    Node,
};
use vorrang_protocol::{Group, NodeId, Refused};
use vorrang_trace::{What, judge};

use crate::support::{Contender, event, machine, quick, soon};
use crate::udp_support::{
    Crier, Heard, Order, Puppet, Running, cast, config, group, heard, impatient, listen_to, start,
    talk,
};

async fn datagrams(node: &Running) -> Datagrams {
    node.0.status().await.unwrap().datagrams.expect("it runs over UDP")
}

#[tokio::test]
async fn everyone_hears_everyone_by_multicast_and_by_unicast() {
    let (mut nodes, _) = group(4, cast).await;
    talk(&mut nodes).await;
    let (mut nodes, _) = group(4, |_| Udp::default()).await;
    talk(&mut nodes).await;
    assert_eq!(datagrams(&nodes[0]).await.multicast, 0);
    let (mut alone, _) = group(1, cast).await;
    alone[0].0.command(Order::All(b"hello?".to_vec())).await.unwrap();
    assert!(alone[0].1.try_recv().is_err());
}

/// Each of them is called by all others at the same time, and some of that is lost on the way.
#[tokio::test]
async fn a_larger_group_finds_together() {
    const NODES: u32 = 40;
    let faults = Faults { lost: 0.1, ..Faults::default() };
    let (mut nodes, _) = group(NODES, |peers| Udp { faults, ..cast(peers) }).await;
    // A tenth of those who should hear it do not, each time.
    let mut times = 0;
    let has_heard = |node: &mut Running| usize::from(node.1.try_recv().is_ok());
    while nodes.iter_mut().skip(1).map(has_heard).sum::<usize>() < 20 {
        nodes[0].0.command(Order::All(vec![1])).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        times += 1;
        assert!(times < 1_000, "hardly anybody hears it");
    }
}

/// Counted at a socket that has joined the group as members have.
#[tokio::test]
async fn what_is_for_all_is_one_datagram_and_what_is_for_some_is_one_each() {
    const NODES: u32 = 6;
    let (mut nodes, peers) = group(NODES, cast).await;
    let ear = listen_to(Multicast::of(&peers).group);
    // What they said before is heard by then: answers to late hellos would be counted, too.
    for id in 1..NODES {
        nodes[id as usize].0.command(Order::One(NodeId(0), vec![])).await.unwrap();
        assert_eq!(heard(&mut nodes[0]).await, (NodeId(id), vec![]));
    }
    let before = datagrams(&nodes[0]).await;
    for word in 0..10 {
        nodes[0].0.command(Order::All(vec![word])).await.unwrap();
        nodes[0].0.command(Order::One(NodeId(1), vec![word])).await.unwrap();
        for node in &mut nodes[1..] {
            assert_eq!(heard(node).await, (NodeId(0), vec![word]));
        }
        assert_eq!(heard(&mut nodes[1]).await, (NodeId(0), vec![word]));
    }
    let after = datagrams(&nodes[0]).await;
    let mut numbers = Vec::new();
    let mut room = [0; MAX_DATAGRAM];
    while numbers.len() < 10 {
        let (length, from) = soon("a multicast", ear.recv_from(&mut room)).await.unwrap();
        let frame = datagram::decode(&room[..length]).unwrap();
        if let Body::Data { number, .. } = frame.body {
            assert_eq!((frame.from, frame.to), (NodeId(0), None));
            assert_eq!(from.to_string(), peers[0], "where node 0 is");
            numbers.push(number);
        }
    }
    assert_eq!(numbers, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18], "each once; the odd are for node 1");
    // Heartbeats are multicasts, too, and there may have been some meanwhile.
    assert!((10..20).contains(&(after.multicast - before.multicast)), "{before:?} {after:?}");
    assert_eq!(after.unicast - before.unicast, 10);
    for node in &mut nodes {
        assert!(node.1.try_recv().is_err());
    }
    // Nobody who has left is waited for.
    for (handle, ..) in nodes.drain(2..) {
        handle.shutdown().await.unwrap();
    }
    for peer in 2..NODES {
        event(&mut nodes[0].2, &[&format!("node {peer} has left")]).await;
    }
    let before = datagrams(&nodes[0]).await.unicast;
    nodes[0].0.command(Order::All(vec![99])).await.unwrap();
    assert_eq!(heard(&mut nodes[1]).await, (NodeId(0), vec![99]));
    assert_eq!(datagrams(&nodes[0]).await.unicast - before, 1, "one is left, and is sent it alone");
}

#[tokio::test]
async fn heartbeats_find_out_who_is_down() {
    let (sockets, peers) = bind_loopback(3).unwrap();
    let mut setup = Setup::new(Group::of(3));
    (setup.beat, setup.margin) = (Duration::from_millis(20), Duration::from_millis(400));
    let mut nodes = Vec::new();
    for (id, socket) in (0..).map(NodeId).zip(sockets) {
        let faults = Faults { lost: 0.2, doubled: 0.1, overtaken: 0.1, seed: 3 };
        let udp = Udp { faults, ..cast(&peers) };
        let config = Config { timing: quick(), ..Config::new(id, peers.clone(), "heartbeat") };
        let node = Node::over_udp(udp, Heartbeat::of(id, &setup), config).socket(socket);
        nodes.push(node.start().await.unwrap());
    }
    for (node, _) in &nodes {
        soon("the start", node.started()).await.unwrap();
    }
    let (dead, _) = nodes.remove(1);
    dead.kill().await;
    for (node, notices) in &mut nodes {
        // On a busy machine others may have been suspected, too, and trusted again.
        while soon("a suspicion", notices.recv()).await != Some(Belief::Suspect(NodeId(1))) {}
        let counts = node.status().await.unwrap().datagrams.unwrap();
        assert!(counts.multicast > 10 && counts.lost > 0, "{counts:?}");
    }
}

/// The layer makes reliable channels of what is none, and the lock above does not notice.
#[tokio::test]
async fn a_lock_over_reliable_channels_gets_over_lost_doubled_and_overtaken_datagrams() {
    const NODES: u32 = 3;
    const ENTRIES: u32 = 60;
    for seed in 0..2 {
        let (sockets, peers) = bind_loopback(NODES).unwrap();
        let (done, mut finished) = mpsc::unbounded_channel();
        let (log, clock) = (Log::new(), Clock::start());
        let mut handles = Vec::new();
        for (id, socket) in (0..).zip(sockets) {
            let patience = Retries { time_out: Duration::from_millis(2), tries: u8::MAX };
            let channels = Peers::All(Group::of(NODES));
            let machine = Reliable::new(NodeId(id), machine(id, NODES), channels, patience);
            let faults = Faults { lost: 0.2, doubled: 0.2, overtaken: 0.2, seed };
            let udp = Udp { faults, ..cast(&peers) };
            let node = Node::over_udp(udp, machine, config(id, &peers)).socket(socket);
            let application = Contender { left: ENTRIES, done: done.clone() };
            let node = node.record(log.clone(), clock);
            handles.push(node.start_with(application).await.unwrap());
        }
        for _ in 0..NODES {
            soon("all entries", finished.recv()).await;
        }
        for handle in handles {
            let counts = handle.status().await.unwrap().datagrams.unwrap();
            let share = counts.lost as f64 / counts.received as f64;
            assert!((0.1..0.3).contains(&share), "{counts:?}");
            assert!(counts.doubled > 0 && counts.overtaken > 0, "{counts:?}");
            handle.kill().await;
        }
        let records = log.take();
        // Receipts and copies tell of requests, too, and the lock above does not see them: which of
        // two happened before is another question to it than to a monitor of all messages.
        let verdict = judge(&records, Exclusion::default());
        assert!(verdict.is_safe(), "{:?}", verdict.violations);
        assert_eq!(verdict.owed, None);
        assert!(verdict.in_flight > 100, "many were lost: {}", verdict.in_flight);
        let is_entry =
            |what: &What<AnyNode<Command, Notice>>| matches!(what, What::Notice(Notice::Entered));
        let entries = records.iter().filter(|record| is_entry(&record.what)).count();
        assert_eq!(entries, (ENTRIES * NODES) as usize);
    }
}

/// So the test above would notice if nothing were done about losses.
#[tokio::test]
async fn without_the_layer_a_lock_is_stuck_by_a_loss() {
    let (sockets, peers) = bind_loopback(2).unwrap();
    let (done, mut finished) = mpsc::unbounded_channel();
    let mut handles = Vec::new();
    for (id, socket) in (0..).zip(sockets) {
        let faults = Faults { lost: 0.2, ..Faults::default() };
        let udp = Udp { faults, ..Udp::default() };
        let node = Node::over_udp(udp, machine(id, 2), config(id, &peers)).socket(socket);
        let application = Contender { left: 1_000, done: done.clone() };
        handles.push(node.start_with(application).await.unwrap());
    }
    let patience = Duration::from_millis(500);
    assert!(tokio::time::timeout(patience, finished.recv()).await.is_err());
}

#[tokio::test]
async fn a_command_whose_message_is_too_long_is_refused_with_the_limit() {
    let (mut nodes, _) = group(3, cast).await;
    // A byte for the kind and two for the length are the machine's.
    let most = vec![1; MAX_PAYLOAD - 3];
    nodes[0].0.command(Order::All(most.clone())).await.unwrap();
    assert_eq!(heard(&mut nodes[1]).await, (NodeId(0), most));
    for order in [Order::All(vec![1; MAX_PAYLOAD - 2]), Order::One(NodeId(2), vec![1; 5_000])] {
        let error = nodes[0].0.command(order).await.unwrap_err();
        let CommandError::TooLarge { length, limit } = error else { panic!("{error}") };
        assert!(length > limit && limit == MAX_PAYLOAD, "{length} {limit}");
        assert!(error.to_string().contains("at most 1400"), "{error}");
    }
    let status = nodes[0].0.status().await.unwrap();
    assert!(
        status.machine.to_string().contains("orders 1"),
        "it has not seen them: {}",
        status.machine
    );
    // What a machine comes up with by itself is reported, and the node goes on.
    nodes[0].0.command(Order::Ask(NodeId(1), 2_000)).await.unwrap();
    let words = ["a message to node 0 was not sent", "2003 bytes", "the 1400 that fit"];
    event(&mut nodes[1].2, &words).await;
    nodes[0].0.command(Order::Ask(NodeId(1), 5)).await.unwrap();
    assert_eq!(heard(&mut nodes[0]).await, (NodeId(1), vec![7; 5]));
}

/// Asks for what does not fit, and hears so.
struct Boaster(mpsc::UnboundedSender<String>);

impl Application for Boaster {
    type Command = Order;
    type Notice = Heard;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Order>) {
        fx.command(Order::All(vec![0; 9_000]));
    }
    fn on_notice(&mut self, _: Heard, _: &mut ApplicationEffects<Order>) {}
    fn on_refused(&mut self, refused: Refused, _: &mut ApplicationEffects<Order>) {
        self.0.send(refused.to_string()).unwrap();
    }
    fn on_event(&mut self, event: &Event, _: &mut ApplicationEffects<Order>) {
        if matches!(event, Event::TooLarge { .. }) {
            self.0.send(event.to_string()).unwrap();
        }
    }
}

#[tokio::test]
async fn an_application_is_told_that_a_message_does_not_fit() {
    let (mut sockets, peers) = bind_loopback(2).unwrap();
    let _other = start(Udp::default(), config(1, &peers), sockets.pop()).await;
    let (sender, mut told) = mpsc::unbounded_channel();
    let node = Node::over_udp(Udp::default(), Crier::new(0, 2), config(0, &peers));
    let node = node.socket(sockets.remove(0));
    let _handle = node.start_with(Boaster(sender)).await.unwrap();
    let words = soon("a refusal", told.recv()).await.unwrap();
    assert!(words.contains("longer than fits into one datagram"), "{words}");
    let words = soon("an event", told.recv()).await.unwrap();
    assert!(words.contains("9003 bytes does not fit into 1400"), "{words}");
}

/// An address that nobody's interface has: it is for documentation only (RFC 5737).
fn nowhere(peers: &[String]) -> Multicast {
    Multicast::of(peers).on("203.0.113.7".parse().unwrap())
}

#[tokio::test]
async fn without_multicast_a_node_starts_only_if_it_may_do_without() {
    let (mut sockets, peers) = bind_loopback(3).unwrap();
    let strict = Udp { cast: Cast::Multicast(nowhere(&peers)), ..Udp::default() };
    let node = Node::over_udp(strict, Crier::new(0, 3), config(0, &peers));
    let error = node.socket(sockets[0].try_clone().unwrap()).start().await.unwrap_err();
    assert!(matches!(error, NetError::Multicast { .. }), "{error}");
    assert!(error.to_string().contains("on the interface 203.0.113.7"), "{error}");

    // One is deaf, and the others reach it all the same, each once.
    let mut nodes = Vec::new();
    for id in 0..3 {
        let multicast = if id == 1 { nowhere(&peers) } else { Multicast::of(&peers) };
        let udp = Udp { cast: Cast::Multicast(multicast.or_unicast()), ..Udp::default() };
        nodes.push(start(udp, config(id, &peers), Some(sockets.remove(0))).await);
    }
    let sentence = event(&mut nodes[1].2, &["falling back to unicast to every member"]).await;
    assert!(sentence.contains("does not work: "), "{sentence}");
    for node in &nodes {
        soon("the start", node.0.started()).await.unwrap();
    }
    talk(&mut nodes).await;
    assert_eq!(datagrams(&nodes[1]).await.multicast, 0);
}

/// The other end answers, and neither hears multicasts nor sends any, as behind a switch that does
/// not pass them on.
#[tokio::test]
async fn multicasts_that_do_not_come_through_are_noticed() {
    for or_unicast in [false, true] {
        let (mut sockets, peers) = bind_loopback(2).unwrap();
        let mut deaf = Puppet::new(1, sockets.pop().unwrap());
        let multicast = Multicast { or_unicast, ..Multicast::of(&peers) };
        let udp = Udp { cast: Cast::Multicast(multicast), ..Udp::default() };
        let mut config = config(0, &peers);
        config.timing.hello = Duration::from_millis(300);
        let mut node = start(udp, config, sockets.pop()).await;
        deaf.hears = false;
        let at = peers[0].parse::<std::net::SocketAddr>().unwrap();
        let meeting = deaf.meet(at, &node.0);
        if or_unicast {
            meeting.await;
            event(&mut node.2, &["node 1 is sent unicasts"]).await;
        } else {
            let met = tokio::time::timeout(Duration::from_millis(700), meeting).await;
            assert!(met.is_err(), "it has started");
            event(&mut node.2, &["waiting for node 1", "its multicasts do not come"]).await;
        }
    }
}

#[tokio::test]
async fn whoever_is_set_up_differently_is_refused_with_the_reason() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 5] = [
        (|it| it.group = "blue".into(), "it belongs to group default, we belong to group blue"),
        (|it| it.algorithm = "town".into(), "it runs crier, we run town"),
        (|it| it.setup = "--k 2".into(), "it is set up with '', we are set up with --k 2"),
        (|it| it.peers.push("127.0.0.1:9".into()), "it belongs to a group of 3, we belong to a gr"),
        (|it| it.peers[2] = "127.0.0.1:9".into(), "its list of peers differs from ours"),
    ];
    for (change, words) in cases {
        let (mut sockets, peers) = bind_loopback(3).unwrap();
        let mut odd = config(1, &peers);
        change(&mut odd);
        let mut odd = start(Udp::default(), odd, Some(sockets.remove(1))).await;
        let mut even = start(Udp::default(), config(0, &peers), Some(sockets.remove(0))).await;
        event(&mut odd.2, &["node 0 refused us", words]).await;
        event(&mut even.2, &["we refused node 1 at"]).await;
    }
    let (mut sockets, peers) = bind_loopback(2).unwrap();
    let mut odd = start(cast(&peers), config(1, &peers), sockets.pop()).await;
    let _even = start(Udp::default(), config(0, &peers), sockets.pop()).await;
    event(&mut odd.2, &["it reaches all by unicast, we reach all by multicast to 239.255."]).await;
}

#[tokio::test]
async fn of_two_processes_with_one_number_the_second_is_refused() {
    let (nodes, peers) = group(2, cast).await;
    let node = Node::over_udp(cast(&peers), Crier::new(1, 2), config(1, &peers));
    let error = node.start().await.unwrap_err();
    assert!(matches!(error, NetError::Bind { .. }), "its place is taken: {error}");
    // From another place it is not believed.
    let mut second = config(1, &peers);
    second.listen = Some("127.0.0.1:0".to_owned());
    let mut second = start(cast(&peers), second, None).await;
    event(&mut second.2, &["waiting for node 0"]).await;
    let mut before = nodes;
    let refused = event(&mut before[0].2, &["we refused node 1 at", "we expect node 1 at"]).await;
    assert!(refused.contains(&peers[1]), "{refused}");
    second.0.kill().await;
    talk(&mut before).await;
}

#[tokio::test]
async fn a_process_that_comes_back_to_a_group_that_has_begun_is_fenced() {
    let (sockets, peers) = bind_loopback(3).unwrap();
    let mut nodes = Vec::new();
    for (id, socket) in (0..).zip(sockets) {
        nodes.push(start(cast(&peers), impatient(id, &peers), Some(socket)).await);
    }
    for node in &nodes {
        soon("the start", node.0.started()).await.unwrap();
    }
    let (dead, ..) = nodes.pop().unwrap();
    dead.kill().await;
    let mut back = start(cast(&peers), impatient(2, &peers), None).await;
    event(&mut back.2, &["fenced"]).await;
    let error = back.0.command(Order::All(vec![1])).await.unwrap_err();
    assert!(matches!(error, CommandError::Fenced(_)), "{error}");
    for node in &mut nodes {
        event(
            &mut node.2,
            &["lost the connection with node 2: it has not been heard for too long"],
        )
        .await;
        event(&mut node.2, &["node 2 was restarted and has lost its state"]).await;
    }
    talk(&mut nodes).await;
    // When nobody remembers any more, it takes part in a new group.
    for (handle, ..) in nodes {
        handle.shutdown().await.unwrap();
    }
    let mut anew = Vec::new();
    for id in 0..2 {
        anew.push(start(cast(&peers), impatient(id, &peers), None).await);
    }
    anew.push(back);
    for node in &anew {
        soon("the start", node.0.started()).await.unwrap();
    }
    talk(&mut anew).await;
}

#[tokio::test]
async fn a_process_that_comes_back_before_the_group_has_begun_is_let_in() {
    let (mut sockets, peers) = bind_loopback(3).unwrap();
    let mut first = start(cast(&peers), impatient(0, &peers), Some(sockets.remove(0))).await;
    let second = start(cast(&peers), impatient(1, &peers), Some(sockets.remove(0))).await;
    event(&mut first.2, &["connected with node 1"]).await;
    second.0.kill().await;
    let second = start(cast(&peers), impatient(1, &peers), None).await;
    let third = start(cast(&peers), impatient(2, &peers), Some(sockets.remove(0))).await;
    let mut nodes = vec![first, second, third];
    for node in &nodes {
        soon("the start", node.0.started()).await.unwrap();
    }
    talk(&mut nodes).await;
}

#[tokio::test]
async fn whoever_falls_silent_is_missed_and_comes_back_if_it_is_the_same() {
    let (mut sockets, peers) = bind_loopback(2).unwrap();
    let mut puppet = Puppet::new(1, sockets.pop().unwrap());
    let mut node = start(Udp::default(), impatient(0, &peers), sockets.pop()).await;
    let at: std::net::SocketAddr = peers[0].parse().unwrap();
    puppet.meet(at, &node.0).await;
    event(&mut node.2, &["lost the connection with node 1: it has not been heard for too long"])
        .await;
    event(&mut node.2, &["waiting for node 1"]).await;
    puppet.send(at, &puppet.frame(Some(0), Body::Here)).await;
    event(&mut node.2, &["connected again with node 1"]).await;
    puppet.send(at, &puppet.frame(None, Body::Bye)).await;
    event(&mut node.2, &["node 1 has left"]).await;
    // It is not let in again, and is told why.
    assert_eq!(puppet.meet_again(at).await, Refusal::Left);
}
