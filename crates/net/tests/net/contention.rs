//! Ricart–Agrawala under contention: recorded, merged, and judged by the monitors of its problem.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::mpsc;
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_erased::{AnyMessage, AnyNode};
use vorrang_net::{Clock, Handle, Log, Node, RecordOf, Status, Tcp, Transport, bind_loopback};
use vorrang_protocol::NodeId;
use vorrang_trace::{Record, What, judge};

use crate::faulty::{Faulty, FaultyListener};
use crate::support::{Contender, config, machine, soon};

const NODES: u32 = 3;

/// Runs the group until every node has entered `entries` times.
async fn contend<T: Transport>(
    transport: T,
    listener: impl Fn(tokio::net::TcpListener) -> T::Listener,
    entries: u32,
) -> (Vec<Status>, Vec<RecordOf<Command, Notice>>) {
    let (listeners, peers) = bind_loopback(NODES).await.unwrap();
    let (done, mut finished) = mpsc::unbounded_channel();
    let (log, clock) = (Log::new(), Clock::start());
    let mut handles: Vec<Handle<Command>> = Vec::new();
    for (id, socket) in (0..).zip(listeners) {
        let node = Node::over(transport.clone(), machine(id, NODES), config(id, &peers))
            .listener(listener(socket))
            .record(log.clone(), clock);
        let application = Contender { left: entries, done: done.clone() };
        handles.push(node.start_with(application).await.unwrap());
    }
    for _ in 0..NODES {
        soon("all entries", finished.recv()).await;
    }
    let mut statuses = Vec::new();
    for handle in &handles {
        statuses.push(handle.status().await.unwrap());
    }
    for handle in handles {
        handle.kill().await;
    }
    (statuses, log.take())
}

/// Merged by time alone, every receipt stands behind its sending, and in its order.
fn assert_cause_before_effect(records: &[RecordOf<Command, Notice>]) {
    let mut on_the_way: BTreeMap<(NodeId, NodeId), VecDeque<(u64, AnyMessage)>> = BTreeMap::new();
    for Record { node, what, .. } in records {
        match what {
            What::Send { to, seq, message } => {
                let link = on_the_way.entry((*node, *to)).or_default();
                link.push_back((*seq, message.clone()));
            }
            What::Receive { from, seq, message } => {
                let link = on_the_way.entry((*from, *node)).or_default();
                assert_eq!(
                    link.pop_front(),
                    Some((*seq, message.clone())),
                    "from {from} to {node}"
                );
            }
            What::Command(_)
            | What::Notice(_)
            | What::Timer(_)
            | What::Choice(_)
            | What::Lost { .. }
            | What::Crash
            | What::Doubled { .. }
            | What::Restart
            | What::Fault(_) => {}
        }
    }
}

fn assert_in_order(statuses: &[Status], records: &[RecordOf<Command, Notice>], entries: u32) {
    let verdict = judge(records, (Exclusion::default(), HappenedBefore::default()));
    assert!(verdict.is_safe(), "{:?}", verdict.violations);
    assert!(verdict.is_quiescent(), "{verdict:?}");

    assert_cause_before_effect(records);

    let all = u64::from(entries * NODES);
    let count = |is: fn(&What<AnyNode<Command, Notice>>) -> bool| {
        records.iter().filter(|record| is(&record.what)).count() as u64
    };
    assert_eq!(count(|what| matches!(what, What::Notice(Notice::Entered))), all);
    assert_eq!(count(|what| matches!(what, What::Command(_))), 2 * all);
    let messages = all * 2 * u64::from(NODES - 1);
    assert_eq!(count(|what| matches!(what, What::Send { .. })), messages);
    assert_eq!(count(|what| matches!(what, What::Receive { .. })), messages);

    for status in statuses {
        let each = u64::from(entries * (NODES - 1));
        assert_eq!(status.sent, [("REQUEST", each), ("REPLY", each)]);
        assert_eq!(status.received, status.sent, "node {}", status.id);
        let per_link: u64 = status.links.iter().map(|link| link.sent).sum();
        assert_eq!(per_link, 2 * each);
    }
}

#[tokio::test]
async fn three_nodes_on_one_thread_take_turns() {
    let (statuses, records) = contend(Tcp, |socket| socket, 100).await;
    assert_in_order(&statuses, &records, 100);
    for link in statuses.iter().flat_map(|status| &status.links) {
        assert_eq!(link.connections, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_on_two_threads_take_turns() {
    let (statuses, records) = contend(Tcp, |socket| socket, 300).await;
    assert_in_order(&statuses, &records, 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_neither_lose_nor_double_nor_reorder_anything() {
    for seed in 0..3 {
        let faulty = Faulty::new(seed, 1_500, 60);
        let wrapped = faulty.clone();
        let listener = move |socket| FaultyListener(socket, wrapped.clone());
        let (statuses, records) = contend(faulty.clone(), listener, 400).await;
        assert_in_order(&statuses, &records, 400);
        let left = faulty.cuts_left();
        assert!(left < 30, "seed {seed}: the connections were hardly cut, {left} cuts are left");
    }
}
