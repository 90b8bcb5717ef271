//! How values are read.

use std::fmt::Display;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use vorrang_protocol::WallTime;

/// A time.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    text.parse().map(|WallTime(time)| time)
}

/// A time, or none.
pub(super) fn time_or_off(text: &str) -> Result<Option<Duration>, String> {
    let or_off = |why: String| format!("{why}; or off");
    off(text).map(|text| time(text).map_err(or_off)).transpose()
}

/// What it is, unless it is off.
pub(super) fn off(text: &str) -> Option<&str> {
    (text != "off").then_some(text)
}

pub(super) fn shown_or_off(time: Option<Duration>) -> String {
    time.map_or_else(|| "off".to_owned(), |time| WallTime(time).to_string())
}

/// A whole number of a range.
pub(super) fn number<T>(text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) | Err(_) => {
            Err(format!("give a whole number from {} to {}", range.start(), range.end()))
        }
    }
}

/// Permissions of a file.
pub(super) fn octal(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.filter(|_| !text.starts_with('+'))
        .ok_or_else(|| "write permissions in octal, such as 0600 or 0660".to_owned())
}

/// A list, separated by commas.
pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Whether this may be an address: HOST:PORT.
pub(super) fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_plain = !host.is_empty() && host.chars().all(|it| it.is_ascii_graphic());
        is_plain && text.len() <= 255 && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// Whether only this machine reaches an address. A name may be that of another one tomorrow, but
/// for one.
pub(super) fn is_on_this_machine(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The one of these that is most like a text, if one is.
pub(super) fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |it: &str| strsim::damerau_levenshtein(text, it);
    let near = known.map(|it| (distance(it), it)).min()?;
    (near.0 <= text.chars().count() / 2).then_some(near.1)
}
