//! Numbers and times in words.

/// A time in nanoseconds, as short as it can be said in three or four digits.
pub(crate) fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    match UNITS.iter().find(|(unit, _)| ns >= *unit) {
        Some((unit, name)) => format!("{} {name}", number(ns as f64 / *unit as f64)),
        None => format!("{ns} ns"),
    }
}

/// A count whose digits stand in threes.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with at most three decimals, and none that say nothing.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        it if it >= 100.0 => 1,
        it if it >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Steps between ticks that people can count in: 1, 2 or 5 times a power of ten.
pub(crate) fn round_step(wanted: f64) -> f64 {
    let power = 10_f64.powf(wanted.max(f64::MIN_POSITIVE).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|it| it * power);
    steps.into_iter().find(|&it| it >= wanted * 0.999).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let said = [0, 999, 1_000, 1_500_000, 12_345_678, 123_456_789, 2_000_000_000].map(duration);
        assert_eq!(said, ["0 ns", "999 ns", "1 µs", "1.5 ms", "12.35 ms", "123.5 ms", "2 s"]);
    }

    #[test]
    fn digits_of_counts_stand_in_threes() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn ticks_are_round() {
        let steps = [0.7, 1.0, 1.1, 30.0, 0.03].map(|it| number(round_step(it)));
        assert_eq!(steps, ["1", "1", "2", "50", "0.05"]);
    }
}
