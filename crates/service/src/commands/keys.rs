//! `vorrang keys`: a private authority, and the certificates of members and clients.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use vorrang_lock::tls::issue::{AUTHORITY_DAYS, DAYS, Validity};
use vorrang_lock::tls::{Certificate, Holder, Role};

use crate::failure::Failure;
use crate::key_files::{AUTHORITY, KeyDirectory, Wanted, validate};

/// Make the keys and certificates of a group
///
/// A group has an authority of its own, which is nothing but a private key. Whoever has a
/// certificate of it belongs to the group: as a member, which hands out locks, or as a client,
/// which uses them from another machine. Keep the directory with the authority on a machine that is
/// no member, and copy to each member and client its own two files and ca.pem.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    vorrang keys init keys --members a,b,c\n  \
    vorrang keys client keys ci\n  \
    vorrang keys show keys/*.pem\n  \
    vorrang keys renew keys a b c\n\n\
    In the configuration of member a:\n  \
    [tls]\n  \
    authority = \"ca.pem\"\n  \
    certificate = \"a.pem\"\n  \
    key = \"a.key\"")]
pub(crate) struct Keys {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Make an authority, and certificates of members
    Init(Init),
    /// Make certificates of further members, which may join the group
    Member(Issue),
    /// Make certificates of clients, which use locks from other machines
    Client(Issue),
    /// Give certificates new dates; their keys stay the same
    ///
    /// Copy the new NAME.pem to where it is used, and send SIGHUP to the daemon there: then it is
    /// read again. No connection ends.
    Renew(Renew),
    /// Say whose certificates these are, and how long they are valid
    Show(Show),
}

#[derive(Clone, Debug, Args)]
struct Init {
    /// The directory; made if it is not there. Nothing in it is overwritten
    directory: PathBuf,
    /// The names of the members. With =HOST the certificate is also one of that host or IP address,
    /// for programs that ask for this, such as curl and browsers
    #[arg(long, value_name = "NAME[=HOST],...", value_delimiter = ',', required = true)]
    members: Vec<String>,
    /// For how many days certificates of members are valid
    #[arg(long, value_name = "DAYS", default_value_t = DAYS, value_parser = days())]
    days: u32,
    /// For how many days the authority is valid
    #[arg(long, value_name = "DAYS", default_value_t = AUTHORITY_DAYS, value_parser = days())]
    authority_days: u32,
}

#[derive(Clone, Debug, Args)]
struct Issue {
    /// The directory of the authority
    directory: PathBuf,
    /// The names
    #[arg(value_name = "NAME[=HOST]", required = true)]
    names: Vec<String>,
    /// For how many days the certificates are valid
    #[arg(long, value_name = "DAYS", default_value_t = DAYS, value_parser = days())]
    days: u32,
}

#[derive(Clone, Debug, Args)]
struct Renew {
    /// The directory of the authority
    directory: PathBuf,
    /// The names
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// For how many days from now on the certificates are valid
    #[arg(long, value_name = "DAYS", default_value_t = DAYS, value_parser = days())]
    days: u32,
}

#[derive(Clone, Debug, Args)]
struct Show {
    /// Files with certificates
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

fn days() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=36_500)
}

impl Keys {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        match self.what {
            What::Init(init) => init.execute(),
            What::Member(issue) => issue.execute(Role::Member),
            What::Client(issue) => issue.execute(Role::Client),
            What::Renew(renew) => renew.execute(),
            What::Show(show) => show.execute(),
        }
    }
}

impl Init {
    fn execute(self) -> Result<ExitCode, Failure> {
        let Self { directory, members, days, authority_days } = self;
        let wanted = wanted(Role::Member, &members)?;
        let validity = (Validity::days(authority_days), Validity::days(days));
        let made = KeyDirectory::create(&directory, &wanted, validity)?;
        let (certificate, key) = made.files(AUTHORITY);
        let read = made.certificate(AUTHORITY)?;
        let mut said = format!("{}  {}\n", certificate.display(), until(&read));
        let warning = "its private key: not for the machines of members";
        said += &format!("{}  {warning}\n", key.display());
        said += &report(&made, &wanted)?;
        Ok(say(&said))
    }
}

impl Issue {
    fn execute(self, role: Role) -> Result<ExitCode, Failure> {
        let Self { directory, names, days } = self;
        let wanted = wanted(role, &names)?;
        let keys = KeyDirectory::open(&directory)?;
        keys.issue(&wanted, Validity::days(days))?;
        Ok(say(&report(&keys, &wanted)?))
    }
}

impl Renew {
    fn execute(self) -> Result<ExitCode, Failure> {
        let Self { directory, names, days } = self;
        let keys = KeyDirectory::open(&directory)?;
        // Who cannot be renewed is known before anybody is.
        for name in &names {
            keys.certificate(name)?;
        }
        let mut said = String::new();
        for name in &names {
            let renewed = keys.renew(name, Validity::days(days))?;
            said += &format!("{}  {}\n", keys.files(name).0.display(), until(&renewed));
        }
        Ok(say(&said))
    }
}

impl Show {
    fn execute(self) -> Result<ExitCode, Failure> {
        let mut said = String::new();
        for file in &self.files {
            let read = Certificate::read_file(file);
            for certificate in read.map_err(|why| Failure::Storage(why.to_string()))? {
                said += &shown(file, &certificate, SystemTime::now());
            }
        }
        Ok(say(&said))
    }
}

/// Those who are to have certificates, as they were typed: NAME or NAME=HOST.
fn wanted(role: Role, names: &[String]) -> Result<Vec<Wanted>, Failure> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for text in names {
        let (name, host) = match text.split_once('=') {
            Some((name, host)) => (name, Some(host)),
            None => (text.as_str(), None),
        };
        validate(name)?;
        if wanted.iter().any(|it| it.holder.name.eq_ignore_ascii_case(name)) {
            return Err(Failure::Usage(format!("the name '{name}' is there twice")));
        }
        // The name may be that of the host.
        let hosts = [name].into_iter().chain(host).map(str::to_owned).collect();
        wanted.push(Wanted { holder: Holder { role, name: name.to_owned() }, hosts });
    }
    Ok(wanted)
}

/// What was made.
fn report(keys: &KeyDirectory, wanted: &[Wanted]) -> Result<String, Failure> {
    let mut said = String::new();
    for Wanted { holder, .. } in wanted {
        let (certificate, key) = keys.files(&holder.name);
        let read = keys.certificate(&holder.name)?;
        said += &format!("{}  {}\n", certificate.display(), until(&read));
        said += &format!("{}  its private key\n", key.display());
    }
    Ok(said)
}

/// Prints it. If nobody reads it, it was done all the same.
fn say(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn until(certificate: &Certificate) -> String {
    format!("{}, {}", whose(certificate), certificate.validity())
}

fn whose(certificate: &Certificate) -> String {
    if certificate.is_authority {
        format!("the authority '{}'", certificate.subject)
    } else {
        certificate.whose()
    }
}

fn shown(file: &Path, certificate: &Certificate, now: SystemTime) -> String {
    let mut text = format!("{}: {}\n", file.display(), whose(certificate));
    let left = match certificate.valid_for(now) {
        Some(left) if certificate.not_before > now => {
            format!("not valid yet, then for {}", in_days(left))
        }
        Some(left) => format!("{} left", in_days(left)),
        None => "expired".to_owned(),
    };
    text += &format!("  {}: {left}\n", certificate.validity());
    if !certificate.is_authority {
        text += &format!("  issued by '{}'\n", certificate.authority);
    }
    if !certificate.hosts.is_empty() {
        text += &format!("  also for the hosts {}\n", certificate.hosts.join(", "));
    }
    text
}

/// A time in whole days, or hours if it is shorter than one.
fn in_days(time: Duration) -> String {
    let hours = time.as_secs() / 3600;
    match (hours / 24, hours) {
        (0, 1) => "1 hour".to_owned(),
        (0, hours) => format!("{hours} hours"),
        (1, _) => "1 day".to_owned(),
        (days, _) => format!("{days} days"),
    }
}
