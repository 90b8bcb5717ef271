//! The transport of a group of one: there is nobody else, and nobody can come.

use std::future::pending;
use std::io;

use tokio::io::DuplexStream;
use vorrang_net::{Listener, Transport};

/// Reaches nobody, and nobody is reached by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nowhere;

/// The address of its one member. Nobody listens there.
pub(crate) const ADDRESS: &str = "localhost:1";

impl Transport for Nowhere {
    type Stream = DuplexStream;
    type Listener = Self;

    async fn bind(&self, _: &str) -> io::Result<Self> {
        Ok(Self)
    }

    async fn connect(&self, _: &str) -> io::Result<DuplexStream> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Listener for Nowhere {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<(DuplexStream, String)> {
        pending().await
    }
}
