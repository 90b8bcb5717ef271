//! Numbers as people read them.

/// A whole number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A figure with as many places as it is worth: at most three, and none that are all zero. One that
/// would have a single digit left, or none, has two: what is small is not nothing.
pub fn figure(number: f64) -> String {
    const SMALL: f64 = 0.0095;
    const TINY: f64 = 0.000_095;
    let size = number.abs();
    if 0.0 < size && size < TINY {
        return format!("{number:.1e}");
    }
    let places = match size {
        _ if size >= SMALL || size <= 0.0 => 3,
        _ if size >= SMALL / 10.0 => 4,
        _ => 5,
    };
    let text = format!("{number:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_no_idle_places() {
        assert_eq!(figure(24.0), "24");
        assert_eq!(figure(1.0 / 3.0), "0.333");
        assert_eq!(figure(0.5), "0.5");
        assert_eq!(figure(0.0), "0");
        assert_eq!(figure(-1.5), "-1.5");
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123_456), "123,456");
    }

    #[test]
    fn what_is_small_is_not_nothing() {
        assert_eq!(figure(0.0123), "0.012");
        assert_eq!(figure(0.0096), "0.01");
        assert_eq!(figure(0.0014), "0.0014");
        assert_eq!(figure(0.000_94), "0.00094");
        assert_eq!(figure(0.000_096), "0.0001");
        assert_eq!(figure(0.000_014), "1.4e-5");
        assert_eq!(figure(-0.000_014), "-1.4e-5");
    }
}
