//! Where streams of bytes come from: TCP, or whatever a test puts in its place.

use std::future::Future;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Makes connections.
///
/// What the implementor owes: a stream delivers bytes unaltered and in order, or ends with an error
/// or an end of file, at any byte. Nothing else is asked of it; the links above resend what a
/// connection took with it.
pub trait Transport: Clone + Send + Sync + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// Where others connect to.
    type Listener: Listener<Stream = Self::Stream>;

    /// Listens on an address.
    fn bind(&self, address: &str) -> impl Future<Output = io::Result<Self::Listener>> + Send;
    /// Connects to an address that another node listens on.
    fn connect(&self, address: &str) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// Takes connections.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream;

    /// The next connection, and where it comes from, for the log.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, String)>> + Send;
}

/// TCP, without Nagle's delay: a node writes all that one turn produced at once, so waiting for
/// more would only cost time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp;

impl Transport for Tcp {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn bind(&self, address: &str) -> io::Result<TcpListener> {
        TcpListener::bind(address).await
    }

    async fn connect(&self, address: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, String)> {
        let (stream, from) = TcpListener::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok((stream, from.to_string()))
    }
}
