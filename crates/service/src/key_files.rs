//! A directory with an authority, and the certificates and keys that it has issued.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use vorrang_lock::tls::issue::{Authority, Issued, Validity};
use vorrang_lock::tls::{Certificate, Holder, validate_name};

use crate::failure::Failure;

/// What the files of the authority are called, without their ending. Nobody else can be called so.
pub(crate) const AUTHORITY: &str = "ca";
/// The permissions of a private key, and of a certificate, which everybody may see.
const KEY_MODE: u32 = 0o600;
const CERTIFICATE_MODE: u32 = 0o644;

/// Somebody who is to have a certificate, and the hosts that shall be in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) holder: Holder,
    pub(crate) hosts: Vec<String>,
}

/// A directory of keys.
#[derive(Debug)]
pub(crate) struct KeyDirectory {
    path: PathBuf,
    authority: Authority,
}

impl KeyDirectory {
    /// A new authority with these certificates, in a directory in which there is none yet.
    pub(crate) fn create(
        path: &Path,
        wanted: &[Wanted],
        (authority, validity): (Validity, Validity),
    ) -> Result<Self, Failure> {
        let mut made = Made::default();
        made.directory(path)?;
        // Before anything is written.
        nothing_is_there(path, wanted.iter().map(|it| it.holder.name.as_str()).chain([AUTHORITY]))?;
        let (authority, files) = Authority::create(authority).map_err(failed)?;
        made.pair(path, AUTHORITY, &files)?;
        let directory = Self { path: path.to_owned(), authority };
        directory.write(&mut made, wanted, validity)?;
        made.stay();
        Ok(directory)
    }

    /// One with an authority in it.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let (certificate, key) = pair(path, AUTHORITY);
        if !certificate.exists() {
            return Err(Failure::Storage(format!(
                "{} has no authority ({AUTHORITY}.pem): make one with 'vorrang keys init'",
                path.display()
            )));
        }
        let authority =
            Authority::read(&certificate, &key).map_err(|why| Failure::Storage(why.to_string()))?;
        Ok(Self { path: path.to_owned(), authority })
    }

    /// New certificates.
    pub(crate) fn issue(&self, wanted: &[Wanted], validity: Validity) -> Result<(), Failure> {
        nothing_is_there(&self.path, wanted.iter().map(|it| it.holder.name.as_str()))?;
        let mut made = Made::default();
        self.write(&mut made, wanted, validity)?;
        made.stay();
        Ok(())
    }

    fn write(&self, made: &mut Made, wanted: &[Wanted], validity: Validity) -> Result<(), Failure> {
        for Wanted { holder, hosts } in wanted {
            let issued = self.authority.issue(holder, hosts, validity);
            let issued = issued.map_err(|why| Failure::Usage(why.to_string()))?;
            made.pair(&self.path, &holder.name, &issued)?;
        }
        Ok(())
    }

    /// A certificate with new dates in place of the one that is there, for the same key.
    pub(crate) fn renew(&self, name: &str, validity: Validity) -> Result<Certificate, Failure> {
        validate(name)?;
        let (path, _) = pair(&self.path, name);
        let renewed = self.authority.renew(&path, validity);
        let text = renewed.map_err(|why| Failure::Storage(why.to_string()))?;
        let next = path.with_extension("pem.new");
        let place = || {
            let mut file = File::create(&next)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&next, &path)
        };
        place().map_err(|why| not_written(&path, &why))?;
        self.certificate(name)
    }

    /// What stands in the certificate of somebody.
    pub(crate) fn certificate(&self, name: &str) -> Result<Certificate, Failure> {
        let read = Certificate::read_file(&pair(&self.path, name).0);
        let read = read.map_err(|why| Failure::Storage(why.to_string()))?;
        Ok(read.into_iter().next().expect("there is one, or that is an error"))
    }

    /// The files of somebody: the certificate and the private key.
    pub(crate) fn files(&self, name: &str) -> (PathBuf, PathBuf) {
        pair(&self.path, name)
    }
}

/// Whether somebody can be called so.
pub(crate) fn validate(name: &str) -> Result<(), Failure> {
    validate_name(name).map_err(|why| Failure::Usage(why.to_string()))?;
    if name.eq_ignore_ascii_case(AUTHORITY) {
        return Err(Failure::Usage(format!(
            "the name '{name}' is that of the files of the authority, {AUTHORITY}.pem and \
             {AUTHORITY}.key: take another one"
        )));
    }
    Ok(())
}

fn pair(directory: &Path, name: &str) -> (PathBuf, PathBuf) {
    (directory.join(format!("{name}.pem")), directory.join(format!("{name}.key")))
}

fn nothing_is_there<'a>(
    directory: &Path,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    for name in names {
        let (certificate, key) = pair(directory, name);
        if let Some(there) = [certificate, key].into_iter().find(|it| it.symlink_metadata().is_ok())
        {
            return Err(is_there(&there));
        }
    }
    Ok(())
}

fn is_there(path: &Path) -> Failure {
    Failure::Storage(format!(
        "{} is there already, and keys are never overwritten: take another name or directory, or \
         give certificates new dates with 'vorrang keys renew'",
        path.display()
    ))
}

fn not_written(path: &Path, why: &io::Error) -> Failure {
    Failure::Storage(format!("cannot write {}: {why}", path.display()))
}

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::Failed(why.to_string())
}

/// What was made; if not all can be made, none of it stays.
#[derive(Debug, Default)]
struct Made {
    files: Vec<PathBuf>,
    directory: Option<PathBuf>,
}

impl Made {
    /// A directory that its user alone can enter, if there is none.
    fn directory(&mut self, path: &Path) -> Result<(), Failure> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => self.directory = Some(path.to_owned()),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(why) => {
                let why = format!("cannot make the directory {}: {why}", path.display());
                return Err(Failure::Storage(why));
            }
        }
        Ok(())
    }

    fn pair(&mut self, directory: &Path, name: &str, issued: &Issued) -> Result<(), Failure> {
        let (certificate, key) = pair(directory, name);
        self.file(key, &issued.key, KEY_MODE)?;
        self.file(certificate, &issued.certificate, CERTIFICATE_MODE)
    }

    fn file(&mut self, path: PathBuf, text: &str, mode: u32) -> Result<(), Failure> {
        let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let mut file = opened.map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => is_there(&path),
            _ => not_written(&path, &why),
        })?;
        self.files.push(path);
        let path = self.files.last().expect("just pushed");
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|why| not_written(path, &why))
    }

    fn stay(mut self) {
        self.files.clear();
        self.directory = None;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.files {
            let _ = fs::remove_file(path);
        }
        if let Some(path) = &self.directory {
            // Only if it is empty.
            let _ = fs::remove_dir(path);
        }
    }
}
