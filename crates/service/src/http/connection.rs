//! One connection of a client: who it is, and that it reads what it is sent.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::holds::{Asker, Hold, Owner};
use crate::metrics::{Cut, Metrics, Via};

/// How long a client may leave unread what is sent to it.
const READS_WITHIN: Duration = Duration::from_secs(5);

/// What is known of the client at the other end of a connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) owner: Owner,
    /// Its process, on the Unix socket.
    pub(super) process: Option<u32>,
    pub(super) via: Via,
    metrics: Arc<Metrics>,
    /// The hold of which it is told over this connection.
    hold: Mutex<Weak<Hold>>,
}

impl Client {
    pub(super) fn new(owner: Owner, process: Option<u32>, via: Via, metrics: Arc<Metrics>) -> Self {
        metrics.opened(via);
        Self { owner, process, via, metrics, hold: Mutex::default() }
    }

    /// Whether it is on this machine, at the Unix socket.
    pub(super) fn is_local(&self) -> bool {
        self.via == Via::Unix
    }

    pub(super) fn asker(&self) -> Asker {
        Asker { is_local: self.is_local(), process: self.process }
    }

    /// From now on it is told of this hold.
    pub(super) fn looks_at(&self, hold: &Arc<Hold>) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(hold);
    }

    /// Whether it may stop reading: if what runs under its hold can be ended without it.
    fn is_excused(&self) -> bool {
        let hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        hold.is_some_and(|it| it.process().is_some())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.metrics.closed(self.via);
    }
}

/// A stream that breaks when the other end does not read.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    client: Arc<Client>,
    /// Runs while something waits to be read.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub(super) const fn new(stream: S, client: Arc<Client>) -> Self {
        Self { stream, client, stuck: None }
    }

    /// Looks how long something could not be written, if it could not.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(READS_WITHIN)));
        while stuck.as_mut().poll(cx).is_ready() {
            if !self.client.is_excused() {
                self.client.metrics.cut(Cut::NotRead);
                let why = format!("it has read nothing for {READS_WITHIN:?}");
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
            stuck.as_mut().reset(Instant::now() + READS_WITHIN);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(written, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(closed, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_cut_off_and_who_reads_slowly_is_not() {
        let metrics = Arc::new(Metrics::default());
        let client =
            || Arc::new(Client::new(Owner::User(1), None, Via::Unix, Arc::clone(&metrics)));
        let (ours, mut theirs) = duplex(4);
        let mut watched = Watched::new(ours, client());
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            for _ in 0..4 {
                tokio::time::sleep(READS_WITHIN * 4 / 5).await;
                let mut some = [0; 4];
                let length = theirs.read(&mut some).await.expect("it is open");
                all.extend_from_slice(&some[..length]);
            }
            all
        });
        watched.write_all(b"slow but steady.").await.expect("it is read");
        assert_eq!(reader.await.expect("it ends"), b"slow but steady.");

        let (ours, _theirs) = duplex(4);
        let mut watched = Watched::new(ours, client());
        let began = Instant::now();
        let why = watched.write_all(b"never read").await.unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= READS_WITHIN);
    }
}
