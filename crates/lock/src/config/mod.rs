//! The configuration of a member: one file, and the same keys as options of a program and as
//! variables of the environment.

mod check;
mod file;
mod keys;
mod values;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vorrang_algorithms::group::locks::Lease;
use vorrang_algorithms::group::named::{Batch, Limits};
use vorrang_algorithms::setup::Setup;
use vorrang_protocol::Group;

pub(crate) use self::check::Role;
pub use self::keys::Key;
use self::values::nearest;

/// What a member is told. [`Config::default`] is a group of one.
///
/// ```
/// use std::path::Path;
/// use std::time::Duration;
/// use vorrang_lock::Config;
///
/// let mut config = Config::parse("lease = '2s'\ndata = 'state'", Path::new("/etc/vorrang"))?;
/// assert_eq!(config.lease, Some(Duration::from_secs(2)));
/// assert_eq!(config.data.as_deref(), Some(Path::new("/etc/vorrang/state")));
/// config.set("lease", "off")?;
/// assert_eq!(config.lease, None);
/// let why = config.set("leese", "2s").unwrap_err().to_string();
/// assert_eq!(why, "unknown key 'leese': did you mean 'lease'?");
/// # Ok::<(), vorrang_lock::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The name of the group.
    pub group: String,
    /// Which of the members this is.
    pub name: Option<String>,
    /// Where others find this member, if it is not one of the [founders](Self::members).
    pub address: Option<String>,
    /// The addresses of members of a running group that is to be joined.
    pub join: Vec<String>,
    /// The algorithm, by its name in the catalogue.
    pub algorithm: String,
    /// The directory of its stable storage, if it has any.
    pub data: Option<PathBuf>,
    /// The largest number of members.
    pub room: u32,
    /// How often a member says that it is up.
    pub beat: Duration,
    /// How much later than that it may be heard before it is suspected.
    pub margin: Duration,
    /// How many times as long the margin may become, by suspicions that were false.
    pub margin_cap: u32,
    /// After what time without a false suspicion a doubling is taken back, if ever.
    pub margin_halves_after: Option<Duration>,
    /// How long a lease is, if there are leases.
    pub lease: Option<Duration>,
    /// The largest drift of clocks, in parts per thousand.
    pub drift: u32,
    /// How long before the end of the lease work under a lock must have ended.
    pub grace: Duration,
    /// How many clients of one member may have a lock one after the other.
    pub batch_clients: u32,
    /// For how long they may, if there is a limit.
    pub batch_time: Option<Duration>,
    /// After how many names that are not used any more they are forgotten.
    pub idle_names: usize,
    /// How long a client may hold something, if there is a limit.
    pub max_hold: Option<Duration>,
    /// The Unix socket of the daemon.
    pub socket: Option<PathBuf>,
    /// The permissions of that socket.
    pub socket_mode: u32,
    /// How the daemon writes its log.
    pub log: LogFormat,
    /// Where the daemon listens for remote clients, if it does.
    pub http_listen: Option<String>,
    /// The keys of this member, if connections are encrypted.
    pub tls: Option<TlsFiles>,
    /// The founders of the group, in the order that all of them are given.
    pub members: Vec<MemberAddress>,
    /// The remote clients of the daemon.
    pub clients: Vec<ClientLimits>,
}

/// How a log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// A line of text for each event.
    #[default]
    Text,
    /// A JSON object for each.
    Json,
}

/// Where the keys of a member are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsFiles {
    /// The certificate of the group's authority.
    pub authority: PathBuf,
    /// That of this member.
    pub certificate: PathBuf,
    /// The secret key of that.
    pub key: PathBuf,
}

/// A founder of the group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberAddress {
    /// Its name.
    pub name: String,
    /// Where other members find it.
    pub address: String,
    /// Where remote clients find it, if they do.
    pub http: Option<String>,
}

/// A remote client of the daemon, and what it may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientLimits {
    /// The name in its certificate.
    pub name: String,
    /// How the names begin that it may use; empty: all.
    pub prefixes: Vec<String>,
    /// How much it may hold at a time, if there is a limit.
    pub holds: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group: "default".to_owned(),
            name: None,
            address: None,
            join: Vec::new(),
            algorithm: "suzuki-kasami".to_owned(),
            data: None,
            room: 64,
            beat: Duration::from_millis(200),
            margin: Duration::from_millis(800),
            margin_cap: 10,
            margin_halves_after: Some(Duration::from_secs(60)),
            lease: Some(Duration::from_secs(1)),
            drift: 0,
            grace: Duration::from_millis(300),
            batch_clients: Batch::USUAL.clients,
            batch_time: Batch::USUAL.time,
            idle_names: Limits::USUAL.idle_names,
            max_hold: None,
            socket: None,
            socket_mode: 0o600,
            log: LogFormat::Text,
            http_listen: None,
            tls: None,
            members: Vec::new(),
            clients: Vec::new(),
        }
    }
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not TOML.
    #[error("{place}{why}")]
    Syntax {
        /// Where that is, if it is in a file.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// There is no such key.
    #[error("{place}unknown key '{key}': {hint}")]
    UnknownKey {
        /// Where it is, if it is in a file.
        place: String,
        /// The key.
        key: String,
        /// Which one may have been meant.
        hint: String,
    },
    /// A key cannot have this value.
    #[error("{place}{key} = {value}: {why}")]
    Value {
        /// Where it is, if it is in a file.
        place: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Why not.
        why: String,
    },
    /// Keys that do not go together.
    #[error("{0}")]
    Unfit(String),
}

impl ConfigError {
    /// There is no such key among these.
    fn unknown(place: String, key: &str, known: impl Iterator<Item = &'static str>) -> Self {
        let known: Vec<&str> = known.collect();
        let hint = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("the known ones are {}", known.join(", ")),
        };
        Self::UnknownKey { place, key: key.to_owned(), hint }
    }
}

fn unfit<T>(why: String) -> Result<T, ConfigError> {
    Err(ConfigError::Unfit(why))
}

impl Config {
    /// Every key of a configuration but the tables `member` and `client`.
    pub const KEYS: &'static [Key] = keys::KEYS;

    /// The configuration in a file. Paths in it are relative to the file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or has unknown keys or unfit values. What does not go together is only
    /// found by [`check`](Self::check).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        file::read(path.as_ref())
    }

    /// The same of a text, as if it were that of a file in this folder.
    ///
    /// # Errors
    ///
    /// As of [`read`](Self::read).
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        file::parse(text, &|line| format!("line {line}: "), folder)
    }

    /// The same with another value of one key, as it is written in a file without quotes: for
    /// options of a program. Lists are separated by commas; members are `NAME=ADDRESS`.
    ///
    /// # Errors
    ///
    /// If there is no such key, or the value is none.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        file::set(self, key, value, Path::new(""))
    }

    /// Takes the values of variables such as `VORRANG_LEASE` or `VORRANG_HTTP_LISTEN`; others that
    /// begin so are left alone, since programs that use locks have their own.
    ///
    /// # Errors
    ///
    /// If a value is none.
    pub fn take_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, value) in variables {
            if let Some(key) = Self::KEYS.iter().find(|key| key.variable() == variable) {
                let at_variable = |error| match error {
                    ConfigError::Value { value, why, .. } => {
                        let (place, key) = (String::new(), variable.clone());
                        ConfigError::Value { place, key, value, why }
                    }
                    other => other,
                };
                self.set(key.name, &value).map_err(at_variable)?;
            }
        }
        Ok(())
    }

    /// Every effective value, as a file that can be read back.
    pub fn to_toml(&self) -> String {
        file::to_toml(self)
    }

    /// The name of this member.
    pub fn own_name(&self) -> &str {
        self.name.as_deref().or(self.address.as_deref()).unwrap_or("a")
    }

    /// At what pace the failure detector works, and how many members there may be.
    pub(crate) fn setup(&self) -> Setup {
        Setup {
            beat: self.beat,
            margin: self.margin,
            margin_cap: self.margin_cap,
            margin_halves_after: self.margin_halves_after,
            ..Setup::new(Group::of(self.room))
        }
    }

    pub(crate) fn leases(&self) -> Option<Lease> {
        self.lease.map(|length| Lease::new(length, self.drift).with_grace(self.grace))
    }

    pub(crate) fn limits(&self) -> Limits {
        let batch = Batch { clients: self.batch_clients, time: self.batch_time };
        Limits { batch, idle_names: self.idle_names, ..Limits::USUAL }
    }

    /// All that must be the same for all members, in words: members tell each other when they meet,
    /// and name what differs.
    pub(crate) fn agreed(&self) -> String {
        let agreed = Self::KEYS.iter().filter(|key| key.is_agreed());
        let words = agreed.filter_map(|key| Some(format!("{}={}", key.name, key.show(self)?)));
        let data = if self.data.is_some() { "data=yes" } else { "data=no" };
        words.chain([data.to_owned()]).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
