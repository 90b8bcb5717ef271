//! Files of certificates and keys, as PEM has them, and why they cannot be used.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file could not be read.
    #[error("{}: cannot read {what}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Others may read a private key.
    #[error(
        "{}: every user of this machine can read this private key (mode {mode:04o}): \
         say 'chmod 600 {}'", path.display(), path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A file is not what it should be.
    #[error("{}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl KeyError {
    pub(super) fn wrong(path: &Path, why: impl Into<String>) -> Self {
        Self::Wrong { path: path.to_owned(), why: why.into() }
    }
}

pub(super) fn unreadable(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> KeyError {
    move |source| KeyError::Unreadable { path: path.to_owned(), what, source }
}

pub(super) fn not_pem(path: &Path, what: &'static str) -> impl FnOnce(pem::Error) -> KeyError {
    move |error| match error {
        pem::Error::NoItemsFound => {
            KeyError::wrong(path, format!("there is no {what} in it, as PEM has them"))
        }
        other => KeyError::wrong(path, format!("the {what} cannot be read: {other}")),
    }
}

/// All certificates in a file, at least one.
pub(super) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, KeyError> {
    let what = "certificate";
    let text = fs::read(path).map_err(unreadable(path, "the certificate"))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let read = read.map_err(not_pem(path, what))?;
    if read.is_empty() {
        return Err(not_pem(path, what)(pem::Error::NoItemsFound));
    }
    Ok(read)
}
