//! Which certificates are accepted, and in words which are not.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    RootCertStore, SignatureScheme,
};

use super::certificate::{Certificate, Date, Role};
use super::member_list::MemberList;
use super::verdict;

/// Whose certificates are accepted, among those of the authority.
#[derive(Clone, Debug)]
pub(super) enum Accepts {
    /// Those of the members on a list.
    Listed(Arc<MemberList>),
    /// Those of all members.
    Members,
    /// Those of members and clients.
    All,
}

/// As which end of a connection a certificate is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The one that is called.
    Server,
    /// The one that calls.
    Client,
}

/// Judges the certificate of the other end, whichever end it is.
#[derive(Debug)]
pub(super) struct Verifier {
    roots: Arc<RootCertStore>,
    /// How the authority is called.
    authority: String,
    of_clients: Arc<dyn ClientCertVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
    accepts: Accepts,
}

impl Verifier {
    pub(super) fn new(
        (roots, authority): (Arc<RootCertStore>, String),
        provider: &Arc<CryptoProvider>,
        accepts: Accepts,
    ) -> Result<Self, String> {
        let of_clients =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider))
                .build()
                .map_err(|error| error.to_string())?;
        let algorithms = provider.signature_verification_algorithms;
        Ok(Self { roots, authority, of_clients, algorithms, accepts })
    }

    /// Whether a certificate is of our authority, and valid as that of this end.
    pub(super) fn is_ours(
        &self,
        end: End,
        der: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        match end {
            End::Server => {
                let parsed = ParsedCertificate::try_from(der)?;
                let all = self.algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, others, now, all)
            }
            End::Client => self.of_clients.verify_client_cert(der, others, now).map(|_| ()),
        }
    }

    /// The same, and whether its holder is let in.
    fn verify(
        &self,
        end: End,
        der: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        self.judge(der, self.is_ours(end, der, others, now))
    }

    /// Whether this was signed with the key of the certificate.
    fn is_signed(
        &self,
        message: &[u8],
        der: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, der, signature, &self.algorithms)
    }

    /// The verdict on a certificate, after `verified` has said whether it is one of our authority.
    fn judge(&self, der: &CertificateDer<'_>, verified: Result<(), Error>) -> Result<(), Error> {
        let read = match Certificate::read(der) {
            Ok(read) => read,
            Err(why) => {
                verdict::leave(format!("its certificate is none of ours: {why}"));
                return Err(verified.err().unwrap_or(CertificateError::BadEncoding.into()));
            }
        };
        if let Err(error) = verified {
            let error = like_an_unknown_issuer(error);
            verdict::leave(self.complaint(&read, &error));
            return Err(error);
        }
        let Some(why) = self.objection(&read) else { return Ok(()) };
        verdict::leave(why);
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    /// Why a certificate of our authority, which is valid, is not accepted.
    fn objection(&self, read: &Certificate) -> Option<String> {
        let whose = read.whose();
        let Some(holder) = &read.holder else {
            return Some(format!(
                "its certificate, that of {whose}, names neither a member nor a client"
            ));
        };
        match (&self.accepts, holder.role) {
            (Accepts::All, Role::Client | Role::Member) | (Accepts::Members, Role::Member) => None,
            (Accepts::Listed(_) | Accepts::Members, Role::Client) => Some(format!(
                "its certificate is that of {whose}, and only members are let in here"
            )),
            (Accepts::Listed(list), Role::Member) if list.has(&holder.name) => None,
            (Accepts::Listed(list), Role::Member) => Some(format!(
                "its certificate is that of {whose}, and only these are on our list of members: {}",
                list.names()
            )),
        }
    }

    /// Why a certificate is not one of our authority, or not valid.
    fn complaint(&self, read: &Certificate, error: &Error) -> String {
        let whose = read.whose();
        let now = Date(SystemTime::now());
        let Error::InvalidCertificate(why) = error else {
            return format!("its certificate, that of {whose}, is not accepted: {error}");
        };
        match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                let end = Date(read.not_after);
                format!("its certificate, that of {whose}, expired on {end}, and here it is {now}")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                let start = Date(read.not_before);
                format!(
                    "its certificate, that of {whose}, is not valid before {start}, and here it is \
                     {now}: is one of the two clocks wrong?"
                )
            }
            CertificateError::UnknownIssuer => format!(
                "its certificate, that of {whose}, was issued by '{}', and ours by '{}': the two \
                 authorities are not the same",
                read.authority, self.authority
            ),
            other => format!("its certificate, that of {whose}, is not accepted: {other}"),
        }
    }
}

/// An authority that has the name of ours and another key is another authority.
fn like_an_unknown_issuer(error: Error) -> Error {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            CertificateError::UnknownIssuer.into()
        }
        other => other,
    }
}

/// There is no TLS 1.2 here.
const fn too_old() -> Error {
    Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        // Members are known by the name in the certificate, and not by that of a host.
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify(End::Server, end_entity, intermediates, now)
            .map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.is_signed(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.of_clients.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify(End::Client, end_entity, intermediates, now)
            .map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.is_signed(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
