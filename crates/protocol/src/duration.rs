//! Durations as text: `1ms`, `1500us`, `2s`. One way to write them, wherever they are written.

use alloc::format;
use alloc::string::String;

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

#[cfg(test)]
mod tests {
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
}
