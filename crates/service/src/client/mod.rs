//! A client of the daemon, over its Unix socket or over TCP.
//!
//! ```no_run
//! use vorrang_service::api::{HoldEvent, HoldRequest};
//! use vorrang_service::client::{Client, Target, new_id};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Target::usual());
//! let id = new_id();
//! let mut hold = client.hold(&id, &HoldRequest::lock("invoices")).await?;
//! while let Some(event) = hold.next().await? {
//!     if let HoldEvent::Granted { token, .. } = event {
//!         println!("held with {token}");
//!         break;
//!     }
//! }
//! client.release(&id).await?;
//! # Ok(())
//! # }
//! ```

mod connection;
mod stream;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use vorrang_lock::tls::ClientTls;

use self::connection::{Connection, Idle};
pub use self::stream::{ElectionStream, HoldStream, Stream};
use crate::api::{
    Code, Hold, HoldProcess, HoldRequest, Locks, Members, Refusal, Renewal, VERSION, VERSION_HEADER,
};
use crate::failure::Failure;

/// How long the daemon may take to begin an answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// How long an answer or a line of a stream may be at most, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

/// Where the daemon is.
#[derive(Clone, Debug)]
pub enum Target {
    /// On this machine, at this Unix socket.
    Socket(PathBuf),
    /// On another one, or at a port of this one.
    Server(Server),
}

/// A daemon that is reached over TCP.
#[derive(Clone, Debug)]
pub struct Server {
    /// `host:port`.
    pub address: String,
    /// The keys by which each proves to the other who it is; without, it must be on this machine.
    pub tls: Option<ClientTls>,
}

impl Target {
    /// The socket at which the daemon listens if it is not told otherwise.
    pub fn usual() -> Self {
        Self::Socket(usual_socket())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Server(server) => f.write_str(&server.address),
        }
    }
}

/// `$XDG_RUNTIME_DIR/vorrang.sock`; where there is none, `/run/vorrang.sock` for the administrator
/// and `/tmp/vorrang-UID.sock` for others.
pub fn usual_socket() -> PathBuf {
    let directory = std::env::var_os("XDG_RUNTIME_DIR").filter(|it| Path::new(it).is_absolute());
    match directory {
        Some(directory) => Path::new(&directory).join("vorrang.sock"),
        None => match rustix::process::getuid() {
            user if user.is_root() => PathBuf::from("/run/vorrang.sock"),
            user => PathBuf::from(format!("/tmp/vorrang-{}.sock", user.as_raw())),
        },
    }
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers there.
    #[error("no daemon answers at {target}: {why}; `vorrang serve` starts one")]
    NoDaemon {
        /// Where.
        target: String,
        /// Why not.
        why: io::Error,
    },
    /// It does not answer in time.
    #[error("the daemon at {0} has not answered for {ANSWERS_WITHIN:?}")]
    Silent(String),
    /// One of the two has no certificate that the other accepts.
    #[error("no connection with {target}: {why}")]
    NotTrusted {
        /// Where.
        target: String,
        /// Why not.
        why: String,
    },
    /// The answer is no.
    #[error("{}", .refusal.error)]
    Refused {
        /// The status of the answer.
        status: u16,
        /// Why.
        refusal: Refusal,
    },
    /// The connection broke before all was said.
    #[error("the connection to the daemon at {target} broke: {why}")]
    Broken {
        /// Where.
        target: String,
        /// How.
        why: String,
    },
    /// What answers there is no daemon of this project, or one of another version.
    #[error("what answers at {target} is not understood: {why}")]
    NotUnderstood {
        /// Where.
        target: String,
        /// What is wrong.
        why: String,
    },
}

impl ClientError {
    /// The code of the refusal, if it is one.
    pub const fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.code),
            Self::NoDaemon { .. }
            | Self::Silent(_)
            | Self::NotTrusted { .. }
            | Self::Broken { .. }
            | Self::NotUnderstood { .. } => None,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let why = error.to_string();
        match error.code() {
            None | Some(Code::Unavailable | Code::Leaving | Code::TooMany) => {
                Self::Unavailable(why)
            }
            Some(Code::BadRequest | Code::TooLarge | Code::NoSuchMember | Code::UnknownVersion) => {
                Self::Usage(why)
            }
            Some(Code::NotYours | Code::NotAllowed | Code::LocalOnly) => Self::Denied(why),
            Some(Code::NoSuchHold | Code::HoldOver) => Self::Lost(why),
            Some(Code::NotFound | Code::WrongMethod | Code::TooSlow | Code::OtherHold) => {
                Self::Failed(why)
            }
        }
    }
}

/// An id for a hold that nobody else has.
pub fn new_id() -> String {
    let mut bytes = [0; 16];
    // It is there in every process, and so few bytes are never interrupted.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .expect("the system has random numbers");
    format!("{:032x}", u128::from_ne_bytes(bytes))
}

/// A client. Every stream has a connection of its own for as long as it lasts; connections are kept
/// for what is asked next.
#[derive(Debug)]
pub struct Client {
    target: Target,
    idle: Arc<Idle>,
}

impl Client {
    /// A client of the daemon that is there. Nothing is said yet.
    pub fn new(target: Target) -> Self {
        Self { target, idle: Arc::default() }
    }

    /// Where the daemon is.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Asks for a hold under this id (see [`new_id`]), or looks on at the one that was asked for
    /// under it before. On a Unix socket to drop the stream gives the hold back.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn hold(&self, id: &str, request: &HoldRequest) -> Result<HoldStream, ClientError> {
        self.stream(Method::PUT, &format!("/v1/holds/{id}"), Some(request)).await
    }

    /// Says that the client of this hold is alive: over TCP, before the time is over that the last
    /// answer has stated.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn renew(&self, id: &str) -> Result<Renewal, ClientError> {
        self.ask(Method::POST, &format!("/v1/holds/{id}/renew"), NOTHING).await
    }

    /// Tells the daemon which process group works under the hold: see [`HoldProcess`].
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn process(&self, id: &str, pgid: Option<u32>) -> Result<(), ClientError> {
        let body = HoldProcess { pgid };
        self.tell(Method::POST, &format!("/v1/holds/{id}/process"), Some(&body)).await
    }

    /// Gives the hold back, or waits for it no more. When this returns, it is done.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn release(&self, id: &str) -> Result<(), ClientError> {
        self.tell(Method::DELETE, &format!("/v1/holds/{id}"), NOTHING).await
    }

    /// Takes the hold away from whoever has it: on the Unix socket alone, and logged.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn force_release(&self, id: &str) -> Result<(), ClientError> {
        self.tell(Method::DELETE, &format!("/v1/holds/{id}?force=true"), NOTHING).await
    }

    /// How a hold stands.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn show(&self, id: &str) -> Result<Hold, ClientError> {
        self.ask(Method::GET, &format!("/v1/holds/{id}"), NOTHING).await
    }

    /// All holds of the group, or those of this member alone.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn locks(&self, local: bool) -> Result<Locks, ClientError> {
        self.ask(Method::GET, &format!("/v1/locks?local={local}"), NOTHING).await
    }

    /// The members of the group.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn members(&self) -> Result<Members, ClientError> {
        self.ask(Method::GET, "/v1/members", NOTHING).await
    }

    /// Has the group go on without this member, as it is now, and without its vote. If it is up, it
    /// comes in again.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses; or the members do not agree in time.
    pub async fn evict(&self, member: &str) -> Result<(), ClientError> {
        let path = format!("/v1/members/{}/evict", in_path(member));
        self.tell(Method::POST, &path, NOTHING).await
    }

    /// Lets this member vote, with the data directory that it has now.
    ///
    /// # Errors
    ///
    /// As of [`evict`](Self::evict).
    pub async fn add_voter(&self, member: &str) -> Result<(), ClientError> {
        let path = format!("/v1/members/{}/add", in_path(member));
        self.tell(Method::POST, &path, NOTHING).await
    }

    /// Who leads, from now on.
    ///
    /// # Errors
    ///
    /// If the daemon does not answer, or refuses.
    pub async fn observe(&self, name: &str) -> Result<ElectionStream, ClientError> {
        self.stream(Method::GET, &format!("/v1/elections/{}", in_path(name)), NOTHING).await
    }

    async fn stream<B: Serialize + Sync, T>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<Stream<T>, ClientError> {
        let (answer, connection) = self.send(&method, path, body).await?;
        let body = self.accepted(answer).await?.into_body();
        Ok(Stream::new(self.target.clone(), body, (connection, Arc::clone(&self.idle))))
    }

    async fn ask<B: Serialize + Sync, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<T, ClientError> {
        let bytes = self.exchange(&method, path, body).await?;
        serde_json::from_slice(&bytes).map_err(|why| self.not_understood(why))
    }

    async fn tell<B: Serialize + Sync>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<(), ClientError> {
        self.exchange(&method, path, body).await.map(drop)
    }

    /// One request and its whole answer.
    async fn exchange<B: Serialize + Sync>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<Bytes, ClientError> {
        let (answer, connection) = self.send(method, path, body).await?;
        let bytes = self.whole(answer).await?;
        self.idle.put(connection);
        Ok(bytes)
    }

    /// One request, over a connection that was kept. If that has gone stale meanwhile, over another
    /// one: requests may be repeated.
    async fn send<B: Serialize + Sync>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<(Response<Incoming>, Connection), ClientError> {
        if let Some(mut connection) = self.idle.take()
            && let Ok(answer) = connection.send(self.request(method, path, body)).await
        {
            return Ok((answer, connection));
        }
        let mut connection = Connection::open(&self.target).await?;
        let answer = connection.send(self.request(method, path, body)).await;
        Ok((answer.map_err(|why| why.on(&self.target))?, connection))
    }

    fn request<B: Serialize>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&B>,
    ) -> Request<Full<Bytes>> {
        let bytes = body.map(|body| serde_json::to_vec(body).expect("our own types are JSON"));
        let host = match &self.target {
            // There is one daemon at a socket, whatever it is called.
            Target::Socket(_) => "vorrang",
            Target::Server(server) => &server.address,
        };
        Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, host)
            .header(VERSION_HEADER, VERSION)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(bytes.unwrap_or_default())))
            .expect("what the path is made of was encoded, and the host is one")
    }

    async fn whole(&self, answer: Response<Incoming>) -> Result<Bytes, ClientError> {
        let body = self.accepted(answer).await?.into_body();
        self.collect(body).await
    }

    async fn collect(&self, body: Incoming) -> Result<Bytes, ClientError> {
        let target = || self.target.to_string();
        match timeout(ANSWERS_WITHIN, Limited::new(body, LONGEST_ANSWER).collect()).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(why)) => Err(ClientError::Broken { target: target(), why: why.to_string() }),
            Err(_) => Err(ClientError::Silent(target())),
        }
    }

    /// The answer, unless it says no.
    async fn accepted(
        &self,
        answer: Response<Incoming>,
    ) -> Result<Response<Incoming>, ClientError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let bytes = self.collect(answer.into_body()).await?;
        match serde_json::from_slice(&bytes) {
            Ok(refusal) => Err(ClientError::Refused { status: status.as_u16(), refusal }),
            Err(_) => Err(self.not_understood(format_args!("it answers {status}"))),
        }
    }

    fn not_understood(&self, why: impl fmt::Display) -> ClientError {
        ClientError::NotUnderstood { target: self.target.to_string(), why: why.to_string() }
    }
}

/// What requests without a body have as such.
const NOTHING: Option<&()> = None;

/// Encodes what stands between two slashes.
fn in_path(text: &str) -> String {
    let mut path = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path += &format!("%{byte:02X}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_and_ids_differ() {
        assert_eq!(in_path("a/b ä~-._"), "a%2Fb%20%C3%A4~-._");
        let (one, other) = (new_id(), new_id());
        assert!(one != other && one.len() == 32, "{one} {other}");
    }
}
