//! TLS for clients on other machines, which speak HTTP over it.
//!
//! A member accepts all clients of its authority, and members, which ask each other who holds what;
//! what a client may do is for the service to say, which is told its name. A client accepts every
//! member as a server: each of them hands out locks, whichever it has called.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::certificate::{Certificate, Holder, Role};
use super::files::{KeyFiles, Loaded};
use super::pem::KeyError;
use super::rustls_config::{client, nominal, server};
use super::sentence::shake_hands;
use super::stream::holder;
use super::verifier::Accepts;

/// What is spoken over it.
const PROTOCOL: &[u8] = b"http/1.1";
/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The side of a member.
#[derive(Clone, Debug)]
pub struct Remote {
    acceptor: Arc<ServerConfig>,
    connector: ClientTls,
}

impl Remote {
    pub(super) fn new(loaded: &Loaded) -> Self {
        Self { acceptor: server(loaded, Accepts::All, PROTOCOL), connector: ClientTls::new(loaded) }
    }

    /// Goes through the handshake with one that has connected, within five seconds, and says who it
    /// is: a client of this name, or a member. Handshakes should not wait for each other, nor be
    /// unbounded in number.
    ///
    /// # Errors
    ///
    /// If it has no certificate of our authority that is valid now, as a sentence.
    pub async fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<(tokio_rustls::server::TlsStream<TcpStream>, Holder)> {
        stream.set_nodelay(true)?;
        let ours = &self.connector.certificate;
        let acceptor = TlsAcceptor::from(Arc::clone(&self.acceptor));
        let handshake = shake_hands(acceptor.accept(stream).into_fallible(), ours);
        let stream = timeout(PATIENCE, handshake).await.map_err(|_| too_slow())??;
        let who = holder(stream.get_ref().1.peer_certificates()).ok_or_else(nobody)?;
        Ok((stream, who))
    }

    /// For calling another member, with our own certificate.
    pub const fn connector(&self) -> &ClientTls {
        &self.connector
    }
}

/// The side of a client.
#[derive(Clone, Debug)]
pub struct ClientTls {
    connector: Arc<ClientConfig>,
    certificate: Certificate,
}

impl ClientTls {
    fn new(loaded: &Loaded) -> Self {
        Self {
            connector: client(loaded, Accepts::Members, PROTOCOL),
            certificate: loaded.certificate.clone(),
        }
    }

    /// Reads the keys of a client, or of a member that acts as one.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, they do not belong together, or the certificate is not valid now.
    pub fn load(files: &KeyFiles) -> Result<Self, KeyError> {
        Loaded::read(files).map(|loaded| Self::new(&loaded))
    }

    /// Our own certificate.
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Goes through the handshake with a member that we have connected with, within five seconds,
    /// and says which it is.
    ///
    /// # Errors
    ///
    /// If it is no member of our authority, as a sentence. That it refuses us is an error of the
    /// first read.
    pub async fn connect(
        &self,
        stream: TcpStream,
    ) -> io::Result<(tokio_rustls::client::TlsStream<TcpStream>, Holder)> {
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(Arc::clone(&self.connector));
        let handshake = connector.connect(nominal(), stream).into_fallible();
        let handshake = shake_hands(handshake, &self.certificate);
        let stream = timeout(PATIENCE, handshake).await.map_err(|_| too_slow())??;
        let who = holder(stream.get_ref().1.peer_certificates()).ok_or_else(nobody)?;
        debug_assert_eq!(who.role, Role::Member);
        Ok((stream, who))
    }

    /// An error of a connection that was made, as a sentence: what TLS has to do with it is said in
    /// words, also if it is deep inside of an error of another library.
    pub fn explain(&self, error: io::Error) -> io::Error {
        super::sentence::after(error, &self.certificate)
    }
}

fn too_slow() -> io::Error {
    let why = format!("no whole TLS handshake within {} s", PATIENCE.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, why)
}

fn nobody() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its certificate names nobody")
}
