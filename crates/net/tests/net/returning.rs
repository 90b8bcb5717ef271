//! Processes that come back without their memory, to machines that stand it; and who is told that
//! it was restarted without having been.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc};
use vorrang_algorithms::election::bully::Bully;
use vorrang_algorithms::election::{Command, Notice};
use vorrang_algorithms::mutex::central::Central;
use vorrang_net::{Config, Event, Generation, Handle, Node, Start, bind_loopback};
use vorrang_protocol::{Group, NodeId};

use crate::support::{ACQUIRE, event, machine, quick, soon};

type Running = (Handle<Command>, mpsc::UnboundedReceiver<Notice>, broadcast::Receiver<Event>);

async fn life(id: u32, peers: &[String], listener: Option<TcpListener>) -> Running {
    let config = Config { timing: quick(), ..Config::new(NodeId(id), peers.to_vec(), "bully") };
    let group = Group::of(peers.len() as u32);
    let machine = Bully::new(NodeId(id), group, Duration::from_millis(100));
    let mut node = Node::new(machine, config.returning(Generation::now()));
    if let Some(listener) = listener {
        node = node.listener(listener);
    }
    let (handle, notices) = node.start().await.unwrap();
    let events = handle.events();
    (handle, notices, events)
}

async fn three() -> (Vec<Running>, Vec<String>) {
    let (listeners, peers) = bind_loopback(3).await.unwrap();
    let mut nodes = Vec::new();
    for (id, listener) in (0..).zip(listeners) {
        nodes.push(life(id, &peers, Some(listener)).await);
    }
    for (handle, ..) in &nodes {
        soon("the start", handle.started()).await.unwrap();
    }
    (nodes, peers)
}

async fn leads(node: &mut Running, leader: u32) {
    let wanted = Notice::Leader(NodeId(leader));
    let hears = async { while node.1.recv().await != Some(wanted) {} };
    soon("the leader", hears).await;
}

#[tokio::test]
async fn a_process_that_comes_back_restarts_its_machine_wherever_it_stands() {
    for victim in 0..3 {
        let (mut nodes, peers) = three().await;
        nodes[0].0.command(Command::Elect).await.unwrap();
        for node in &mut nodes {
            leads(node, 2).await;
        }
        let (former, ..) = nodes.remove(victim as usize);
        soon("its end", former.kill()).await;
        nodes[0].0.command(Command::Elect).await.unwrap();
        let rest = if victim == 2 { 1 } else { 2 };
        leads(&mut nodes[0], rest).await;
        let mut back = life(victim, &peers, None).await;
        event(&mut back.2, &["came back"]).await;
        // The highest leads again; whoever else comes back learns who does.
        leads(&mut back, 2).await;
        if victim == 2 {
            leads(&mut nodes[0], 2).await;
            leads(&mut nodes[1], 2).await;
        }
    }
}

/// Who left with a goodbye comes back all the same, and so does one whose group is all gone.
#[tokio::test]
async fn all_come_back_one_after_the_other_and_a_whole_group_starts_anew() {
    let (mut nodes, peers) = three().await;
    for id in 0..3 {
        let (former, ..) = nodes.remove(id as usize);
        soon("its end", former.shutdown()).await.unwrap();
        let mut back = life(id, &peers, None).await;
        event(&mut back.2, &["came back"]).await;
        nodes.insert(id as usize, back);
    }
    for (former, ..) in nodes.drain(..) {
        soon("its end", former.kill()).await;
    }
    for id in 0..3 {
        nodes.push(life(id, &peers, None).await);
    }
    for (handle, _, events) in &mut nodes {
        soon("the start", handle.started()).await.unwrap();
        while let Ok(event) = events.try_recv() {
            assert_ne!(event, Event::Returned, "nobody remembers");
        }
    }
}

/// The former process stands still while its successor comes, and then goes on.
#[tokio::test]
async fn of_two_processes_with_one_number_the_later_counts() {
    let (mut nodes, peers) = three().await;
    let mut later = life(1, &peers, Some(TcpListener::bind("127.0.0.1:0").await.unwrap())).await;
    event(&mut later.2, &["came back"]).await;
    event(&mut nodes[1].2, &["fenced: node ", "knows a later incarnation"]).await;
    let error = nodes[1].0.command(Command::Elect).await.unwrap_err().to_string();
    assert!(error.contains("must not act"), "{error}");
}

#[tokio::test]
async fn a_machine_that_needs_its_memory_cannot_come_back() {
    let (_, peers) = bind_loopback(2).await.unwrap();
    let config = Config::new(NodeId(0), peers, "ricart-agrawala").returning(Generation::now());
    let error = Node::new(machine(0, 2), config).start().await.unwrap_err().to_string();
    assert!(error.starts_with("ricart-agrawala is not safe if a process loses its"), "{error}");
}

/// One has begun and leaves, for which it takes its time, since the coordinator is missing to which
/// it has sent something; the other has met it and not begun. It was never restarted.
#[tokio::test]
async fn whoever_has_not_begun_is_not_taken_for_restarted_by_one_that_leaves() {
    for (leaver, stays) in [(0, 1), (1, 0)] {
        let (listeners, peers) = bind_loopback(3).await.unwrap();
        let mut listeners: Vec<_> = listeners.into_iter().map(Some).collect();
        let mut node = |id: u32, start| {
            let config = Config::new(NodeId(id), peers.clone(), "central");
            let machine = Central::new(NodeId(id), Group::of(3));
            let listener = listeners[id as usize].take().unwrap();
            Node::new(machine, Config { timing: quick(), start, ..config }).listener(listener)
        };
        let (other, _notices) = node(stays, Start::WhenAllMet).start().await.unwrap();
        let (mut events, mut heard) = (other.events(), other.events());
        let (first, _notices) = node(leaver, Start::AtOnce).start().await.unwrap();
        event(&mut events, &["connected with node"]).await;
        first.command(ACQUIRE).await.unwrap();
        let leaving = tokio::spawn(first.shutdown());
        event(&mut events, &["has left"]).await;
        soon("its end", leaving).await.unwrap().unwrap();
        while let Ok(event) = heard.try_recv() {
            let text = event.to_string();
            assert!(!text.contains("restart"), "{leaver}: {text}");
        }
        assert_eq!(other.status().await.unwrap().fenced, None);
    }
}
