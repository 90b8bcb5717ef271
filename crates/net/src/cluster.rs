//! A whole group inside one process, on loopback: for tests, benchmarks and a first look.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;
use vorrang_protocol::{NodeId, Protocol};

use crate::application::Application;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::NetError;
use crate::handle::Handle;
use crate::node::Node;
use crate::recorder::Log;

/// Binds a free port on 127.0.0.1 for each of `nodes`, and says their addresses.
///
/// # Errors
///
/// If the system has no port left.
pub async fn bind_loopback(nodes: u32) -> io::Result<(Vec<TcpListener>, Vec<String>)> {
    let mut listeners = Vec::new();
    let mut peers = Vec::new();
    for _ in 0..nodes {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        peers.push(listener.local_addr()?.to_string());
        listeners.push(listener);
    }
    Ok((listeners, peers))
}

/// Starts `nodes` nodes on loopback, each with an application inside.
///
/// `config` is for node 0 and any list of peers: both are filled in for each node. With a `log`,
/// all nodes record into it on one clock.
///
/// # Errors
///
/// If the system has no port left, or the configuration makes no sense.
pub async fn cluster_on_loopback<P: Protocol, A: Application<P>>(
    nodes: u32,
    config: &Config,
    mut machine: impl FnMut(NodeId) -> P,
    mut application: impl FnMut(NodeId) -> A,
    log: Option<&Log<P>>,
) -> Result<Vec<Handle<P::Command>>, NetError> {
    let (listeners, peers) = bind_loopback(nodes)
        .await
        .map_err(|source| NetError::Bind { address: "127.0.0.1:0".to_owned(), source })?;
    let clock = Clock::start();
    let mut handles = Vec::new();
    for (id, listener) in (0..).map(NodeId).zip(listeners) {
        let config = Config { id, peers: peers.clone(), ..config.clone() };
        let mut node = Node::new(machine(id), config).listener(listener);
        if let Some(log) = log {
            node = node.record(log.clone(), clock);
        }
        handles.push(node.start_with(application(id)).await?);
    }
    Ok(handles)
}
