//! Durations as text: `1ms`, `1500us`, `2s`. One way to write them, wherever they are written.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Reads a duration such as `1.5ms`, in nanoseconds.
///
/// # Errors
///
/// If it is not a number with a unit, or longer than a `u64` of nanoseconds holds; the error says
/// what a duration is.
pub fn parse_duration_ns(text: &str) -> Result<u64, &'static str> {
    if text == "0" {
        return Ok(0);
    }
    let digits = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
    let (number, unit) = text.split_at(digits);
    let unit = unit.replace('µ', "u");
    let (_, ns_per_unit) = *UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or("a duration is a number with a unit: ns, us, ms or s")?;
    let number: f64 =
        number.parse().map_err(|_| "a duration is a number with a unit, such as 1.5ms")?;
    let ns = number * ns_per_unit as f64 + 0.5;
    // Half the range leaves room to add latencies to it for a lifetime.
    if !(0.5..=(u64::MAX / 2) as f64).contains(&ns) {
        return Err("a duration is at least 0 and at most some 290 years");
    }
    Ok(ns as u64)
}

/// Writes a duration in the largest unit that keeps it whole.
pub fn show_duration_ns(ns: u64) -> String {
    if ns == 0 {
        return String::from("0");
    }
    let (name, ns_per_unit) =
        UNITS.iter().rev().find(|(_, unit)| ns.is_multiple_of(*unit)).unwrap_or(&UNITS[0]);
    format!("{}{name}", ns / ns_per_unit)
}

/// How long a person is willing to wait: a duration as it is written elsewhere, or in minutes or
/// hours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WallTime(pub Duration);

const LONG_UNITS: [(&str, u64); 2] = [("h", 3600), ("m", 60)];

impl FromStr for WallTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let long = LONG_UNITS
            .iter()
            .find_map(|(unit, seconds)| Some((format!("{}s", text.strip_suffix(unit)?), *seconds)));
        let (seconds, times) = long.unwrap_or_else(|| (text.to_owned(), 1));
        let ns = parse_duration_ns(&seconds)
            .map_err(|_| "write a time such as 500ms, 90s, 10m or 2h".to_owned())?;
        match ns.checked_mul(times) {
            Some(0) => Err("give a time of more than 0".to_owned()),
            Some(ns) => Ok(Self(Duration::from_nanos(ns))),
            None => Err("give a shorter time: that is centuries".to_owned()),
        }
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos() as u64;
        let long = LONG_UNITS.iter().find(|(_, it)| ns.is_multiple_of(it * 1_000_000_000));
        match long {
            Some((unit, seconds)) => write!(f, "{}{unit}", ns / (seconds * 1_000_000_000)),
            None => f.write_str(&show_duration_ns(ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn durations_are_read_as_they_are_written() {
        for text in ["0", "1ms", "1500us", "2s", "7ns", "18446744073ms"] {
            assert_eq!(show_duration_ns(parse_duration_ns(text).unwrap()), text);
        }
        assert_eq!(parse_duration_ns("1.5ms"), Ok(1_500_000));
        assert_eq!(parse_duration_ns("2µs"), Ok(2_000));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in ["5", "", "ms", "-1ms", "1.2.3ms", "1h", "1e30s", "nans", "infs"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for text in ["2h", "10m", "90s", "1500ms", "7ns"] {
            assert_eq!(text.parse::<WallTime>().unwrap().to_string(), text);
        }
        assert_eq!("1.5h".parse::<WallTime>().unwrap().to_string(), "90m");
        assert_eq!("60s".parse::<WallTime>().unwrap().to_string(), "1m");
        for (wrong, why) in [
            ("0", "more than 0"),
            ("0h", "more than 0"),
            ("10000000h", "centuries"),
            ("99999999999h", "such as"),
            ("", "such as"),
            ("m", "such as"),
            ("10", "such as"),
            ("-1m", "such as"),
            ("nanh", "such as"),
        ] {
            let error = wrong.parse::<WallTime>().unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
