//! Where clients come in: connections are accepted, bounded in number, and served.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use vorrang_lock::tls::Role;

use super::connection::{Client, Watched};
use super::{Service, respond};
use crate::holds::Owner;
use crate::metrics::{Cut, Via};

/// How many headers a request has at most.
const MOST_HEADERS: usize = 64;

/// How many bytes of a request without its body are read, and how many of an answer wait, at most.
const BUFFER: usize = 16 << 10;

/// How many bytes the system keeps of what is not read yet: little, so that a client that does not
/// read is noticed.
const UNREAD: usize = 8 << 10;

/// How many connections there may be besides those of holds.
const BESIDES: usize = 256;

/// How long nothing is accepted if the system has no room for more.
const PAUSE: Duration = Duration::from_millis(100);

/// What is said to a connection too many.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    connection: close\r\ncontent-length: 71\r\n\r\n\
    {\"error\":\"there are too many connections already\",\"code\":\"unavailable\"}";

/// Serves the clients at the Unix socket.
pub(crate) async fn serve_unix(listener: UnixListener, service: Arc<Service>, holds: usize) {
    let room = Arc::new(Semaphore::new(holds + BESIDES));
    loop {
        let stream = accepted(listener.accept().await).await;
        let Some((stream, _)) = stream else { continue };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            service.metrics.cut(Cut::TooMany);
            // Who does not get it sees that the connection is closed.
            let _ = stream.try_write(TOO_MANY);
            continue;
        };
        let client = match of_this_machine(&stream, &service) {
            Ok(client) => client,
            Err(why) => {
                tracing::warn!(%why, "a client at the Unix socket cannot be known");
                continue;
            }
        };
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            serve(stream, client, service).await;
            drop(place);
        });
    }
}

fn of_this_machine(stream: &UnixStream, service: &Service) -> io::Result<Client> {
    socket2::SockRef::from(stream).set_send_buffer_size(UNREAD)?;
    let peer = stream.peer_cred()?;
    let process = peer.pid().and_then(|it| u32::try_from(it).ok());
    let owner = Owner::User(peer.uid());
    Ok(Client::new(owner, process, Via::Unix, Arc::clone(&service.metrics)))
}

/// Serves the clients at a port: with keys those who have a certificate, without those of this
/// machine.
pub(crate) async fn serve_tcp(listener: TcpListener, service: Arc<Service>, holds: usize) {
    let room = Arc::new(Semaphore::new(holds + BESIDES));
    loop {
        let stream = accepted(listener.accept().await).await;
        let Some((stream, from)) = stream else { continue };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            service.metrics.cut(Cut::TooMany);
            if service.others.keys().is_none() {
                let _ = stream.try_write(TOO_MANY);
            }
            continue;
        };
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            if let Err(why) = of_another(stream, Arc::clone(&service)).await {
                service.metrics.cut(Cut::Handshake);
                tracing::info!(%from, %why, "a client was not let in");
            }
            drop(place);
        });
    }
}

async fn of_another(stream: TcpStream, service: Arc<Service>) -> io::Result<()> {
    socket2::SockRef::from(&stream).set_send_buffer_size(UNREAD)?;
    stream.set_nodelay(true)?;
    let client = |owner| Client::new(owner, None, Via::Tcp, Arc::clone(&service.metrics));
    let Some(keys) = service.others.keys() else {
        let client = client(Owner::Loopback);
        serve(stream, client, service).await;
        return Ok(());
    };
    // Handshakes do not wait for each other: one that says nothing has five seconds for it.
    let (stream, who) = keys.remote().accept(stream).await?;
    let client = client(match who.role {
        Role::Member => Owner::Member(who.name),
        Role::Client => Owner::Certificate(who.name),
    });
    serve(stream, client, service).await;
    Ok(())
}

/// What was accepted; nothing, after a pause, if the system has no room for it.
async fn accepted<T>(accepted: io::Result<T>) -> Option<T> {
    match accepted {
        Ok(accepted) => Some(accepted),
        // It was gone again before it was accepted.
        Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => None,
        Err(why) => {
            tracing::error!(%why, "cannot accept a connection");
            sleep(PAUSE).await;
            None
        }
    }
}

async fn serve<S>(stream: S, client: Client, service: Arc<Service>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let client = Arc::new(client);
    let io = TokioIo::new(Watched::new(stream, Arc::clone(&client)));
    let within = service.request_within;
    let asked = service_fn(|request| {
        let (service, client) = (Arc::clone(&service), Arc::clone(&client));
        async move { Ok::<_, std::convert::Infallible>(respond(&service, &client, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(within)
        .max_headers(MOST_HEADERS)
        .max_buf_size(BUFFER)
        .serve_connection(io, asked)
        .await;
    if let Err(why) = served
        && (why.is_parse() || why.is_timeout() || why.is_parse_too_large())
    {
        service.metrics.cut(Cut::BadRequest);
        tracing::debug!(client = %client.owner, %why, "a request was not understood");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_one_too_many_is_as_long_as_it_says() {
        let text = std::str::from_utf8(TOO_MANY).expect("it is text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{}", body.len());
        assert!(serde_json::from_str::<crate::api::Refusal>(body).is_ok());
    }
}
