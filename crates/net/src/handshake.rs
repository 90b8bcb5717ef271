//! Frames over a connection whose two ends do not know each other yet.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vorrang_protocol::Never;

use crate::transport::AnyStream;
use crate::wire::{self, Frame, HEADER_LEN, Header, MAX_HELLO_LEN, WireError};

/// Why a connection did not come about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("a frame other than a hello came first")]
    NotHello,
    #[error("no whole hello within the time allowed")]
    TooSlow,
}

/// Reads one frame and not a byte more.
pub(crate) async fn read_frame(stream: &mut AnyStream) -> Result<Frame<Never>, HandshakeError> {
    let mut bytes = vec![0; HEADER_LEN];
    let mut filled = 0;
    let header = loop {
        // Judged as it comes, so that a stranger is not waited for.
        if let Some(header) = Header::decode(&bytes[..filled], MAX_HELLO_LEN)? {
            break header;
        }
        let more = stream.read(&mut bytes[filled..]).await?;
        if more == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
        filled += more;
    };
    bytes.resize(header.length, 0);
    stream.read_exact(&mut bytes).await?;
    Ok(header.decode_body(&bytes)?)
}

pub(crate) async fn write_frame(
    stream: &mut AnyStream,
    frame: &Frame<Never>,
) -> Result<(), HandshakeError> {
    let mut bytes = Vec::new();
    wire::encode(frame, &mut bytes)?;
    stream.write_all(&bytes).await?;
    Ok(stream.flush().await?)
}
