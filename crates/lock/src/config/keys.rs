//! Every key: what it means, how its value is read, and how it is shown.

use super::values::{list, number, octal, off, shown_or_off, time, time_or_off};
use super::{Config, LogFormat, TlsFiles};
use vorrang_net::MAX_ROOM;
use vorrang_protocol::WallTime;

/// A key of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name; in a table `http` or `tls` that name, a full stop and the key's.
    pub name: &'static str,
    /// What its value is, in a word.
    pub value: &'static str,
    /// What it means, in a sentence without a full stop.
    pub help: &'static str,
    pub(super) form: Form,
    /// Whether it must be the same for all members.
    is_agreed: bool,
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
    show: fn(&Config) -> Option<String>,
}

/// How a value is written in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// In quotes.
    Text,
    /// The same, a path that is relative to the file.
    Path,
    /// As a number.
    Number,
    /// Several, each in quotes.
    List,
}

impl Key {
    /// Its value, if it has one.
    pub fn show(&self, config: &Config) -> Option<String> {
        (self.show)(config)
    }

    /// The variable of the environment with its value. That of `log` has another name, since
    /// `VORRANG_LOG` says how much is logged.
    pub fn variable(&self) -> String {
        let name = if self.name == "log" { "log-format" } else { self.name };
        format!("VORRANG_{}", name.replace(['-', '.'], "_").to_uppercase())
    }

    /// Whether all members must have the same value.
    pub const fn is_agreed(&self) -> bool {
        self.is_agreed
    }

    const fn agreed(self) -> Self {
        Self { is_agreed: true, ..self }
    }
}

const fn key(
    (name, value, help): (&'static str, &'static str, &'static str),
    form: Form,
    set: fn(&mut Config, &str) -> Result<(), String>,
    show: fn(&Config) -> Option<String>,
) -> Key {
    Key { name, value, help, form, is_agreed: false, set, show }
}

fn tls(config: &mut Config) -> &mut TlsFiles {
    config.tls.get_or_insert_default()
}

pub(super) const KEYS: &[Key] = &[
    key(
        ("group", "NAME", "The name of the group; members of other groups are refused"),
        Form::Text,
        |config, text| {
            text.clone_into(&mut config.group);
            Ok(())
        },
        |config| Some(config.group.clone()),
    ),
    key(
        ("name", "NAME", "Which of the members this is"),
        Form::Text,
        |config, text| {
            config.name = Some(text.to_owned());
            Ok(())
        },
        |config| Some(config.own_name().to_owned()),
    ),
    key(
        (
            "address",
            "HOST:PORT",
            "Where the others find this member, if it is not in their list of members",
        ),
        Form::Text,
        |config, text| {
            config.address = Some(text.to_owned());
            Ok(())
        },
        |config| config.address.clone(),
    ),
    key(
        (
            "join",
            "HOST:PORT,...",
            "Join the running group of the member at this address, or at the first that answers",
        ),
        Form::List,
        |config, text| {
            config.join = list(text);
            Ok(())
        },
        |config| (!config.join.is_empty()).then(|| config.join.join(",")),
    ),
    key(
        ("algorithm", "NAME", "The algorithm for mutual exclusion, as the catalogue calls it"),
        Form::Text,
        |config, text| {
            text.clone_into(&mut config.algorithm);
            Ok(())
        },
        |config| Some(config.algorithm.clone()),
    ),
    key(
        (
            "data",
            "DIR",
            "Keep on disk what a member must not forget: then the group survives that all are \
             killed; for all members or for none",
        ),
        Form::Path,
        |config, text| {
            config.data = Some(text.into());
            Ok(())
        },
        |config| config.data.as_ref().map(|path| path.display().to_string()),
    ),
    key(
        ("room", "MEMBERS", "The largest number of members"),
        Form::Number,
        |config, text| {
            config.room = number(text, 1..=MAX_ROOM as u32)?;
            Ok(())
        },
        |config| Some(config.room.to_string()),
    )
    .agreed(),
    key(
        ("beat", "TIME", "How often a member says that it is up"),
        Form::Text,
        |config, text| {
            config.beat = time(text)?;
            Ok(())
        },
        |config| Some(WallTime(config.beat).to_string()),
    )
    .agreed(),
    key(
        (
            "margin",
            "TIME",
            "How much later than that it may be heard before it is suspected, and evicted",
        ),
        Form::Text,
        |config, text| {
            config.margin = time(text)?;
            Ok(())
        },
        |config| Some(WallTime(config.margin).to_string()),
    )
    .agreed(),
    key(
        ("margin-cap", "TIMES", "How many times as long the margin becomes by false suspicions"),
        Form::Number,
        |config, text| {
            config.margin_cap = number(text, 1..=1000)?;
            Ok(())
        },
        |config| Some(config.margin_cap.to_string()),
    )
    .agreed(),
    key(
        (
            "margin-halves-after",
            "TIME|off",
            "After what time without a false suspicion a doubling of the margin is taken back",
        ),
        Form::Text,
        |config, text| {
            config.margin_halves_after = time_or_off(text)?;
            Ok(())
        },
        |config| Some(shown_or_off(config.margin_halves_after)),
    )
    .agreed(),
    key(
        (
            "lease",
            "TIME|off",
            "A member that cannot prove for so long that it belongs to the group loses its locks",
        ),
        Form::Text,
        |config, text| {
            config.lease = time_or_off(text)?;
            Ok(())
        },
        |config| Some(shown_or_off(config.lease)),
    )
    .agreed(),
    key(
        ("drift", "PERMILLE", "By how many parts in a thousand a clock may be wrong"),
        Form::Number,
        |config, text| {
            config.drift = number(text, 0..=999)?;
            Ok(())
        },
        |config| Some(config.drift.to_string()),
    )
    .agreed(),
    key(
        (
            "grace",
            "TIME|off",
            "Work under a lock is warned, and must have ended, so long before the lease ends",
        ),
        Form::Text,
        |config, text| {
            config.grace = time_or_off(text)?.unwrap_or_default();
            Ok(())
        },
        |config| Some(shown_or_off(Some(config.grace).filter(|it| !it.is_zero()))),
    )
    .agreed(),
    key(
        (
            "batch-clients",
            "CLIENTS",
            "How many clients of one member may have a lock one after the other while others wait",
        ),
        Form::Number,
        |config, text| {
            config.batch_clients = number(text, 1..=u32::MAX)?;
            Ok(())
        },
        |config| Some(config.batch_clients.to_string()),
    )
    .agreed(),
    key(
        ("batch-time", "TIME|off", "For how long they may"),
        Form::Text,
        |config, text| {
            config.batch_time = time_or_off(text)?;
            Ok(())
        },
        |config| Some(shown_or_off(config.batch_time)),
    )
    .agreed(),
    key(
        ("idle-names", "NAMES", "After so many names those that nobody uses are forgotten"),
        Form::Number,
        |config, text| {
            config.idle_names = number(text, 1..=u32::MAX)? as usize;
            Ok(())
        },
        |config| Some(config.idle_names.to_string()),
    )
    .agreed(),
    key(
        ("max-hold", "TIME|off", "How long a client may hold something at most"),
        Form::Text,
        |config, text| {
            config.max_hold = time_or_off(text)?;
            Ok(())
        },
        |config| Some(shown_or_off(config.max_hold)),
    ),
    key(
        ("socket", "FILE", "The Unix socket of the daemon"),
        Form::Path,
        |config, text| {
            config.socket = Some(text.into());
            Ok(())
        },
        |config| config.socket.as_ref().map(|path| path.display().to_string()),
    ),
    key(
        ("socket-mode", "OCTAL", "The permissions of that socket"),
        Form::Text,
        |config, text| {
            config.socket_mode = octal(text)?;
            Ok(())
        },
        |config| Some(format!("{:04o}", config.socket_mode)),
    ),
    key(
        ("log", "text|json", "How the daemon writes its log"),
        Form::Text,
        |config, text| {
            config.log = match text {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return Err("write text or json".to_owned()),
            };
            Ok(())
        },
        |config| {
            let name = match config.log {
                LogFormat::Text => "text",
                LogFormat::Json => "json",
            };
            Some(name.to_owned())
        },
    ),
    key(
        ("http.listen", "HOST:PORT|off", "Where the daemon listens for remote clients"),
        Form::Text,
        |config, text| {
            config.http_listen = off(text).map(str::to_owned);
            Ok(())
        },
        |config| config.http_listen.clone(),
    ),
    key(
        ("tls.authority", "FILE", "The certificate of the authority of the group"),
        Form::Path,
        |config, text| {
            tls(config).authority = text.into();
            Ok(())
        },
        |config| config.tls.as_ref().map(|tls| tls.authority.display().to_string()),
    ),
    key(
        ("tls.certificate", "FILE", "The certificate of this member"),
        Form::Path,
        |config, text| {
            tls(config).certificate = text.into();
            Ok(())
        },
        |config| config.tls.as_ref().map(|tls| tls.certificate.display().to_string()),
    ),
    key(
        ("tls.key", "FILE", "The secret key of that certificate"),
        Form::Path,
        |config, text| {
            tls(config).key = text.into();
            Ok(())
        },
        |config| config.tls.as_ref().map(|tls| tls.key.display().to_string()),
    ),
];
