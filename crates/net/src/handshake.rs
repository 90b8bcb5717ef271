//! Frames over a connection whose two ends do not know each other yet.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vorrang_protocol::Never;

use crate::hello::{Excerpt, Refusal, Refuser};
use crate::transport::{AnyStream, Claim};
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
    /// The other end hung up on us, who called it, before we said who we are.
    #[error("it refused us: {}", .0.sentence(Refuser::Them))]
    RefusedUs(Refusal),
    /// We hung up on one that we called, before we said who we are.
    #[error("{}", .0.sentence(Refuser::Us))]
    WeRefused(Refusal),
}

/// Whether the other end of a connection is the member that it claims to be, as far as the
/// transport can tell.
pub(crate) fn judge_proof(stream: &AnyStream, claim: Claim<'_>) -> Result<(), Refusal> {
    stream.as_ref().proves(claim).map_err(|unproved| Refusal::Certificate {
        refuser: unproved.expected.as_deref().map(Excerpt::new),
        refused: Excerpt::new(&unproved.proved),
    })
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
