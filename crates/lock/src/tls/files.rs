//! The three files that a member or a client needs, read and judged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{PrivateKeyDer, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore};

use super::certificate::{Certificate, Date, Holder, Role};
use super::pem::{KeyError, not_pem, read_certificates, unreadable};
use super::verifier::{Accepts, End, Verifier};

/// Where the keys of a member or a client are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyFiles {
    /// The certificate of the group's authority. There may be several in the file, while one
    /// authority takes over from another.
    pub authority: PathBuf,
    /// The own certificate.
    pub certificate: PathBuf,
    /// The private key of the own certificate.
    pub key: PathBuf,
}

/// The algorithms in use: those of ring, with the cipher that costs least for short messages first.
pub(super) fn provider() -> Arc<CryptoProvider> {
    use rustls::crypto::ring::{cipher_suite, default_provider};
    Arc::new(CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_AES_256_GCM_SHA384,
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ],
        ..default_provider()
    })
}

/// What was in the files.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) roots: Arc<RootCertStore>,
    pub(super) authority: Certificate,
    pub(super) key: Arc<CertifiedKey>,
    pub(super) certificate: Certificate,
}

impl Loaded {
    /// Reads and judges them: they belong together, and are valid now.
    pub(super) fn read(files: &KeyFiles) -> Result<Self, KeyError> {
        let provider = provider();
        let (roots, authority) = read_authorities(&files.authority)?;
        let chain = read_certificates(&files.certificate)?;
        let own = &files.certificate;
        let certificate = Certificate::read(&chain[0]).map_err(|why| KeyError::wrong(own, why))?;
        let key = read_key(&files.key)?;
        let key = CertifiedKey::from_der(chain, key, &provider).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => KeyError::wrong(
                &files.key,
                format!("this is not the key of the certificate in {}", own.display()),
            ),
            other => KeyError::wrong(&files.key, format!("the key cannot be used: {other}")),
        })?;
        let loaded =
            Self { provider, roots: Arc::new(roots), authority, key: Arc::new(key), certificate };
        loaded.judge_ourselves(own)?;
        Ok(loaded)
    }

    /// The holder of the certificate.
    pub(super) fn holder(&self) -> &Holder {
        self.certificate.holder.as_ref().expect("a certificate without a holder is refused")
    }

    /// One that judges others by the same authority.
    pub(super) fn verifier(&self, accepts: Accepts) -> Verifier {
        let authority = (Arc::clone(&self.roots), self.authority.subject.clone());
        Verifier::new(authority, &self.provider, accepts).expect("there is an authority")
    }

    /// What others would say of our certificate is better said at once.
    fn judge_ourselves(&self, path: &Path) -> Result<(), KeyError> {
        let wrong = |why: String| Err(KeyError::wrong(path, why));
        let (ours, now) = (&self.certificate, SystemTime::now());
        let whose = ours.whose();
        if ours.holder.is_none() {
            return wrong(format!(
                "the certificate, that of {whose}, names neither a member nor a client: make one \
                 with 'vorrang keys'"
            ));
        }
        if ours.not_after <= now {
            let (end, now) = (Date(ours.not_after), Date(now));
            return wrong(format!(
                "the certificate of {whose} expired on {end}, and it is {now}: make a new one with \
                 'vorrang keys renew'"
            ));
        }
        if now < ours.not_before {
            let (start, now) = (Date(ours.not_before), Date(now));
            return wrong(format!(
                "the certificate of {whose} is not valid before {start}, and it is {now}: is the \
                 clock of this machine wrong?"
            ));
        }
        let (end_entity, others) = self.key.cert.split_first().expect("it was read");
        let verifier = self.verifier(Accepts::All);
        let end = match self.holder().role {
            Role::Client => End::Client,
            Role::Member => End::Server,
        };
        verifier.is_ours(end, end_entity, others, UnixTime::now()).or_else(|error| {
            let (issuer, authority) = (&ours.authority, &self.authority.subject);
            wrong(format!(
                "the certificate of {whose} was issued by '{issuer}', and cannot be verified with \
                 the authority '{authority}': {error}"
            ))
        })
    }
}

fn read_authorities(path: &Path) -> Result<(RootCertStore, Certificate), KeyError> {
    let mut roots = RootCertStore::empty();
    let mut first = None;
    let mut expired = None;
    for der in read_certificates(path)? {
        let read = Certificate::read(&der).map_err(|why| KeyError::wrong(path, why))?;
        if !read.is_authority {
            let whose = read.whose();
            let why = format!("the certificate of {whose} is not that of an authority");
            return Err(KeyError::wrong(path, why));
        }
        if read.not_after <= SystemTime::now() {
            expired = Some(read);
            continue;
        }
        roots.add(der).map_err(|error| KeyError::wrong(path, error.to_string()))?;
        first = first.or(Some(read));
    }
    match (first, expired) {
        (Some(first), _) => Ok((roots, first)),
        (None, Some(read)) => {
            let (name, end) = (&read.subject, Date(read.not_after));
            Err(KeyError::wrong(path, format!("the authority '{name}' expired on {end}")))
        }
        (None, None) => Err(not_pem(path, "certificate")(pem::Error::NoItemsFound)),
    }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, KeyError> {
    judge_mode(path)?;
    let text = fs::read(path).map_err(unreadable(path, "the private key"))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(not_pem(path, "private key"))
}

/// The permissions of everybody.
#[cfg(unix)]
const OTHERS: u32 = 0o007;

/// A key that everybody can read is no secret. Groups may be let in, as some systems hand secrets
/// out to services that way.
#[cfg(unix)]
fn judge_mode(path: &Path) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt as _;

    let found = fs::metadata(path).map_err(unreadable(path, "the private key"))?;
    let mode = found.permissions().mode() & 0o7777;
    if mode & OTHERS == 0 { Ok(()) } else { Err(KeyError::Open { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn judge_mode(_: &Path) -> Result<(), KeyError> {
    Ok(())
}

/// What everybody uses at the moment, and others from the next moment on.
#[derive(Debug)]
pub(super) struct Current<X>(Mutex<Arc<X>>);

impl<X> Current<X> {
    pub(super) fn new(first: X) -> Self {
        Self(Mutex::new(Arc::new(first)))
    }

    pub(super) fn get(&self) -> Arc<X> {
        // It is put there whole, whatever happens to threads.
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set(&self, next: X) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}
