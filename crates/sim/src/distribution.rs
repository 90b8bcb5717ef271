//! How long things take: always the same, anything in a range, or memoryless.

use std::fmt;
use std::str::FromStr;

use crate::Random;

/// A distribution of durations, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// Always the same.
    Constant(u64),
    /// Anything from the first to the second, both included.
    Uniform(u64, u64),
    /// Memoryless, with that mean.
    Exponential(u64),
}

impl Distribution {
    /// The mean, in nanoseconds.
    pub fn mean_ns(self) -> f64 {
        match self {
            Self::Constant(ns) | Self::Exponential(ns) => ns as f64,
            Self::Uniform(low, high) => f64::midpoint(low as f64, high as f64),
        }
    }

    /// Draws a duration. One that a `u64` of nanoseconds cannot hold becomes `u64::MAX`, which is
    /// longer than simulated time: a run that reaches it ends with an error.
    #[inline]
    pub fn draw(self, random: &mut Random) -> u64 {
        match self {
            Self::Constant(ns) => ns,
            Self::Uniform(low, high) => random.between(low, high),
            // From a float to an integer, `as` stops at the largest.
            Self::Exponential(mean) => random.exponential(mean as f64) as u64,
        }
    }

    /// Whether every draw is the same.
    pub const fn is_constant(self) -> bool {
        matches!(self, Self::Constant(_))
    }
}

/// Reads `1ms`, `uniform:1ms..3ms` or `exp:2ms`.
impl FromStr for Distribution {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Some(range) = text.strip_prefix("uniform:") {
            let (low, high) = range.split_once("..").ok_or_else(|| ParseError::new(text, FORMS))?;
            let high = high.strip_prefix('=').unwrap_or(high);
            let (low, high) = (parse_duration_ns(low)?, parse_duration_ns(high)?);
            if low > high {
                return Err(ParseError::new(text, "the range must not be empty"));
            }
            Ok(Self::Uniform(low, high))
        } else if let Some(mean) = text.strip_prefix("exp:") {
            Ok(Self::Exponential(parse_duration_ns(mean)?))
        } else {
            Ok(Self::Constant(parse_duration_ns(text)?))
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Constant(ns) => f.write_str(&show_duration_ns(ns)),
            Self::Uniform(low, high) => {
                write!(f, "uniform:{}..{}", show_duration_ns(low), show_duration_ns(high))
            }
            Self::Exponential(mean) => write!(f, "exp:{}", show_duration_ns(mean)),
        }
    }
}

const FORMS: &str = "write 1ms, uniform:1ms..3ms or exp:2ms";
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Reads `0`, `250ns`, `1.5ms`, `2s`.
///
/// # Errors
///
/// If it is not a number with a unit, or longer than a `u64` of nanoseconds holds.
pub fn parse_duration_ns(text: &str) -> Result<u64, ParseError> {
    let wrong = |why| ParseError::new(text, why);
    let digits = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
    let (number, unit) = text.split_at(digits);
    let unit = unit.replace('µ', "u");
    if text == "0" {
        return Ok(0);
    }
    let (_, ns_per_unit) = *UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| wrong("a duration is a number with a unit: ns, us, ms or s"))?;
    let number: f64 =
        number.parse().map_err(|_| wrong("a duration is a number with a unit, such as 1.5ms"))?;
    let ns = (number * ns_per_unit as f64).round();
    // Half the range leaves room to add latencies to it for a lifetime.
    if !(0.0..=(u64::MAX / 2) as f64).contains(&ns) {
        return Err(wrong("a duration is at least 0 and at most some 290 years"));
    }
    Ok(ns as u64)
}

/// Writes a duration in the largest unit that keeps it whole.
pub fn show_duration_ns(ns: u64) -> String {
    if ns == 0 {
        return "0".to_owned();
    }
    let (name, ns_per_unit) =
        UNITS.iter().rev().find(|(_, unit)| ns.is_multiple_of(*unit)).unwrap_or(&UNITS[0]);
    format!("{}{name}", ns / ns_per_unit)
}

/// A text that is not a duration or a distribution of them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{text}': {why}")]
pub struct ParseError {
    text: String,
    why: &'static str,
}

impl ParseError {
    fn new(text: &str, why: &'static str) -> Self {
        Self { text: text.to_owned(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read_as_they_are_written() {
        for text in ["0", "1ms", "1500us", "uniform:1ms..3ms", "exp:2s", "7ns"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert_eq!("1.5ms".parse(), Ok(Distribution::Constant(1_500_000)));
        assert_eq!("2µs".parse(), Ok(Distribution::Constant(2_000)));
        assert_eq!("uniform:0..=4ns".parse(), Ok(Distribution::Uniform(0, 4)));
    }

    #[test]
    fn what_is_wrong_with_a_text_is_said() {
        let error = |text: &str| text.parse::<Distribution>().unwrap_err().to_string();
        assert_eq!(error("5"), "'5': a duration is a number with a unit: ns, us, ms or s");
        assert_eq!(error("ms"), "'ms': a duration is a number with a unit, such as 1.5ms");
        assert_eq!(error("uniform:3ms..1ms"), "'uniform:3ms..1ms': the range must not be empty");
        assert_eq!(error("uniform:3ms"), format!("'uniform:3ms': {FORMS}"));
        assert!(error("-1ms").contains("at least 0"));
        assert!(error("1e300s").contains("at most some 290 years"));
        assert!(error("nans").contains("ns, us, ms or s"));
    }

    #[test]
    fn means_are_what_is_drawn() {
        for text in ["3us", "uniform:1us..5us", "exp:3us"] {
            let distribution: Distribution = text.parse().unwrap();
            let mut random = Random::new(5);
            let sum: u64 = (0..100_000).map(|_| distribution.draw(&mut random)).sum();
            let mean = sum as f64 / 100_000.0;
            assert!((mean / distribution.mean_ns() - 1.0).abs() < 0.02, "{text}: {mean}");
            assert!((distribution.mean_ns() - 3000.0).abs() < 1e-9);
        }
    }

    #[test]
    fn draws_that_are_too_long_do_not_wrap() {
        let mut random = Random::new(5);
        let drawn: Vec<u64> =
            (0..1000).map(|_| Distribution::Exponential(u64::MAX).draw(&mut random)).collect();
        let too_long = drawn.iter().filter(|&&ns| ns == u64::MAX).count();
        assert!((300..440).contains(&too_long), "{too_long} of 1000 exceed the mean, 1 of e");
        for ns in [Distribution::Constant(u64::MAX), Distribution::Uniform(u64::MAX, u64::MAX)] {
            assert_eq!(ns.draw(&mut random), u64::MAX);
        }
    }
}
