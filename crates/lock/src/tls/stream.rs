//! A connection between members.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use vorrang_net::{Claim, Stream, Unproved};

use super::certificate::{Certificate, Holder};
use super::member_list::MemberList;
use super::sentence;

type Whole = Box<tokio_rustls::TlsStream<TcpStream>>;
type Handshake = Pin<Box<dyn Future<Output = io::Result<Whole>> + Send>>;

/// A TLS connection with another member. That of a listener begins with the handshake, which is
/// done by whoever reads first: so nobody has to wait at the listener for another's handshake.
pub struct TlsStream {
    state: State,
    ours: Arc<Certificate>,
    members: Arc<MemberList>,
}

enum State {
    Handshake(Handshake),
    Open { stream: Whole, proved: Option<Holder> },
    Failed,
}

impl fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream").field("proved", &self.proved()).finish_non_exhaustive()
    }
}

impl TlsStream {
    /// One of which the handshake is still to be done.
    pub(super) fn incoming(
        handshake: Handshake,
        ours: Arc<Certificate>,
        members: Arc<MemberList>,
    ) -> Self {
        Self { state: State::Handshake(handshake), ours, members }
    }

    pub(super) fn open(stream: Whole, ours: Arc<Certificate>, members: Arc<MemberList>) -> Self {
        Self { state: State::opened(stream), ours, members }
    }

    /// The member at the other end, after the handshake.
    pub fn proved(&self) -> Option<&Holder> {
        match &self.state {
            State::Open { proved, .. } => proved.as_ref(),
            State::Handshake(_) | State::Failed => None,
        }
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut Whole>>> {
        if let State::Handshake(handshake) = &mut self.state {
            match ready!(handshake.as_mut().poll(cx)) {
                Ok(stream) => self.state = State::opened(stream),
                Err(error) => {
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(match &mut self.state {
            State::Open { stream, .. } => Ok(Pin::new(stream)),
            State::Handshake(_) | State::Failed => Err(io::ErrorKind::NotConnected.into()),
        })
    }
}

impl State {
    fn opened(stream: Whole) -> Self {
        let proved = holder(stream.get_ref().1.peer_certificates());
        Self::Open { stream, proved }
    }
}

/// Whose certificate that is which the other end has shown.
pub(super) fn holder(shown: Option<&[rustls::pki_types::CertificateDer<'_>]>) -> Option<Holder> {
    Certificate::read(shown?.first()?).ok()?.holder
}

impl Stream for TlsStream {
    fn proves(&self, claim: Claim<'_>) -> Result<(), Unproved> {
        let expected = self.members.expected(claim);
        match (self.proved(), expected) {
            (Some(proved), Some(name)) if *proved == Holder::member(name) => Ok(()),
            (proved, _) => Err(Unproved {
                expected: expected.map(|name| Holder::member(name).to_string()),
                proved: proved.map_or_else(|| "nobody".to_owned(), Holder::to_string),
            }),
        }
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = ready!(self.poll_open(cx))?;
        Poll::Ready(match ready!(stream.poll_read(cx, into)) {
            // It is gone, with or without a word: what is missing is sent again.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(sentence::after(error, &self.ours)),
            Ok(()) => Ok(()),
        })
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_shutdown(cx)
    }
}
