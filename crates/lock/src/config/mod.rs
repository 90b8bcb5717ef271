//! The configuration of a member: one file, and the same keys as options of a program and as
//! variables of the environment.

mod file;
mod keys;
mod values;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::group::locks::Lease;
use vorrang_algorithms::group::named::{Batch, LONGEST_NAME, Limits, Name};
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::mutex::{Claim, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::on_views::NewNode;
use vorrang_catalogue::{Catalogued as _, Entry, cards};
use vorrang_protocol::{Group, WallTime};

pub use self::keys::Key;
use self::values::{is_address, is_on_this_machine, nearest};

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
    /// How many holds the daemon keeps for all of its clients, at most.
    pub holds: usize,
    /// How long a daemon that leaves waits for its clients to give back what they hold.
    pub leave_within: Duration,
    /// Where the daemon listens for remote clients, if it does.
    pub http_listen: Option<String>,
    /// How long a request to the daemon may take to arrive.
    pub http_request_within: Duration,
    /// How long a hold of a remote client lasts without being renewed.
    pub http_renew_within: Duration,
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
    /// Who is let in besides the founders: names and addresses of those who may join later.
    pub newcomers: Vec<(String, String)>,
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
            holds: 16_384,
            leave_within: Duration::from_secs(10),
            http_listen: None,
            http_request_within: Duration::from_secs(10),
            http_renew_within: Duration::from_secs(10),
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

/// What the member is in its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// One of so many founders: this one.
    Founder(usize),
    /// The only founder, without a list of members.
    Alone,
    /// One that joins those who are there.
    Newcomer,
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

    /// Whether all goes together.
    ///
    /// # Errors
    ///
    /// If it does not: with the keys that do not fit, and what to do about it.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_names()?;
        self.check_times()?;
        self.check_addresses()?;
        self.check_keys()?;
        self.role()?;
        self.by_size().map(|_| ())
    }

    fn check_names(&self) -> Result<(), ConfigError> {
        let given = self.name.iter().map(|it| ("name", it));
        let listed = self.members.iter().map(|it| ("member.name", &it.name));
        let clients = self.clients.iter().map(|it| ("client.name", &it.name));
        for (key, name) in
            [("group", &self.group)].into_iter().chain(given).chain(listed).chain(clients)
        {
            if let Err(why) = Name::new(name) {
                let name: String = name.chars().take(LONGEST_NAME).collect();
                return unfit(format!("{key} = \"{}\": {why}", name.escape_debug()));
            }
        }
        for (place, member) in self.members.iter().enumerate() {
            let before = &self.members[..place];
            if before.iter().any(|it| it.name == member.name) {
                return unfit(format!("two members are called \"{}\"", member.name));
            }
            if let Some(other) = before.iter().find(|it| it.address == member.address) {
                let (one, two, address) = (&other.name, &member.name, &member.address);
                return unfit(format!(
                    "members \"{one}\" and \"{two}\" have one address, {address}"
                ));
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let shown = |time: Duration| WallTime(time);
        if let Some(lease) = self.lease {
            let least = self.grace.saturating_add(self.beat.saturating_mul(2));
            if lease < least {
                return unfit(format!(
                    "lease = \"{}\" is too short: it is renewed with every beat ({}) and lost to \
                     clients {} (grace) before its end, so it takes {} at least",
                    shown(lease),
                    shown(self.beat),
                    shown(self.grace),
                    shown(least)
                ));
            }
        }
        if let Some(most) = self.max_hold.filter(|most| *most <= self.grace) {
            return unfit(format!(
                "max-hold = \"{}\" is too short: clients are warned {} (grace) before",
                shown(most),
                shown(self.grace)
            ));
        }
        if self.members.len() > self.room as usize {
            let (room, members) = (self.room, self.members.len());
            return unfit(format!("room = {room} is too small for {members} members"));
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), ConfigError> {
        let members = self.members.iter().map(|it| ("member.address", &it.address));
        let own = self.address.iter().map(|it| ("address", it));
        let join = self.join.iter().map(|it| ("join", it));
        let http = self.http_listen.iter().map(|it| ("http.listen", it));
        for (key, address) in members.chain(own).chain(join).chain(http) {
            if !is_address(address) {
                return unfit(format!(
                    "{key} = \"{}\" is no address: write HOST:PORT, as in 127.0.0.1:7400",
                    address.escape_debug()
                ));
            }
            if self.tls.is_none() && !is_on_this_machine(address) {
                return unfit(format!(
                    "{key} = \"{address}\" is not on this machine, and without keys everybody who \
                     reaches a member can pose as one: give [tls] authority, certificate and key, \
                     or use addresses such as 127.0.0.1:7400"
                ));
            }
        }
        Ok(())
    }

    /// Without keys nobody on another machine can be told from a stranger.
    fn check_keys(&self) -> Result<(), ConfigError> {
        let Some(tls) = &self.tls else {
            return match self.http_listen.as_deref().filter(|it| !is_on_this_machine(it)) {
                Some(address) => unfit(format!(
                    "http.listen = \"{address}\" is not on this machine, and without keys everybody \
                     who reaches it could take every lock: give [tls] authority, certificate and \
                     key, or listen on an address such as 127.0.0.1:7480"
                )),
                None => Ok(()),
            };
        };
        let files =
            [("authority", &tls.authority), ("certificate", &tls.certificate), ("key", &tls.key)];
        match files.iter().find(|it| it.1.as_os_str().is_empty()) {
            Some((missing, _)) => {
                unfit(format!("[tls] has no {missing}: it takes authority, certificate and key"))
            }
            None => Ok(()),
        }
    }

    /// The name of this member.
    pub fn own_name(&self) -> &str {
        self.name.as_deref().or(self.address.as_deref()).unwrap_or("a")
    }

    pub(crate) fn role(&self) -> Result<Role, ConfigError> {
        let names = || self.members.iter().map(|it| it.name.as_str());
        let place = self.name.as_deref().and_then(|own| names().position(|it| it == own));
        let list = || names().collect::<Vec<_>>().join(", ");
        match (place, self.members.is_empty(), self.join.is_empty()) {
            (Some(_), ..) if self.address.is_some() => unfit(
                "address is for those who are not in the list of members: that of a member stands \
                 there"
                    .to_owned(),
            ),
            (Some(place), ..) => Ok(Role::Founder(place)),
            (None, true, true) => Ok(Role::Alone),
            (None, _, false) if self.address.is_none() => {
                unfit("join needs an address as well: where the others find this member".to_owned())
            }
            (None, _, false) => Ok(Role::Newcomer),
            (None, false, true) => match &self.name {
                None => {
                    unfit(format!("name is missing: which of the members is this ({})?", list()))
                }
                Some(own) => unfit(format!(
                    "name = \"{own}\" is none of the members ({}): mend it, or join them by the \
                     address of one, as in join = [\"{}\"]",
                    list(),
                    self.members[0].address
                )),
            },
        }
    }

    /// The algorithm.
    fn entry(&self) -> Result<&'static Entry<Mutex>, ConfigError> {
        let name = self.algorithm.as_str();
        let found = Mutex::entries().iter().find(|it| it.card.name == name && it.flaw.is_none());
        let found = found.ok_or_else(|| {
            let fits = cards::<Mutex>().into_iter().filter(|card| self.why_not(card).is_none());
            let fits: Vec<&str> = fits.map(|card| card.name).collect();
            let hint = match nearest(name, fits.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("there are {}", fits.join(", ")),
            };
            let name = name.escape_debug();
            ConfigError::Unfit(format!("algorithm = \"{name}\" is not known: {hint}"))
        })?;
        match self.why_not(found.card) {
            None => Ok(found),
            Some(why) => unfit(format!("algorithm = \"{name}\" does not fit: {why}")),
        }
    }

    /// Why an algorithm cannot run the locks, if it cannot.
    fn why_not(&self, card: &Card<Mutex>) -> Option<&'static str> {
        let claims = card.terms.claims;
        if card.assumes.timely {
            return Some(
                "it assumes a bound on the time that messages take, which does not hold where \
                 connections are made anew",
            );
        }
        if matches!((card.terms.admission)(&self.setup()), Admission::UpTo(_)) {
            return Some("it lets several in at a time");
        }
        if !claims.contains(&Claim::Exclusive) {
            return Some("it grants no exclusive locks");
        }
        None
    }

    /// What makes the nodes of the algorithm, in views of every size.
    pub(crate) fn by_size(&self) -> Result<BySize, ConfigError> {
        let nodes = self.entry()?.in_every_view(&self.setup());
        nodes.map_err(|(members, why)| {
            let name = &self.algorithm;
            let why = format!("algorithm = \"{name}\" does not fit in a view of {members}: {why}");
            ConfigError::Unfit(why)
        })
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

/// Makes the nodes of an algorithm, for views of every size.
type BySize = Vec<NewNode>;

#[cfg(test)]
mod tests;
