//! What went wrong with a connection, in words.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Error};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::certificate::Certificate;
use super::verdict;

/// How long the other end may take to read why we refuse it.
const FAREWELL: Duration = Duration::from_secs(1);
/// How much of what it says meanwhile is read, and not heeded.
const FAREWELL_LEN: usize = 1 << 16;

/// Goes through with a handshake. An error is a sentence, and the other end has had the time to
/// read its alert: closing first could take it back.
pub(super) async fn shake_hands<X>(
    handshake: impl Future<Output = Result<X, (io::Error, TcpStream)>>,
    ours: &Certificate,
) -> io::Result<X> {
    let mut handshake = pin!(handshake);
    let (outcome, why) = poll_fn(|cx| {
        let (polled, why) = verdict::hear(|| handshake.as_mut().poll(cx));
        polled.map(|outcome| (outcome, why))
    })
    .await;
    match outcome {
        Ok(done) => Ok(done),
        Err((error, stream)) => {
            if error.kind() == io::ErrorKind::InvalidData {
                let _ = timeout(FAREWELL, part_from(stream)).await;
            }
            let sentence = why.unwrap_or_else(|| before(&error, ours));
            Err(io::Error::new(io::ErrorKind::InvalidData, sentence))
        }
    }
}

async fn part_from(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut rest = [0; 1024];
    let mut read = 0;
    while read < FAREWELL_LEN {
        match stream.read(&mut rest).await? {
            0 => return Ok(()),
            more => read += more,
        }
    }
    Ok(())
}

/// An error in the middle of a handshake.
fn before(error: &io::Error, ours: &Certificate) -> String {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match tls_error(error) {
        Some(error) => sentence(error, ours),
        None if matches!(
            error.kind(),
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
        ) =>
        {
            "it ended the connection in the middle of the TLS handshake: it may have no keys, or \
             too many connections"
                .to_owned()
        }
        None => error.to_string(),
    }
}

/// An error of a connection that was made: with a sentence in it if TLS has anything to do with it.
pub(super) fn after(error: io::Error, ours: &Certificate) -> io::Error {
    match tls_error(&error) {
        Some(error) => io::Error::new(io::ErrorKind::InvalidData, sentence(error, ours)),
        None => error,
    }
}

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn sentence(error: &Error, ours: &Certificate) -> String {
    match error {
        Error::AlertReceived(alert) => alert_in_words(*alert, ours),
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            "it has not the key of the certificate that it shows".to_owned()
        }
        Error::NoCertificatesPresented => {
            "it shows no certificate, and only those with a certificate of our authority are let in"
                .to_owned()
        }
        Error::InvalidMessage(_) => {
            "it does not speak TLS, and this side does: only one of the two was given keys"
                .to_owned()
        }
        Error::PeerIncompatible(why) => {
            format!(
                "it cannot speak TLS 1.3 as this side does, and older versions are refused \
                 ({why:?})"
            )
        }
        Error::NoApplicationProtocol => {
            "it speaks TLS for something else than what is spoken here".to_owned()
        }
        Error::DecryptError | Error::PeerMisbehaved(_) => {
            format!("what it says is not what TLS 1.3 allows, or was recorded elsewhere: {error}")
        }
        other => format!("TLS failed: {other}"),
    }
}

/// Why the other end refuses us: of our certificate we know more than an alert says.
fn alert_in_words(alert: AlertDescription, ours: &Certificate) -> String {
    let (whose, validity) = (ours.whose(), ours.validity());
    match alert {
        AlertDescription::CertificateExpired => format!(
            "it takes our certificate, that of {whose}, for expired or not yet valid: it is \
             {validity}; is one of the two clocks wrong?"
        ),
        AlertDescription::UnknownCA => format!(
            "it does not know the authority of our certificate, that of {whose}: it was issued by \
             '{}'",
            ours.authority
        ),
        AlertDescription::AccessDenied => format!(
            "it does not accept our certificate, that of {whose}: that name is not on its list, or \
             only members are let in there"
        ),
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateRevoked
        | AlertDescription::UnsupportedCertificate => {
            format!("it refuses our certificate, that of {whose}, {validity}: {alert:?}")
        }
        AlertDescription::ProtocolVersion => {
            "it refuses TLS 1.3, and this side speaks nothing else".to_owned()
        }
        AlertDescription::NoApplicationProtocol => {
            "something else than what we look for is spoken there".to_owned()
        }
        other => format!("it ended the TLS connection: {other:?}"),
    }
}
