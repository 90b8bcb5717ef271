//! Starting, stopping, dying and coming back.

use vorrang_algorithms::mutex::{Command, NOT_INSIDE};
use vorrang_net::{CommandError, Config, LinkState, NetError, Node, StopReason, bind_loopback};
use vorrang_protocol::NodeId;

use crate::support::{ACQUIRE, config, event, group, machine, soon, start, take_turn};

#[tokio::test]
async fn a_release_without_holding_is_a_typed_error_and_changes_nothing() {
    let (mut nodes, _) = group(3).await;
    let error = nodes[1].0.command(Command::Release).await.unwrap_err();
    assert_eq!(error, CommandError::Refused(NOT_INSIDE));
    assert_eq!(error.to_string(), "cannot release: not inside");
    take_turn(&mut nodes[1]).await;
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let (_listeners, peers) = bind_loopback(1).await.unwrap();
    let node = Node::new(machine(0, 1), config(0, &peers));
    let error = node.start().await.unwrap_err();
    assert!(matches!(error, NetError::Bind { .. }));
    assert!(error.to_string().contains(&peers[0]), "{error}");
}

#[tokio::test]
async fn a_node_beyond_its_list_of_peers_does_not_start() {
    for id in [1, u32::MAX] {
        let config = Config::new(NodeId(id), vec!["127.0.0.1:0".into()], "ricart-agrawala");
        let error = Node::new(machine(2, 3), config).start().await.unwrap_err();
        assert_eq!(error.to_string(), format!("there is no node {id} in a group of 1"));
    }
}

#[tokio::test]
async fn a_stopped_node_says_so() {
    let (mut nodes, _) = group(2).await;
    let (handle, ..) = nodes.remove(1);
    let same = handle.clone();
    soon("the shutdown", handle.shutdown()).await.unwrap();
    let error = same.command(ACQUIRE).await.unwrap_err();
    assert_eq!(error.to_string(), "the node has stopped: it was shut down");
    assert_eq!(same.status().await.unwrap_err().why, StopReason::ShutDown);
    assert_eq!(same.shutdown().await.unwrap_err().why, StopReason::ShutDown);

    let (handle, ..) = nodes.remove(0);
    let same = handle.clone();
    handle.kill().await;
    let error = same.command(ACQUIRE).await.unwrap_err();
    assert_eq!(error.to_string(), "the node has stopped: it was killed");
}

#[tokio::test]
async fn a_node_ends_with_its_last_handle() {
    let (mut nodes, peers) = group(2).await;
    let (handle, mut notices, mut events) = nodes.remove(0);
    drop(handle);
    while soon("the end", events.recv()).await.is_ok() {}
    assert_eq!(soon("the end", notices.recv()).await, None);
    // Its address is free.
    start(config(0, &peers), None).await;
}

#[tokio::test]
async fn commands_wait_until_all_have_met() {
    let (mut listeners, peers) = bind_loopback(2).await.unwrap();
    let (first, mut notices, _) = start(config(0, &peers), Some(listeners.remove(0))).await;
    let same = first.clone();
    let asked = tokio::spawn(async move { same.command(ACQUIRE).await });
    assert!(!first.status().await.unwrap().started);
    let _second = start(config(1, &peers), Some(listeners.remove(0))).await;
    soon("the answer", asked).await.unwrap().unwrap();
    soon("the entry", notices.recv()).await.unwrap();
    assert!(first.status().await.unwrap().started);
}

#[tokio::test]
async fn a_killed_peer_is_missed_and_the_others_run_on() {
    let (mut nodes, _) = group(3).await;
    let (victim, ..) = nodes.remove(2);
    victim.kill().await;
    for (handle, _, events) in &mut nodes {
        event(events, &["lost the connection with node 2"]).await;
        let status = handle.status().await.unwrap();
        assert!(matches!(status.links[1].state, LinkState::Connecting(_)));
        assert!(matches!(status.links[0].state, LinkState::Connected(_)));
        handle.command(ACQUIRE).await.unwrap();
        let status = handle.status().await.unwrap();
        assert_eq!(status.links[1].unacknowledged, 1, "kept for its return");
        assert!(status.machine.to_string().contains("phase waiting"), "{}", status.machine);
    }
}

#[tokio::test]
async fn a_restarted_node_that_dials_is_refused_and_fenced() {
    let (mut nodes, peers) = group(3).await;
    let (victim, ..) = nodes.remove(2);
    victim.kill().await;
    event(&mut nodes[0].2, &["lost the connection with node 2"]).await;
    nodes[0].0.command(ACQUIRE).await.unwrap();
    assert_eq!(nodes[0].0.status().await.unwrap().links[1].unacknowledged, 1);
    let (reborn, _, mut events) = start(config(2, &peers), None).await;
    let words = ["refused us: we were restarted and have lost our state"];
    event(&mut events, &words).await;
    event(&mut events, &["fenced"]).await;
    let error = soon("an answer", reborn.command(ACQUIRE)).await.unwrap_err();
    assert!(matches!(error, CommandError::Fenced(_)), "{error}");
    assert!(reborn.status().await.unwrap().fenced.is_some());
    for (handle, _, events) in &mut nodes {
        let words = ["we refused node 2 at 127.0.0.1:", "it was restarted and has lost its state"];
        event(events, &words).await;
        // Anybody can say that it is node 2. They ask where node 2 is to be found, and are told the
        // same; then nothing is kept for it any more.
        let words = ["node 2 refused us: it was restarted and has lost its state"];
        event(events, &words).await;
        let link = handle.status().await.unwrap().links.remove(1);
        assert!(matches!(link.state, LinkState::Gone(_)), "{}", link.state);
        assert_eq!((link.connections, link.unacknowledged), (1, 0));
    }
}

/// One after the other is killed, or leaves, and comes back: who comes back early waits until
/// nobody is left who remembers it.
#[tokio::test]
async fn a_group_that_is_restarted_one_by_one_begins_anew_in_any_order() {
    let orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]];
    for (order, is_polite) in orders.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let (old, peers) = group(3).await;
        let mut old: Vec<_> = old.into_iter().map(Some).collect();
        let mut new = Vec::new();
        for id in order {
            let (victim, ..) = old[id].take().unwrap();
            if is_polite {
                soon("the shutdown", victim.shutdown()).await.unwrap();
            } else {
                victim.kill().await;
            }
            let mut reborn = start(config(id as u32, &peers), None).await;
            if new.len() < 2 {
                event(&mut reborn.2, &["fenced"]).await;
                let error = soon("an answer", reborn.0.command(ACQUIRE)).await.unwrap_err();
                assert!(matches!(error, CommandError::Fenced(_)), "{error}");
            }
            new.push(reborn);
        }
        for node in &mut new {
            soon("the start", node.0.started()).await.unwrap();
            assert_eq!(node.0.status().await.unwrap().fenced, None);
        }
        for node in &mut new {
            take_turn(node).await;
        }
    }
}

#[tokio::test]
async fn whoever_restarts_while_the_group_gathers_is_let_in_again() {
    for (stays, leaves) in [(0, 1), (1, 0)] {
        for is_polite in [false, true] {
            let (mut listeners, peers) = bind_loopback(3).await.unwrap();
            drop(listeners.remove(leaves as usize));
            let mut one = start(config(stays, &peers), Some(listeners.remove(0))).await;
            for _ in 0..3 {
                let other = start(config(leaves, &peers), None).await;
                event(&mut one.2, &["connected", &format!("with node {leaves}")]).await;
                if is_polite {
                    soon("the shutdown", other.0.shutdown()).await.unwrap();
                    event(&mut one.2, &["has left for good"]).await;
                } else {
                    other.0.kill().await;
                    event(&mut one.2, &["lost the connection"]).await;
                }
            }
            let third = start(config(2, &peers), Some(listeners.remove(0))).await;
            event(&mut one.2, &["connected with node 2"]).await;
            assert!(!one.0.status().await.unwrap().started, "one is missing");
            let mut nodes = [one, start(config(leaves, &peers), None).await, third];
            for node in &mut nodes {
                soon("the start", node.0.started()).await.unwrap();
            }
            for node in &mut nodes {
                take_turn(node).await;
            }
        }
    }
}

#[tokio::test]
async fn a_restarted_node_that_is_dialled_is_refused_and_fenced() {
    let (mut nodes, peers) = group(3).await;
    let (victim, ..) = nodes.remove(0);
    victim.kill().await;
    let (reborn, _, mut events) = start(config(0, &peers), None).await;
    event(&mut events, &["fenced"]).await;
    let error = soon("an answer", reborn.command(ACQUIRE)).await.unwrap_err();
    assert!(error.to_string().contains("it was restarted"), "{error}");
    for (handle, _, events) in &mut nodes {
        event(events, &["node 0 refused us: it was restarted and has lost its state"]).await;
        let link = handle.status().await.unwrap().links.remove(0);
        assert!(matches!(link.state, LinkState::Gone(_)), "{}", link.state);
    }
    // The survivors still have each other.
    let link = nodes[0].0.status().await.unwrap().links.remove(1);
    assert!(matches!(link.state, LinkState::Connected(_)), "{}", link.state);
}
