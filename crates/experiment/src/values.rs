//! Values of options: whole numbers of a range, and lists of values for an option that is swept:
//! `4`, `2..=256`, `2..=256*2`, `10..=100+10`, and any of these separated by commas.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use vorrang_protocol::{parse_duration_ns, show_duration_ns};

/// Reads a whole number of a range. Every error names the range.
pub fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| match text.trim().parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) | Err(_) => {
            Err(format!("give a whole number from {} to {}", range.start(), range.end()))
        }
    }
}

/// The number in this range, both ends included, that ends in the most zeros.
pub fn roundest(low: u64, high: u64) -> u64 {
    let steps = (0..u64::MAX.ilog10()).rev().map(|zeros| 10_u64.pow(zeros));
    let mut round = steps.map(|step| high / step * step);
    round.find(|&it| it >= low && it > 0).unwrap_or(high)
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

impl Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos() as u64;
        let long = LONG_UNITS.iter().find(|(_, it)| ns.is_multiple_of(it * 1_000_000_000));
        match long {
            Some((unit, seconds)) => write!(f, "{}{unit}", ns / (seconds * 1_000_000_000)),
            None => f.write_str(&show_duration_ns(ns)),
        }
    }
}

/// Whole numbers, in the order they were given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers(pub Vec<u64>);

/// A sweep longer than this is a slip of the finger.
const MOST: usize = 1_000_000;

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            numbers.extend(range(part.trim())?);
        }
        if numbers.len() > MOST {
            return Err(format!("'{text}' has more than {MOST} values"));
        }
        Ok(Self(numbers))
    }
}

/// From one number of a range to the next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plus(u64),
    Times(u64),
}

impl Step {
    const fn next(self, value: u64) -> Option<u64> {
        match self {
            Self::Plus(addend) => value.checked_add(addend),
            Self::Times(factor) => value.checked_mul(factor),
        }
    }
}

/// Reads one number or one range.
fn range(text: &str) -> Result<Vec<u64>, String> {
    const FORMS: &str = "write 4, 2..=256, 10..=100+10 or 2..=256*2, separated by commas";
    let number = |text: &str| {
        text.trim().parse::<u64>().map_err(|_| format!("'{text}' is not a whole number: {FORMS}"))
    };
    let Some((first, rest)) = text.split_once("..") else { return Ok(vec![number(text)?]) };
    let (rest, includes_last) = match rest.strip_prefix('=') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (last, step) = if let Some((last, factor)) = rest.split_once('*') {
        (last, Step::Times(number(factor)?))
    } else if let Some((last, addend)) = rest.split_once('+') {
        (last, Step::Plus(number(addend)?))
    } else {
        (rest, Step::Plus(1))
    };
    let (first, last) = (number(first)?, number(last)?);
    match step {
        Step::Times(0 | 1) => {
            return Err(format!("'{text}' would never end: multiply by 2 or more"));
        }
        Step::Times(_) if first == 0 => {
            return Err(format!("'{text}' would never end: start at 1 or more"));
        }
        Step::Plus(0) => return Err(format!("'{text}' would never end: add 1 or more")),
        Step::Plus(_) | Step::Times(_) => {}
    }
    let is_inside = |value: &u64| *value < last || (includes_last && *value == last);
    let values: Vec<u64> = std::iter::successors(Some(first), |&value| step.next(value))
        .take_while(is_inside)
        .take(MOST + 1)
        .collect();
    if values.is_empty() { Err(format!("the range '{text}' is empty")) } else { Ok(values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u64> {
        text.parse::<Numbers>().unwrap().0
    }
    fn error(text: &str) -> String {
        text.parse::<Numbers>().unwrap_err()
    }

    #[test]
    fn whatever_is_wrong_with_a_number_its_range_is_named() {
        let read = whole(1..=64_u32);
        assert_eq!((read("1"), read("64")), (Ok(1), Ok(64)));
        for wrong in ["0", "65", "-1", "1e9", "99999999999999999999", "", "x"] {
            assert_eq!(read(wrong).unwrap_err(), "give a whole number from 1 to 64", "{wrong}");
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

    #[test]
    fn ranges_are_read() {
        assert_eq!(numbers("4"), [4]);
        assert_eq!(numbers("2..=5"), [2, 3, 4, 5]);
        assert_eq!(numbers("2..5"), [2, 3, 4]);
        assert_eq!(numbers("2..=20*3"), [2, 6, 18]);
        assert_eq!(numbers("10..=35+10,99"), [10, 20, 30, 99]);
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said() {
        assert!(error("5..=2").contains("the range '5..=2' is empty"));
        assert!(error("a").contains("'a' is not a whole number"));
        assert!(error("1..=9*1").contains("would never end"));
        assert!(error("1..=9+0").contains("would never end"));
        assert!(error("0..=9*2").contains("start at 1"));
        assert!(error("0..=99999999").contains("more than 1000000 values"));
    }
}
