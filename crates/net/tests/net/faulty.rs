//! TCP whose connections are cut after a drawn number of bytes, wherever that is in a frame, and
//! that swallows only so much at a time.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use vorrang_net::{Listener, Stream, Tcp, Transport};

/// Cuts `cuts` connections, then leaves them alone.
#[derive(Clone, Debug)]
pub(crate) struct Faulty {
    rng: Arc<Mutex<Xoshiro256PlusPlus>>,
    longest: u32,
    mouthful: usize,
    cuts_left: Arc<AtomicU32>,
}

impl Faulty {
    /// Each connection lives for at most `longest` bytes in each direction and side.
    pub(crate) fn new(seed: u64, longest: u32, cuts: u32) -> Self {
        Self {
            rng: Arc::new(Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed))),
            longest,
            mouthful: usize::MAX,
            cuts_left: Arc::new(AtomicU32::new(cuts)),
        }
    }

    /// Lets at most so many bytes pass at a time.
    pub(crate) fn in_mouthfuls_of(mut self, bytes: usize) -> Self {
        self.mouthful = bytes;
        self
    }

    pub(crate) fn cuts_left(&self) -> u32 {
        self.cuts_left.load(Ordering::Relaxed)
    }

    fn draw(&self) -> usize {
        (self.rng.lock().unwrap().next_u32() % self.longest) as usize
    }

    fn wrap(&self, stream: TcpStream) -> FaultyStream {
        FaultyStream {
            stream: Some(stream),
            reads_left: self.draw(),
            writes_left: self.draw(),
            mouthful: self.mouthful,
            cuts_left: Arc::clone(&self.cuts_left),
        }
    }
}

impl Transport for Faulty {
    type Stream = FaultyStream;
    type Listener = FaultyListener;

    async fn bind(&self, address: &str) -> io::Result<FaultyListener> {
        let listener = Tcp.bind(address).await?;
        Ok(FaultyListener(listener, self.clone()))
    }

    async fn connect(&self, address: &str) -> io::Result<FaultyStream> {
        Ok(self.wrap(Tcp.connect(address).await?))
    }
}

#[derive(Debug)]
pub(crate) struct FaultyListener(pub(crate) TcpListener, pub(crate) Faulty);

impl Listener for FaultyListener {
    type Stream = FaultyStream;

    async fn accept(&mut self) -> io::Result<(FaultyStream, String)> {
        let (stream, from) = Listener::accept(&mut self.0).await?;
        Ok((self.1.wrap(stream), from))
    }
}

#[derive(Debug)]
pub(crate) struct FaultyStream {
    stream: Option<TcpStream>,
    reads_left: usize,
    writes_left: usize,
    mouthful: usize,
    cuts_left: Arc<AtomicU32>,
}

impl Stream for FaultyStream {}

impl FaultyStream {
    /// How much of `wanted` may pass, and the stream; an error if it is cut here.
    fn allow(
        &mut self,
        left: impl Fn(&mut Self) -> &mut usize,
        wanted: usize,
    ) -> io::Result<(&mut TcpStream, usize)> {
        if *left(self) == 0 && self.stream.is_some() {
            let take = |cuts: u32| cuts.checked_sub(1);
            let order = Ordering::Relaxed;
            if self.cuts_left.fetch_update(order, order, take).is_ok() {
                self.stream = None;
            } else {
                *left(self) = usize::MAX;
            }
        }
        let allowed = wanted.min(*left(self)).min(self.mouthful);
        let stream = self.stream.as_mut();
        Ok((stream.ok_or(io::ErrorKind::ConnectionReset)?, allowed))
    }
}

impl AsyncRead for FaultyStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (stream, allowed) = self.allow(|it| &mut it.reads_left, buf.remaining())?;
        let mut bytes = vec![0; allowed];
        let mut part = ReadBuf::new(&mut bytes);
        ready!(Pin::new(stream).poll_read(cx, &mut part))?;
        buf.put_slice(part.filled());
        let read = part.filled().len();
        self.reads_left -= read;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FaultyStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (stream, allowed) = self.allow(|it| &mut it.writes_left, bytes.len())?;
        let written = ready!(Pin::new(stream).poll_write(cx, &bytes[..allowed]))?;
        self.writes_left -= written;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
