//! A transport that can be cut: then all that is sent over it, in both directions, is swallowed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, duplex, split,
};
use tokio::net::{TcpListener, TcpStream};
use vorrang_net::{Listener, Transport};

#[derive(Clone, Debug, Default)]
pub(crate) struct Cuttable(Arc<AtomicBool>);

impl Cuttable {
    pub(crate) fn cut(&self, is_cut: bool) {
        self.0.store(is_cut, Ordering::SeqCst);
    }

    fn is_cut(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn listener(&self, listener: TcpListener) -> CuttableListener {
        CuttableListener { listener, of: self.clone() }
    }

    /// A connection that can be cut.
    fn lead(&self, stream: TcpStream) -> DuplexStream {
        let (ours, theirs) = duplex(1 << 16);
        let (from_outside, to_outside) = stream.into_split();
        let (from_inside, to_inside) = split(theirs);
        tokio::spawn(self.clone().pass_on(from_outside, to_inside));
        tokio::spawn(self.clone().pass_on(from_inside, to_outside));
        ours
    }

    async fn pass_on(self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut bytes = [0; 4096];
        // What was swallowed is missing, so what comes after would make no sense.
        let mut is_broken = false;
        while let Ok(length @ 1..) = from.read(&mut bytes).await {
            is_broken |= self.is_cut();
            if !is_broken && to.write_all(&bytes[..length]).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    }
}

pub(crate) struct CuttableListener {
    listener: TcpListener,
    of: Cuttable,
}

impl Transport for Cuttable {
    type Stream = DuplexStream;
    type Listener = CuttableListener;

    async fn bind(&self, address: &str) -> io::Result<CuttableListener> {
        Ok(self.listener(TcpListener::bind(address).await?))
    }

    async fn connect(&self, address: &str) -> io::Result<DuplexStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(self.lead(stream))
    }
}

impl Listener for CuttableListener {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<(DuplexStream, String)> {
        let (stream, from) = self.listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok((self.of.lead(stream), from.to_string()))
    }
}
