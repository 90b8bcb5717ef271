//! What a certificate says: of what, of whom, by whom, and for how long.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use time::OffsetDateTime;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::pem::{KeyError, read_certificates};

/// What the holder of a certificate is to the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// It hands out locks, together with the other members.
    Member,
    /// It uses locks, from another machine.
    Client,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Member => "member",
            Self::Client => "client",
        })
    }
}

/// The holder of a certificate. In the certificate it is a URI among the alternative names of the
/// subject: `vorrang://member/a`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Holder {
    /// What it is.
    pub role: Role,
    /// How it is called.
    pub name: String,
}

impl Holder {
    const SCHEME: &str = "vorrang://";

    /// A member of this name.
    pub fn member(name: &str) -> Self {
        Self { role: Role::Member, name: name.to_owned() }
    }

    /// A client of this name.
    pub fn client(name: &str) -> Self {
        Self { role: Role::Client, name: name.to_owned() }
    }

    /// As it stands in a certificate.
    pub fn uri(&self) -> String {
        format!("{}{}/{}", Self::SCHEME, self.role, self.name)
    }

    fn from_uri(uri: &str) -> Option<Self> {
        let (role, name) = uri.strip_prefix(Self::SCHEME)?.split_once('/')?;
        let role = [Role::Member, Role::Client].into_iter().find(|it| it.to_string() == role)?;
        validate_name(name).ok()?;
        Some(Self { role, name: name.to_owned() })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.role, self.name)
    }
}

/// How long the name of a member or a client may be, in bytes: as a name of a host.
pub const MAX_NAME_LEN: usize = 63;

/// Why a text is not the name of a member or a client.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// There is nothing.
    #[error("the name is empty")]
    Empty,
    /// It is too long.
    #[error("the name '{0}' is longer than {MAX_NAME_LEN} bytes")]
    TooLong(String),
    /// It has a character that is not allowed, or not there.
    #[error(
        "the name '{name}' has {character:?} in it: a name has letters, digits, '-', '_' and '.', \
         and begins with a letter or a digit"
    )]
    Character {
        /// The name.
        name: String,
        /// The character.
        character: char,
    },
}

/// Whether this may be the name of a member or a client: it is a part of a certificate and of names
/// of files.
///
/// # Errors
///
/// If not, why.
pub fn validate_name(name: &str) -> Result<(), NameError> {
    let Some(first) = name.chars().next() else { return Err(NameError::Empty) };
    if name.len() > MAX_NAME_LEN {
        return Err(NameError::TooLong(name.to_owned()));
    }
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    let wrong = if first.is_ascii_alphanumeric() {
        name.chars().find(|it| !is_plain(it))
    } else {
        Some(first)
    };
    match wrong {
        None => Ok(()),
        Some(character) => Err(NameError::Character { name: name.to_owned(), character }),
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Member, Self::Client]
            .into_iter()
            .find(|it| it.to_string() == text)
            .ok_or_else(|| format!("'{text}' is neither member nor client"))
    }
}

/// What stands in a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// Whose it is; none if it is that of an authority, or of something else.
    pub holder: Option<Holder>,
    /// Whether it is that of an authority.
    pub is_authority: bool,
    /// The name in it.
    pub subject: String,
    /// The name of the authority that has issued it.
    pub authority: String,
    /// From when on it is valid.
    pub not_before: SystemTime,
    /// Until when.
    pub not_after: SystemTime,
    /// The names and addresses of hosts in it, by which programs that know nothing of members
    /// verify it.
    pub hosts: Vec<String>,
}

impl Certificate {
    /// Reads one; an error is a sentence.
    pub(crate) fn read(der: &CertificateDer<'_>) -> Result<Self, String> {
        let (rest, read) = X509Certificate::from_der(der)
            .map_err(|error| format!("it cannot be read as a certificate: {error}"))?;
        if !rest.is_empty() {
            return Err("there are bytes behind the certificate".to_owned());
        }
        let names = read
            .subject_alternative_name()
            .map_err(|error| format!("its alternative names cannot be read: {error}"))?;
        let (mut holder, mut hosts) = (None, Vec::new());
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::URI(uri) => {
                    let Some(found) = Holder::from_uri(uri) else { continue };
                    if holder.replace(found).is_some() {
                        return Err("it names more than one member or client".to_owned());
                    }
                }
                GeneralName::DNSName(host) => hosts.push(printable(host)),
                GeneralName::IPAddress(bytes) => hosts.extend(ip_address(bytes)),
                _ => {}
            }
        }
        let validity = read.validity();
        Ok(Self {
            holder,
            is_authority: read.is_ca(),
            subject: common_name(read.subject()),
            authority: common_name(read.issuer()),
            not_before: moment(validity.not_before.timestamp()),
            not_after: moment(validity.not_after.timestamp()),
            hosts,
        })
    }

    /// All that are in a file of PEM, at least one.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or something else is in it.
    pub fn read_file(path: &Path) -> Result<Vec<Self>, KeyError> {
        let chain = read_certificates(path)?;
        let read: Result<Vec<Self>, String> = chain.iter().map(Self::read).collect();
        read.map_err(|why| KeyError::Wrong { path: path.to_owned(), why })
    }

    /// For how long it is valid yet; none if it is not valid any more.
    pub fn valid_for(&self, now: SystemTime) -> Option<Duration> {
        self.not_after.duration_since(now).ok()
    }

    /// Whose it is: `member a`, or the name in it if it is nobody's here.
    pub fn whose(&self) -> String {
        match &self.holder {
            Some(holder) => holder.to_string(),
            None => format!("'{}'", self.subject),
        }
    }

    /// From when until when it is valid, in words.
    pub fn validity(&self) -> String {
        format!("valid from {} until {}", Date(self.not_before), Date(self.not_after))
    }
}

/// A name in a certificate, as it may be shown.
fn common_name(name: &x509_parser::x509::X509Name<'_>) -> String {
    let common = name.iter_common_name().next().and_then(|it| it.as_str().ok());
    printable(&common.map_or_else(|| name.to_string(), str::to_owned))
}

/// Anybody can write anything into a certificate of his own.
fn printable(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(100).collect()
}

fn ip_address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let any = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    any.ok().map(|address| address.to_string())
}

fn moment(seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let moment = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    moment.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A moment as `2027-11-19 20:38 UTC`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Date(pub(crate) SystemTime);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = OffsetDateTime::from(self.0);
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        write!(f, "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", at.hour(), at.minute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_hosts_and_files() {
        let long = "x".repeat(MAX_NAME_LEN);
        for name in ["a", "db-1", "db_1.example", "7", &long] {
            validate_name(name).unwrap();
        }
        let longer = "x".repeat(MAX_NAME_LEN + 1);
        let cases = [
            ("", "the name is empty"),
            (longer.as_str(), "is longer than 63 bytes"),
            ("-a", "the name '-a' has '-' in it"),
            (".", "the name '.' has '.' in it"),
            ("../a", "has '.' in it"),
            ("a/b", "the name 'a/b' has '/' in it"),
            ("a b", "has ' ' in it"),
            ("ä", "has 'ä' in it"),
            ("a\n", "has '\\n' in it"),
        ];
        for (name, words) in cases {
            let why = validate_name(name).unwrap_err().to_string();
            assert!(why.contains(words), "{name:?}: {why}");
        }
    }

    #[test]
    fn holders_stand_in_certificates_as_uris() {
        for holder in [Holder::member("a"), Holder::client("ci.example")] {
            assert_eq!(Holder::from_uri(&holder.uri()), Some(holder));
        }
        assert_eq!(Holder::member("a").uri(), "vorrang://member/a");
        for other in [
            "vorrang://member/",
            "vorrang://member/a/b",
            "vorrang://members/a",
            "vorrang://client",
            "https://member/a",
            "VORRANG://member/a",
        ] {
            assert_eq!(Holder::from_uri(other), None, "{other}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| Date(moment(seconds)).to_string();
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_827_696), "2000-02-29 12:34 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59 UTC");
    }
}
