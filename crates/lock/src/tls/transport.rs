//! The transport of members that have keys.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::{ClientConfig, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use vorrang_net::{Listener, Tcp, Transport};

use crate::config::{Config, TlsFiles};

use super::certificate::{Certificate, Holder};
use super::files::{Current, KeyFiles, Loaded};
use super::member_list::MemberList;
use super::pem::KeyError;
use super::remote::Remote;
use super::rustls_config::{client, nominal, server};
use super::sentence::shake_hands;
use super::stream::TlsStream;
use super::verifier::Accepts;

/// What members speak over TLS, so that their connections are not taken for those of clients.
const PROTOCOL: &[u8] = b"vorrang-member";

/// TLS between members, with the keys of one of them: a [`Transport`], and what clients on other
/// machines connect with ([`remote`](Self::remote)). All clones share the keys.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    files: KeyFiles,
    name: String,
    keys: Current<Keys>,
    /// One change at a time.
    changes: Mutex<()>,
}

/// The keys as they were read last, put together for each use.
#[derive(Debug)]
struct Keys {
    loaded: Loaded,
    certificate: Arc<Certificate>,
    members: Arc<MemberList>,
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    remote: Remote,
}

impl Keys {
    fn new(loaded: Loaded, members: Arc<MemberList>) -> Self {
        let listed = || Accepts::Listed(Arc::clone(&members));
        Self {
            certificate: Arc::new(loaded.certificate.clone()),
            server: server(&loaded, listed(), PROTOCOL),
            client: client(&loaded, listed(), PROTOCOL),
            remote: Remote::new(&loaded),
            members,
            loaded,
        }
    }
}

impl Tls {
    /// Reads the keys of the member of this name, which is one of these members.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, they do not belong together, the certificate is not that of the
    /// member, or it is not valid now.
    pub fn load(files: KeyFiles, name: &str, members: MemberList) -> Result<Self, KeyError> {
        let loaded = load(&files, name)?;
        if !members.has(name) {
            let why = format!(
                "the certificate is that of member {name}, which is not one of the members {}",
                members.names()
            );
            return Err(KeyError::Wrong { path: files.certificate, why });
        }
        let (name, changes) = (name.to_owned(), Mutex::default());
        let keys = Current::new(Keys::new(loaded, Arc::new(members)));
        Ok(Self(Arc::new(Shared { files, name, keys, changes })))
    }

    /// The keys of a configuration, if it has any.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn of(config: &Config) -> Result<Option<Self>, KeyError> {
        let Some(TlsFiles { authority, certificate, key, newcomers: _ }) = config.tls.clone()
        else {
            return Ok(None);
        };
        let files = KeyFiles { authority, certificate, key };
        Self::load(files, config.own_name(), MemberList::of(config)).map(Some)
    }

    /// Reads the files again. Connections that are made from now on use what is in them; others go
    /// on. Returns the new certificate.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); then everything stays as it was.
    pub fn reload(&self) -> Result<Certificate, KeyError> {
        let _alone = self.0.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = load(&self.0.files, &self.0.name)?;
        let certificate = loaded.certificate.clone();
        let members = Arc::clone(&self.0.keys.get().members);
        self.0.keys.set(Keys::new(loaded, members));
        Ok(certificate)
    }

    /// Accepts other members from now on; connections that exist go on.
    pub fn accept_members(&self, members: MemberList) {
        let _alone = self.0.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = self.0.keys.get().loaded.clone();
        self.0.keys.set(Keys::new(loaded, Arc::new(members)));
    }

    /// Our certificate, as it was read last: for the log and for metrics, which warn before it
    /// expires.
    pub fn certificate(&self) -> Certificate {
        self.0.keys.get().loaded.certificate.clone()
    }

    /// The certificate of the authority, as it was read last.
    pub fn authority(&self) -> Certificate {
        self.0.keys.get().loaded.authority.clone()
    }

    /// What clients on other machines connect with, with the keys as they are now: to be asked for
    /// again for each connection.
    pub fn remote(&self) -> Remote {
        self.0.keys.get().remote.clone()
    }
}

fn load(files: &KeyFiles, name: &str) -> Result<Loaded, KeyError> {
    let loaded = Loaded::read(files)?;
    if *loaded.holder() != Holder::member(name) {
        let why =
            format!("the certificate is that of {}, and this is member {name}", loaded.holder());
        return Err(KeyError::Wrong { path: files.certificate.clone(), why });
    }
    Ok(loaded)
}

impl Transport for Tls {
    type Stream = TlsStream;
    type Listener = TlsListener;

    async fn bind(&self, address: &str) -> io::Result<TlsListener> {
        Ok(self.listen(Transport::bind(&Tcp, address).await?))
    }

    async fn connect(&self, address: &str) -> io::Result<TlsStream> {
        let stream = Transport::connect(&Tcp, address).await?;
        let keys = self.0.keys.get();
        let connector = TlsConnector::from(Arc::clone(&keys.client));
        let handshake = connector.connect(nominal(), stream).into_fallible();
        let stream = shake_hands(handshake, &keys.certificate).await?;
        let (ours, members) = (Arc::clone(&keys.certificate), Arc::clone(&keys.members));
        Ok(TlsStream::open(Box::new(stream.into()), ours, members))
    }
}

impl Tls {
    /// Takes connections from a listener that is bound already.
    pub fn listen(&self, listener: TcpListener) -> TlsListener {
        TlsListener { listener, tls: self.clone() }
    }

    fn take(&self, stream: TcpStream) -> TlsStream {
        let keys = self.0.keys.get();
        let (ours, members) = (Arc::clone(&keys.certificate), Arc::clone(&keys.members));
        let acceptor = TlsAcceptor::from(Arc::clone(&keys.server));
        let handshake = acceptor.accept(stream).into_fallible();
        let shaking = async move {
            let stream = shake_hands(handshake, &keys.certificate).await?;
            Ok(Box::new(stream.into()))
        };
        TlsStream::incoming(Box::pin(shaking), ours, members)
    }
}

/// A listener of [`Tls`].
#[derive(Debug)]
pub struct TlsListener {
    listener: TcpListener,
    tls: Tls,
}

impl Listener for TlsListener {
    type Stream = TlsStream;

    async fn accept(&mut self) -> io::Result<(TlsStream, String)> {
        let (stream, from) = Listener::accept(&mut self.listener).await?;
        Ok((self.tls.take(stream), from))
    }
}
