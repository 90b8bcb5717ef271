//! Addresses for a whole group on this machine: for tests, benchmarks and a first look.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;

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
