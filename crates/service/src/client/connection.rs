//! A connection with a daemon, over its Unix socket, TCP or TLS.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{ANSWERS_WITHIN, ClientError, Server, Target};

/// A connection, and the task that drives it.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // It is closed at once, whatever is under way.
        self.driver.abort();
    }
}

/// Connections over which nothing is said at the moment.
#[derive(Debug, Default)]
pub(super) struct Idle(Mutex<Vec<Connection>>);

/// How many of them are kept at most.
const KEPT: usize = 8;

impl Idle {
    fn list(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that is open, as far as is known here, if there is one.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut list = self.list();
        list.retain(Connection::is_open);
        list.pop()
    }

    /// Keeps one, of which the last answer was read to its end.
    pub(super) fn put(&self, connection: Connection) {
        let mut list = self.list();
        if connection.is_open() && list.len() < KEPT {
            list.push(connection);
        }
    }
}

/// Why nothing came back.
pub(super) enum Unanswered {
    Silent,
    Broken(hyper::Error),
}

impl Unanswered {
    pub(super) fn on(self, target: &Target) -> ClientError {
        match self {
            Self::Silent => ClientError::Silent(target.to_string()),
            Self::Broken(why) => broken(&why, target),
        }
    }
}

/// A connection broke. What the system or TLS has said is deep inside.
pub(super) fn broken(error: &hyper::Error, target: &Target) -> ClientError {
    let inner = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    let why = inner.map_or_else(|| error.to_string(), ToString::to_string);
    ClientError::Broken { target: target.to_string(), why }
}

impl Connection {
    pub(super) async fn open(target: &Target) -> Result<Self, ClientError> {
        match timeout(ANSWERS_WITHIN, connect(target)).await {
            Ok(connected) => connected,
            Err(_) => Err(ClientError::Silent(target.to_string())),
        }
    }

    async fn over<S>(stream: S, target: &Target) -> Result<Self, ClientError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|why| broken(&why, target))?;
        // How it ends is seen by those who wait for something.
        let driver = tokio::spawn(async { drop(connection.await) });
        Ok(Self { sender, driver })
    }

    fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let exchange = async {
            self.sender.ready().await?;
            self.sender.send_request(request).await
        };
        match timeout(ANSWERS_WITHIN, exchange).await {
            Ok(answer) => answer.map_err(Unanswered::Broken),
            Err(_) => Err(Unanswered::Silent),
        }
    }
}

async fn connect(target: &Target) -> Result<Connection, ClientError> {
    let nobody = |why| ClientError::NoDaemon { target: target.to_string(), why };
    match target {
        Target::Socket(path) => {
            let stream = UnixStream::connect(path).await.map_err(nobody)?;
            if is_in_public(path) {
                is_trusted(&stream).map_err(nobody)?;
            }
            Connection::over(stream, target).await
        }
        Target::Server(Server { address, tls }) => {
            let stream = TcpStream::connect(address).await.map_err(nobody)?;
            stream.set_nodelay(true).map_err(nobody)?;
            match tls {
                None => Connection::over(stream, target).await,
                Some(tls) => {
                    let (stream, _) = tls.connect(stream).await.map_err(|why| {
                        let (target, why) = (target.to_string(), why.to_string());
                        ClientError::NotTrusted { target, why }
                    })?;
                    Connection::over(stream, target).await
                }
            }
        }
    }
}

/// Whether anybody could have put a socket there.
fn is_in_public(path: &Path) -> bool {
    path.parent() == Some(Path::new("/tmp"))
}

/// Whether whoever listens is this user, or the administrator.
fn is_trusted(stream: &UnixStream) -> io::Result<()> {
    let (theirs, ours) = (stream.peer_cred()?.uid(), rustix::process::getuid().as_raw());
    if theirs == ours || theirs == 0 {
        return Ok(());
    }
    let why = format!("it belongs to user {theirs}, and this is user {ours}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}
