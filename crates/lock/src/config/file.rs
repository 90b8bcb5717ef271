//! A configuration as a text, and back.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Form, Key};
use super::values::list;
use super::{ClientLimits, Config, ConfigError, MemberAddress};

/// The tables with keys of their own.
const TABLES: [&str; 2] = ["http", "tls"];
/// The tables of which there may be several, and their keys.
const LISTS: [(&str, &[&str]); 2] =
    [("member", &["name", "address", "http"]), ("client", &["name", "prefixes", "holds"])];

/// Where something stands.
struct Place<'a> {
    text: &'a str,
    of_line: &'a dyn Fn(usize) -> String,
    folder: &'a Path,
}

impl Place<'_> {
    fn at(&self, byte: usize) -> String {
        let before = self.text.get(..byte).unwrap_or(self.text);
        (self.of_line)(before.matches('\n').count() + 1)
    }
}

pub(super) fn read(path: &Path) -> Result<Config, ConfigError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path);
    let text =
        text.map_err(|source| ConfigError::Unreadable { path: shown.to_string(), source })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&text, &|line| format!("{shown}:{line}: "), folder)
}

pub(super) fn parse(
    text: &str,
    of_line: &dyn Fn(usize) -> String,
    folder: &Path,
) -> Result<Config, ConfigError> {
    let place = Place { text, of_line, folder };
    let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        place: place.at(error.span().map_or(0, |span| span.start)),
        why: error.message().to_owned(),
    })?;
    let mut config = Config::default();
    take(&mut config, table.get_ref(), "", &place)?;
    if let Some(tls) = &config.tls {
        let parts =
            [("authority", &tls.authority), ("certificate", &tls.certificate), ("key", &tls.key)];
        if let Some((missing, _)) = parts.iter().find(|it| it.1.as_os_str().is_empty()) {
            return super::unfit(format!(
                "[tls] has no {missing}: it takes authority, certificate and key"
            ));
        }
    }
    Ok(config)
}

/// Takes the keys of a table, which are called so with this before.
fn take(
    config: &mut Config,
    table: &DeTable<'_>,
    before: &str,
    place: &Place<'_>,
) -> Result<(), ConfigError> {
    for (name, value) in table {
        let key = format!("{before}{}", name.get_ref());
        let at = place.at(name.span().start);
        match value.get_ref() {
            DeValue::Table(inner) if before.is_empty() && TABLES.contains(&key.as_str()) => {
                take(config, inner, &format!("{key}."), place)?;
            }
            _ if key == "member" => {
                let members = tables(&key, value, &at)?;
                let members = members.map(|it| member(it, place));
                config.members = members.collect::<Result<_, _>>()?;
            }
            _ if key == "client" => {
                let clients = tables(&key, value, &at)?;
                config.clients = clients.map(|it| client(it, place)).collect::<Result<_, _>>()?;
            }
            _ => {
                let known = find(&key).ok_or_else(|| unknown(at.clone(), &key))?;
                let text = written(known, value.get_ref(), &at)?;
                give(config, known, &text, (at, place.folder))?;
            }
        }
    }
    Ok(())
}

fn find(name: &str) -> Option<&'static Key> {
    Config::KEYS.iter().find(|key| key.name == name)
}

fn unknown(at: String, key: &str) -> ConfigError {
    let lists = LISTS.into_iter().map(|(name, _)| name);
    ConfigError::unknown(at, key, Config::KEYS.iter().map(|key| key.name).chain(lists))
}

pub(super) fn set(
    config: &mut Config,
    name: &str,
    value: &str,
    folder: &Path,
) -> Result<(), ConfigError> {
    if name == "member" {
        config.members =
            list(value).iter().map(|it| member_of_text(it)).collect::<Result<_, _>>()?;
        return Ok(());
    }
    let known = find(name).ok_or_else(|| unknown(String::new(), name))?;
    give(config, known, value, (String::new(), folder))
}

/// As in `a=127.0.0.1:7400`.
fn member_of_text(text: &str) -> Result<MemberAddress, ConfigError> {
    let (name, address) = text.split_once('=').ok_or_else(|| ConfigError::Value {
        place: String::new(),
        key: "member".to_owned(),
        value: text.to_owned(),
        why: "write NAME=HOST:PORT, as in a=127.0.0.1:7400".to_owned(),
    })?;
    Ok(MemberAddress { name: name.to_owned(), address: address.to_owned(), http: None })
}

fn give(
    config: &mut Config,
    key: &Key,
    text: &str,
    (place, folder): (String, &Path),
) -> Result<(), ConfigError> {
    let value = match key.form {
        Form::Path => folder.join(text).display().to_string(),
        Form::Text | Form::Number | Form::List => text.to_owned(),
    };
    let why = if text.is_empty() && key.form != Form::List {
        Err("it is empty".to_owned())
    } else {
        (key.set)(config, &value)
    };
    why.map_err(|why| {
        let is_number = key.form == Form::Number && text.parse::<i128>().is_ok();
        let value = if is_number { text.to_owned() } else { quoted(text) };
        let key = key.name.to_owned();
        ConfigError::Value { place, key, value, why }
    })
}

/// A value of a file as a text.
fn written(key: &Key, value: &DeValue<'_>, at: &str) -> Result<String, ConfigError> {
    let wanted = match (key.form, value) {
        (Form::Text | Form::Path, DeValue::String(text)) => return Ok(text.to_string()),
        (Form::Number, DeValue::Integer(number)) if number.radix() == 10 => {
            return Ok(number.as_str().to_owned());
        }
        (Form::List, DeValue::Array(_)) => return Ok(texts(value, key.name, at)?.join(",")),
        (Form::Text | Form::Path, _) => "a text in quotes",
        (Form::Number, _) => "a whole number",
        (Form::List, _) => "a list, as in [\"127.0.0.1:7400\"]",
    };
    Err(wrong(key.name, value, at, &format!("write {wanted}")))
}

fn wrong(key: &str, value: &DeValue<'_>, place: &str, why: &str) -> ConfigError {
    let value = match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "[…]".to_owned(),
        DeValue::Table(_) => "{…}".to_owned(),
    };
    ConfigError::Value { place: place.to_owned(), key: key.to_owned(), value, why: why.to_owned() }
}

fn texts(value: &DeValue<'_>, key: &str, at: &str) -> Result<Vec<String>, ConfigError> {
    let list = value.as_array().into_iter().flatten();
    let text = |it: &Spanned<DeValue<'_>>| match it.get_ref() {
        DeValue::String(text) if !text.contains(',') => Ok(text.to_string()),
        other => Err(wrong(key, other, at, "write a text in quotes, without a comma")),
    };
    list.map(text).collect()
}

/// The tables of a list such as `[[member]]`.
fn tables<'a, 'b>(
    key: &str,
    value: &'a Spanned<DeValue<'b>>,
    at: &str,
) -> Result<impl Iterator<Item = &'a DeTable<'b>> + use<'a, 'b>, ConfigError> {
    let list: Option<Vec<_>> = value
        .get_ref()
        .as_array()
        .map(|list| list.iter().map(|it| it.get_ref().as_table()).collect())
        .unwrap_or_default();
    let why = format!("write a table [[{key}]] for each");
    list.map(Vec::into_iter).ok_or_else(|| wrong(key, value.get_ref(), at, &why))
}

/// The values of one such table by their keys.
struct Fields<'a, 'b> {
    table: &'a DeTable<'b>,
    of: &'static str,
    place: &'a Place<'a>,
}

impl<'a, 'b> Fields<'a, 'b> {
    fn new(of: usize, table: &'a DeTable<'b>, place: &'a Place<'a>) -> Result<Self, ConfigError> {
        let (of, known) = LISTS[of];
        for name in table.keys() {
            if !known.contains(&name.get_ref().as_ref()) {
                let at = place.at(name.span().start);
                let key = name.get_ref().as_ref();
                return Err(ConfigError::unknown(at, key, known.iter().copied()));
            }
        }
        Ok(Self { table, of, place })
    }

    fn find(&self, key: &str) -> Option<(&'a DeValue<'b>, String)> {
        let (_, value) = self.table.iter().find(|(name, _)| name.get_ref() == key)?;
        Some((value.get_ref(), self.place.at(value.span().start)))
    }

    fn text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let Some((value, at)) = self.find(key) else { return Ok(None) };
        match value {
            DeValue::String(text) => Ok(Some(text.to_string())),
            other => {
                let key = format!("{}.{key}", self.of);
                Err(wrong(&key, other, &at, "write a text in quotes"))
            }
        }
    }

    fn needed(&self, key: &str) -> Result<String, ConfigError> {
        self.text(key)?.ok_or_else(|| ConfigError::Unfit(format!("a [[{}]] has no {key}", self.of)))
    }
}

fn member(table: &DeTable<'_>, place: &Place<'_>) -> Result<MemberAddress, ConfigError> {
    let fields = Fields::new(0, table, place)?;
    let (name, address) = (fields.needed("name")?, fields.needed("address")?);
    Ok(MemberAddress { name, address, http: fields.text("http")? })
}

fn client(table: &DeTable<'_>, place: &Place<'_>) -> Result<ClientLimits, ConfigError> {
    let fields = Fields::new(1, table, place)?;
    let prefixes = match fields.find("prefixes") {
        None => Vec::new(),
        Some((value @ DeValue::Array(_), at)) => texts(value, "client.prefixes", &at)?,
        Some((value, at)) => {
            return Err(wrong("client.prefixes", value, &at, "write a list, as in [\"ci/\"]"));
        }
    };
    let holds = match fields.find("holds") {
        None => None,
        Some((value, at)) => {
            let number = value.as_integer().and_then(|it| it.as_str().parse().ok());
            let why = "write a whole number";
            Some(number.ok_or_else(|| wrong("client.holds", value, &at, why))?)
        }
    };
    Ok(ClientLimits { name: fields.needed("name")?, prefixes, holds })
}

pub(super) fn to_toml(config: &Config) -> String {
    let mut text = String::new();
    let mut table = "";
    for key in Config::KEYS {
        let Some(value) = key.show(config) else { continue };
        let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if of != table {
            text += &format!("\n[{of}]\n");
            table = of;
        }
        let value = match key.form {
            Form::Text | Form::Path => quoted(&value),
            Form::Number => value,
            Form::List => quoted_list(&list(&value)),
        };
        text += &format!("{name} = {value}\n");
    }
    for MemberAddress { name, address, http } in &config.members {
        text += &format!("\n[[member]]\nname = {}\naddress = {}\n", quoted(name), quoted(address));
        text.extend(http.iter().map(|http| format!("http = {}\n", quoted(http))));
    }
    for ClientLimits { name, prefixes, holds } in &config.clients {
        let prefixes = quoted_list(prefixes);
        text += &format!("\n[[client]]\nname = {}\nprefixes = {prefixes}\n", quoted(name));
        text.extend(holds.iter().map(|holds| format!("holds = {holds}\n")));
    }
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            it if it.is_control() => quoted += &format!("\\u{:04X}", it as u32),
            it => quoted.push(it),
        }
    }
    quoted + "\""
}

fn quoted_list(list: &[String]) -> String {
    let list: Vec<String> = list.iter().map(|it| quoted(it)).collect();
    format!("[{}]", list.join(", "))
}
