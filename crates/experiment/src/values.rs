//! Values of options: whole numbers of a range, and lists of values for an option that is swept:
//! `4`, `2..=256`, `2..=256*2`, `10..=100+10`, and any of these separated by commas.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

pub use vorrang_protocol::WallTime;

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
