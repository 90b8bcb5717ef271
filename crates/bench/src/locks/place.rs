//! Where three members are, and with which keys.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::process::Worker;

/// The members.
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// A group of three members on this machine, none of which is started by that.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    addresses: Vec<String>,
    keys: Option<PathBuf>,
}

impl Place {
    pub(crate) fn new() -> Outcome<Self> {
        let listeners: Vec<TcpListener> =
            NAMES.iter().map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let addresses = listeners.iter().map(|it| Ok(it.local_addr()?.to_string()));
        Ok(Self { addresses: addresses.collect::<Outcome<_>>()?, keys: None })
    }

    /// The same over TLS, with the keys in this directory.
    pub(crate) fn with_keys(self, keys: &Path) -> Self {
        Self { keys: Some(keys.to_owned()), ..self }
    }

    pub(crate) fn keys(&self) -> Option<&Path> {
        self.keys.as_deref()
    }

    /// As `--member` has it.
    pub(crate) fn members(&self) -> String {
        let members = NAMES.iter().zip(&self.addresses);
        members.map(|(name, address)| format!("{name}={address}")).collect::<Vec<_>>().join(",")
    }

    /// A client that is this member itself.
    pub(crate) fn member(&self, kind: &str, name: &str, more: &[&str]) -> Outcome<Worker> {
        let mut arguments =
            vec![kind.to_owned(), "--members".to_owned(), self.members(), "--name".to_owned()];
        arguments.push(name.to_owned());
        if let Some(keys) = &self.keys {
            arguments.extend(["--keys".to_owned(), keys.display().to_string()]);
        }
        arguments.extend(more.iter().map(|&it| it.to_owned()));
        Worker::start(&arguments)
    }

    /// All three, when they have met and each of them was granted something.
    pub(crate) fn all(&self, kind: &str, more: &[&str]) -> Outcome<Vec<Worker>> {
        let workers = NAMES.iter().map(|name| self.member(kind, name, more));
        let mut workers = workers.collect::<Outcome<Vec<_>>>()?;
        for worker in &mut workers {
            worker.answer("ready")?;
        }
        Ok(workers)
    }
}

/// Makes keys for the members, by the program itself.
pub(crate) fn make_keys(program: &Path, directory: &Path) -> Outcome<PathBuf> {
    let keys = directory.join("keys");
    let mut command = Command::new(program);
    command.args(["keys", "init"]).arg(&keys).arg("--members").arg(NAMES.join(","));
    let status = command.stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("no keys were made: {status}").into());
    }
    Ok(keys)
}
