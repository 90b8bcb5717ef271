//! A time that somebody is willing to wait, as it is typed.

use std::time::Duration;

use vorrang_protocol::parse_duration_ns;

const LONG_UNITS: [(&str, u64); 2] = [("h", 3600), ("m", 60)];

/// A number of seconds, as `flock` takes them, or one with a unit.
pub(crate) fn wait_time(text: &str) -> Result<Duration, String> {
    let is_number = text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    if is_number && text.bytes().all(|it| it == b'0' || it == b'.') && text.contains('0') {
        return Ok(Duration::ZERO);
    }
    let long = LONG_UNITS.iter().find_map(|(unit, many)| Some((text.strip_suffix(unit)?, *many)));
    let (number, times) = match long {
        Some((number, times)) => (format!("{number}s"), times),
        None if is_number => (format!("{text}s"), 1),
        None => (text.to_owned(), 1),
    };
    let ns = parse_duration_ns(&number)
        .map_err(|_| "write seconds, or a time such as 500ms, 90s, 10m or 2h".to_owned())?;
    let ns = ns.checked_mul(times).ok_or("give a shorter time: that is centuries")?;
    Ok(Duration::from_nanos(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_need_no_unit() {
        let ms = |text| wait_time(text).map(|it| it.as_millis());
        assert_eq!(ms("2"), Ok(2000));
        assert_eq!(ms(".007"), Ok(7));
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("1.5m"), Ok(90_000));
        assert_eq!(ms("2h"), Ok(7_200_000));
        for none in ["0", "0.0", "0s", "0ms"] {
            assert_eq!(ms(none).unwrap_or(0), 0, "{none}");
        }
        for wrong in ["", ".", "x", "-1", "1d", "1 s", "9999999999999h"] {
            assert!(wait_time(wrong).is_err(), "{wrong}");
        }
    }
}
