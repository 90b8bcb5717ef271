//! Keys, members with keys, and strangers that speak TLS as they like.

use std::cell::Cell;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;
use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_lock::tls::issue::{Authority, Issued, Validity};
use vorrang_lock::tls::{Holder, KeyFiles, MemberList, Tls};
use vorrang_net::hello::{Hello, Introduction};
use vorrang_net::wire::{self, Frame};
use vorrang_net::{Config, Event, Handle, Node, Timing};
use vorrang_protocol::{Group, Never, NodeId};
use vorrang_testkit::Folder;

/// Bounds hanging, nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// The members of all groups here, in this order.
pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// An authority, and a folder for what it issues.
pub(super) struct Keys {
    folder: Folder,
    pub(super) authority: Authority,
    made: Cell<u32>,
}

impl Keys {
    pub(super) fn new() -> Self {
        let folder = Folder::new("tls");
        let (authority, files) = Authority::create(Validity::days(10)).unwrap();
        std::fs::write(folder.file("ca.pem"), files.certificate).unwrap();
        Self { folder, authority, made: Cell::new(0) }
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.folder.file("ca.pem")
    }

    /// A new certificate, valid now.
    pub(super) fn issue(&self, holder: &Holder) -> Issued {
        self.authority.issue(holder, &[], Validity::days(5)).unwrap()
    }

    /// A certificate that is valid for an hour, beginning so many hours after now.
    pub(super) fn issue_at(&self, holder: &Holder, hours: i32) -> Issued {
        self.authority.issue(holder, &[], an_hour(hours)).unwrap()
    }

    /// Writes it to files of its own.
    pub(super) fn write(&self, issued: &Issued) -> KeyFiles {
        let number = self.made.replace(self.made.get() + 1);
        let place = |end: &str| self.folder.file(&format!("{number}.{end}"));
        let files = KeyFiles { authority: self.ca(), certificate: place("pem"), key: place("key") };
        std::fs::write(&files.certificate, &issued.certificate).unwrap();
        write_key(&files.key, &issued.key);
        files
    }

    pub(super) fn files(&self, holder: &Holder) -> KeyFiles {
        self.write(&self.issue(holder))
    }

    /// The TLS of the member of this number.
    pub(super) fn member(&self, id: u32, peers: &[String]) -> Tls {
        let name = NAMES[id as usize];
        Tls::load(self.files(&Holder::member(name)), name, list(peers)).unwrap()
    }
}

/// An hour that begins so many hours after now.
pub(super) fn an_hour(from: i32) -> Validity {
    let hour = Duration::from_secs(3600);
    let distance = hour * from.unsigned_abs();
    let now = SystemTime::now();
    let not_before = if from < 0 { now - distance } else { now + distance };
    Validity { not_before, not_after: not_before + hour }
}

pub(super) fn write_key(path: &Path, key: &str) {
    std::fs::write(path, key).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

pub(super) fn list(peers: &[String]) -> MemberList {
    MemberList::new(NAMES.into_iter().zip(peers.iter().cloned()))
}

/// So many places on this machine, and where they are.
pub(super) async fn places(nodes: usize) -> (Vec<TcpListener>, Vec<String>) {
    let mut listeners = Vec::new();
    for _ in 0..nodes {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    let peers = listeners.iter().map(|it| it.local_addr().unwrap().to_string()).collect();
    (listeners, peers)
}

/// A member that runs.
pub(super) struct Running {
    pub(super) handle: Handle<Command>,
    notices: mpsc::UnboundedReceiver<Notice>,
    events: broadcast::Receiver<Event>,
}

pub(super) fn config(id: u32, peers: &[String]) -> Config {
    let timing = Timing {
        backoff_min: Duration::from_millis(1),
        backoff_max: Duration::from_millis(50),
        ..Timing::default()
    };
    Config { timing, ..Config::new(NodeId(id), peers.to_vec(), "ricart-agrawala") }
}

fn machine(id: u32, peers: &[String]) -> RicartAgrawala {
    RicartAgrawala::new(NodeId(id), Group::of(peers.len() as u32))
}

/// A member with these keys.
pub(super) async fn start(tls: &Tls, listener: TcpListener, config: Config) -> Running {
    let machine = machine(config.id.0, &config.peers);
    let node = Node::over(tls.clone(), machine, config).listener(tls.listen(listener));
    Running::new(node.start().await.unwrap())
}

/// A member without keys.
pub(super) async fn start_plain(listener: TcpListener, config: Config) -> Running {
    let node = Node::new(machine(config.id.0, &config.peers), config).listener(listener);
    Running::new(node.start().await.unwrap())
}

/// All members, which have met.
pub(super) async fn group(keys: &Keys) -> (Vec<Running>, Vec<String>) {
    let (listeners, peers) = places(NAMES.len()).await;
    let mut nodes = Vec::new();
    for (id, listener) in (0..).zip(listeners) {
        nodes.push(start(&keys.member(id, &peers), listener, config(id, &peers)).await);
    }
    for node in &nodes {
        soon("the start", node.handle.started()).await.unwrap();
    }
    (nodes, peers)
}

impl Running {
    fn new((handle, notices): (Handle<Command>, mpsc::UnboundedReceiver<Notice>)) -> Self {
        let events = handle.events();
        Self { handle, notices, events }
    }

    /// Enters and leaves once.
    pub(super) async fn take_turn(&mut self) {
        self.handle.command(Command::Acquire(Claim::Exclusive)).await.unwrap();
        assert_eq!(soon("an entry", self.notices.recv()).await, Some(Notice::Entered));
        self.handle.command(Command::Release).await.unwrap();
    }

    /// The next event whose sentence has all of these words in it.
    pub(super) async fn event(&mut self, words: &[&str]) -> String {
        let mut seen = Vec::new();
        let search = async {
            loop {
                let sentence = self.events.recv().await.expect("the node runs").to_string();
                if words.iter().all(|word| sentence.contains(word)) {
                    return sentence;
                }
                seen.push(sentence);
            }
        };
        let outcome = timeout(PATIENCE, search).await;
        outcome.unwrap_or_else(|_| panic!("no event with {words:?} among {seen:#?}"))
    }

    /// How many connections there have been with a peer.
    pub(super) async fn connections(&self, peer: u32) -> u64 {
        let links = self.handle.status().await.unwrap().links;
        links.iter().find(|it| it.peer == NodeId(peer)).unwrap().connections
    }
}

/// What member `sender` says first to member `target`.
pub(super) fn hello(sender: u32, target: u32, peers: &[String]) -> Hello {
    let who = Introduction {
        group: "default".into(),
        algorithm: "ricart-agrawala".into(),
        setup: String::new(),
        peers: peers.to_vec(),
        sender: NodeId(sender),
        target: NodeId(target),
        generation: 0,
        founders: 0,
        start: None,
    };
    let (knows, returns) = (None, false);
    Hello { who, heartbeat_ms: 1, incarnation: 1, knows, received: 0, attempt: 1, returns }
}

/// A frame as it goes over a connection.
pub(super) fn bytes(frame: &Frame<Never>) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::encode(frame, &mut bytes).unwrap();
    bytes
}

/// The first frame that comes, or why none does.
pub(super) async fn first_frame(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Frame<Never>, String> {
    let mut read = Vec::new();
    loop {
        if let Some((frame, _)) = wire::decode(&read).map_err(|error| error.to_string())? {
            return Ok(frame);
        }
        match soon("a frame", stream.read_buf(&mut read)).await {
            Ok(0) => return Err("closed".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// What a stranger shows: a certificate, if any, with its key.
pub(super) struct Shown {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Shown {
    /// Does not ask whether the two belong together.
    fn resolver(&self) -> Arc<SingleCertAndKey> {
        let key = provider().key_provider.load_private_key(self.key.clone_key()).unwrap();
        Arc::new(CertifiedKey::new(self.chain.clone(), key).into())
    }
}

impl From<&Issued> for Shown {
    fn from(issued: &Issued) -> Self {
        let chain = CertificateDer::pem_slice_iter(issued.certificate.as_bytes());
        Self {
            chain: chain.collect::<Result<_, _>>().unwrap(),
            key: PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap(),
        }
    }
}

/// Believes whatever it is shown.
#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Credulous {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

type Version = &'static SupportedProtocolVersion;

/// A stranger that calls: it believes everybody, and shows what it likes.
pub(super) async fn call(
    address: &str,
    shown: Option<&Shown>,
    version: Version,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    call_as(&caller(shown, version), address).await
}

/// How a stranger calls. It resumes sessions if it can.
pub(super) fn caller(shown: Option<&Shown>, version: Version) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Credulous));
    Arc::new(match shown {
        Some(shown) => config.with_client_cert_resolver(shown.resolver()),
        None => config.with_no_client_auth(),
    })
}

pub(super) async fn call_as(
    caller: &Arc<ClientConfig>,
    address: &str,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(caller));
    let stream = TcpStream::connect(address).await?;
    soon("a handshake", connector.connect(ServerName::try_from("x").unwrap(), stream)).await
}

/// A stranger that is called: the same. What it is told by each one that calls goes into the
/// channel: the first frame, or why there was none.
pub(super) fn answer(
    listener: TcpListener,
    shown: &Shown,
    version: Version,
) -> mpsc::UnboundedReceiver<Result<Frame<Never>, String>> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(Arc::new(Credulous))
        .with_cert_resolver(shown.resolver());
    config.alpn_protocols = vec![b"vorrang-member".to_vec(), b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let heard = match soon("a handshake", acceptor.accept(stream)).await {
                Ok(mut stream) => first_frame(&mut stream).await,
                Err(error) => Err(error.to_string()),
            };
            if tell.send(heard).is_err() {
                return;
            }
        }
    });
    told
}
