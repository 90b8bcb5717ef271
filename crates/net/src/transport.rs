//! The transport: TCP, TLS over it, or a substitute in tests.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use vorrang_protocol::NodeId;

/// Makes connections.
///
/// The implementor guarantees: a stream delivers bytes unaltered and in order, or ends with an
/// error or an end of file, at any byte. The links above retransmit what a lost connection took
/// with it.
pub trait Transport: Clone + Send + Sync + 'static {
    /// A connection.
    type Stream: Stream;
    /// Where others connect to.
    type Listener: Listener<Stream = Self::Stream>;

    /// Listens on an address.
    fn bind(&self, address: &str) -> impl Future<Output = io::Result<Self::Listener>> + Send;
    /// Connects to an address that another node listens on.
    fn connect(&self, address: &str) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// A connection: bytes in both directions, and what the other end has proved of itself.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Whether the other end has proved to be the member that it claims to be, or that was dialled.
    ///
    /// A node asks once a connection and never again: of a connection that it has made before it
    /// says anything over it, of one that it has taken after the first frame has come. A transport
    /// that authenticates nobody believes everybody, which is the default.
    ///
    /// # Errors
    ///
    /// If it has proved to be somebody else.
    fn proves(&self, claim: Claim<'_>) -> Result<(), Unproved> {
        let _ = claim;
        Ok(())
    }
}

impl Stream for TcpStream {}

/// In memory, for tests.
impl Stream for DuplexStream {}

/// The member at the other end of a connection, as it says or as we expect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim<'a> {
    /// Its id; none if it asks for one.
    pub node: Option<NodeId>,
    /// Where others find it.
    pub address: &'a str,
}

/// The name that the other end of a connection has proved to have is not that of the member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unproved {
    /// The name of the member; none if there is no such member.
    pub expected: Option<String>,
    /// The name that was proved.
    pub proved: String,
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

/// A connection of any transport.
pub(crate) type AnyStream = Box<dyn Stream>;
type Promise<'a, X> = Pin<Box<dyn Future<Output = io::Result<X>> + Send + 'a>>;

/// A transport of which the node's task need not know which it is, so that the task is compiled
/// here and not again in every program. A read or write through it costs a call more, beside a call
/// of the system.
pub(crate) trait ErasedTransport: Send + Sync {
    fn bind<'a>(&'a self, address: &'a str) -> Promise<'a, Box<dyn ErasedListener>>;
    fn connect<'a>(&'a self, address: &'a str) -> Promise<'a, AnyStream>;
}

pub(crate) type AnyTransport = Arc<dyn ErasedTransport>;

/// A listener of such a transport.
pub(crate) trait ErasedListener: Send {
    fn accept(&mut self) -> Promise<'_, (AnyStream, String)>;
}

impl<T: Transport> ErasedTransport for T {
    fn bind<'a>(&'a self, address: &'a str) -> Promise<'a, Box<dyn ErasedListener>> {
        Box::pin(async move {
            let listener = Transport::bind(self, address).await?;
            Ok(Box::new(listener) as Box<dyn ErasedListener>)
        })
    }

    fn connect<'a>(&'a self, address: &'a str) -> Promise<'a, AnyStream> {
        Box::pin(async move {
            let stream = Transport::connect(self, address).await?;
            Ok(Box::new(stream) as AnyStream)
        })
    }
}

impl<L: Listener<Stream: Stream>> ErasedListener for L {
    fn accept(&mut self) -> Promise<'_, (AnyStream, String)> {
        Box::pin(async move {
            let (stream, from) = Listener::accept(self).await?;
            Ok((Box::new(stream) as AnyStream, from))
        })
    }
}
