//! What the daemon is told: in a file, by variables of the environment and by options, where an
//! option counts before a variable, and that before the file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use toml::de::{DeTable, DeValue};
use vorrang_lock::{Config, ConfigError, Key};

use crate::client::usual_socket;

/// The list of members, which is a key of another kind: its value has several parts.
const MEMBER: &str = "member";

/// Every key of the configuration as an option.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyArgs {
    /// Names of keys and values, in the order of the keys.
    given: Vec<(&'static str, String)>,
}

impl KeyArgs {
    /// As if these had been given, by the names of their keys.
    pub(crate) fn of(given: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self { given: given.into_iter().collect() }
    }
}

/// The option of a key.
fn option(key: &str) -> String {
    key.replace('.', "-")
}

impl Args for KeyArgs {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Keys of the configuration");
        let argument = |key: &'static Key| {
            let more = if key.is_agreed() { "; the same for all members" } else { "" };
            Arg::new(key.name)
                .long(option(key.name))
                .value_name(key.value)
                .help(format!("{}{more} [variable: {}]", key.help, key.variable()))
                .allow_hyphen_values(true)
        };
        let member = Arg::new(MEMBER)
            .long(MEMBER)
            .value_name("NAME=HOST:PORT")
            .action(ArgAction::Append)
            .help(
                "A founder of the group, in the order that all of them are given; with commas, or \
                 once for each [variable: VORRANG_MEMBER]",
            );
        command.args(Config::KEYS.iter().map(argument)).arg(member)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KeyArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let one =
            |key: &'static Key| Some((key.name, matches.get_one::<String>(key.name)?.clone()));
        let mut given: Vec<_> = Config::KEYS.iter().filter_map(one).collect();
        if let Some(members) = matches.get_many::<String>(MEMBER) {
            given.push((MEMBER, members.cloned().collect::<Vec<_>>().join(",")));
        }
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The configuration, and where each value comes from.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// By the key: a variable, an option, or a line of the file. The others are as they are.
    from: BTreeMap<String, String>,
}

impl Settings {
    /// Puts together what is in the file, in the environment and in options.
    pub(crate) fn collect(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        options: &KeyArgs,
    ) -> Result<Self, ConfigError> {
        let mut from = BTreeMap::new();
        let mut config = match file {
            Some(path) => {
                let config = Config::read(path)?;
                note_lines(path, &mut from);
                config
            }
            None => Config::default(),
        };
        let texts = environment
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let variables: BTreeMap<String, OsString> = texts.collect();
        let keys = Config::KEYS.iter().map(|key| (key.name, key.variable()));
        for (key, variable) in keys.chain([(MEMBER, "VORRANG_MEMBER".to_owned())]) {
            let Some(value) = variables.get(&variable) else { continue };
            let value = value.to_string_lossy();
            config.set(key, &value).map_err(|why| renamed(why, &variable))?;
            from.insert(key.to_owned(), variable);
        }
        for (key, value) in &options.given {
            let option = format!("--{}", option(key));
            config.set(key, value).map_err(|why| renamed(why, &option))?;
            from.insert((*key).to_owned(), option);
        }
        config.socket.get_or_insert_with(usual_socket);
        config.check()?;
        Ok(Self { config, from })
    }

    /// The socket of the daemon.
    pub(crate) fn socket(&self) -> PathBuf {
        self.config.socket.clone().unwrap_or_else(usual_socket)
    }

    /// Every effective value, as a file that can be read back, with a word on where it comes from.
    pub(crate) fn show(&self) -> String {
        let mut shown = String::new();
        let mut table = String::new();
        for line in self.config.to_toml().lines() {
            let origin = if let Some(name) = line.strip_prefix("[[") {
                table.clear();
                name.strip_suffix("]]").and_then(|name| self.from.get(name).cloned())
            } else if let Some(name) = line.strip_prefix('[') {
                table = name.trim_end_matches(']').to_owned() + ".";
                None
            } else if let (Some((name, _)), false) = (line.split_once(" = "), is_listed(&table)) {
                let from = self.from.get(&format!("{table}{name}"));
                Some(from.map_or("default", String::as_str).to_owned())
            } else {
                None
            };
            match origin {
                Some(origin) => {
                    let _ = writeln!(shown, "{line}  # {origin}");
                }
                None => {
                    let _ = writeln!(shown, "{line}");
                }
            }
            if line.starts_with("[[") {
                "list.".clone_into(&mut table);
            }
        }
        shown
    }
}

/// Whether these are the keys of one of several, which come from where their list comes from.
fn is_listed(table: &str) -> bool {
    table == "list."
}

/// The same error, of an option or a variable.
fn renamed(error: ConfigError, name: &str) -> ConfigError {
    match error {
        ConfigError::Value { place, value, why, .. } => {
            ConfigError::Value { place, key: name.to_owned(), value, why }
        }
        other => other,
    }
}

/// Notes which line of the file has which key. The file was read before, and is one.
fn note_lines(path: &Path, from: &mut BTreeMap<String, String>) {
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let Ok(table) = DeTable::parse(&text) else { return };
    let line = |byte: usize| text.get(..byte).map_or(0, |before| before.matches('\n').count()) + 1;
    let place = |byte: usize| format!("{}:{}", path.display(), line(byte));
    for (name, value) in table.get_ref() {
        match value.get_ref() {
            DeValue::Table(inner) => {
                for (key, _) in inner {
                    let full = format!("{}.{}", name.get_ref(), key.get_ref());
                    from.insert(full, place(key.span().start));
                }
            }
            _ => {
                from.insert(name.get_ref().to_string(), place(name.span().start));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_testkit::Folder;

    use super::*;

    fn options(given: &[(&'static str, &str)]) -> KeyArgs {
        KeyArgs::of(given.iter().map(|(key, value)| (*key, (*value).to_owned())))
    }

    fn environment(given: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        given.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn an_option_counts_before_a_variable_and_that_before_the_file() {
        let folder = Folder::new("settings");
        let file = folder.file("v.toml");
        std::fs::write(
            &file,
            "lease = '3s'\nbeat = '300ms'\ngrace = '400ms'\n[http]\nlisten = '[::1]:1'\n",
        )
        .unwrap();
        let variables =
            environment(&[("VORRANG_LEASE", "4s"), ("VORRANG_BEAT", "500ms"), ("HOME", "x")]);
        let given = options(&[("lease", "5s")]);
        let settings = Settings::collect(Some(&file), variables, &given).unwrap();
        let shown = settings.show();
        for line in [
            "lease = \"5s\"  # --lease".to_owned(),
            "beat = \"500ms\"  # VORRANG_BEAT".to_owned(),
            format!("grace = \"400ms\"  # {}:3", file.display()),
            format!("listen = \"[::1]:1\"  # {}:5", file.display()),
            "room = 64  # default".to_owned(),
        ] {
            assert!(shown.lines().any(|it| it == line), "{line}\n{shown}");
        }
        let again = Config::parse(&shown, Path::new("")).unwrap();
        assert_eq!(again.to_toml(), settings.config.to_toml());
    }

    #[test]
    fn errors_name_the_option_or_the_variable() {
        let none = KeyArgs::default();
        let why = |variables: &[(&str, &str)], options: &KeyArgs| {
            let collected = Settings::collect(None, environment(variables), options);
            collected.unwrap_err().to_string()
        };
        let error = why(&[("VORRANG_LEASE", "soon")], &none);
        assert!(error.contains("VORRANG_LEASE") && error.contains("soon"), "{error}");
        let error = why(&[], &options(&[("socket-mode", "999")]));
        assert!(error.contains("--socket-mode") && error.contains("999"), "{error}");
        let error = why(&[], &options(&[("lease", "100ms")]));
        assert!(error.contains("lease = \"100ms\" is too short"), "{error}");
    }

    #[test]
    fn members_are_given_in_one_option_or_in_several_and_shown_with_where_they_are_from() {
        let given = options(&[("member", "a=127.0.0.1:1,b=127.0.0.1:2"), ("name", "b")]);
        let settings = Settings::collect(None, [], &given).unwrap();
        assert_eq!(settings.config.members.len(), 2);
        let shown = settings.show();
        assert_eq!(shown.matches("[[member]]  # --member").count(), 2, "{shown}");
        let again = Config::parse(&shown, Path::new("")).unwrap();
        assert_eq!(again.members, settings.config.members);
    }

    #[test]
    fn every_key_is_an_option_of_its_own() {
        let command = KeyArgs::augment_args(Command::new("serve").no_binary_name(true));
        command.clone().debug_assert();
        for key in Config::KEYS {
            let option = format!("--{}", option(key.name));
            let matches = command.clone().get_matches_from([&option, "x"]);
            let given = KeyArgs::from_arg_matches(&matches).unwrap().given;
            assert_eq!(given, [(key.name, "x".to_owned())]);
        }
    }
}
