//! Clocks that are wrong.

use std::fmt;
use std::str::FromStr;

use vorrang_protocol::NodeId;

/// A node whose clock is wrong, all the time by the same factor: `2:x8` if what it takes for a
/// second is eight, `2:x0.5` if it is half a one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Skew {
    /// Whose clock it is.
    pub node: NodeId,
    /// How long a second by that clock is, in milliseconds.
    pub per_mille: u32,
}

impl Skew {
    /// A second by any clock is one of these many milliseconds.
    const MOST: u32 = 1_000_000;

    /// How long it takes until so much time has passed by that clock. What no number holds is cut
    /// to the largest, which lies beyond the end of time.
    pub(crate) fn until(self, in_ns: u64) -> u64 {
        let ns = u128::from(in_ns) * u128::from(self.per_mille) / 1000;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// By how many parts in a thousand it is wrong, rounded up: one that takes a second for so many
    /// milliseconds less or more than there are.
    pub const fn drift_per_mille(self) -> u32 {
        // It counts 1000 ÷ per_mille seconds in a second.
        let rate = 1_000_000_u32.div_ceil(self.per_mille);
        let floor = 1_000_000 / self.per_mille;
        if rate > 1000 { rate - 1000 } else { 1000 - floor }
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.per_mille / 1000, self.per_mille % 1000);
        write!(f, "{}:x{whole}", self.node)?;
        if rest == 0 {
            return Ok(());
        }
        let rest = format!("{rest:03}");
        write!(f, ".{}", rest.trim_end_matches('0'))
    }
}

/// Reads `2:x8` or `2:x0.5`.
impl FromStr for Skew {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a node and how wrong its clock is: write 2:x8 for one that is \
                 eight times too slow, 2:x0.5 for one that is twice as fast as it should be"
            )
        };
        let (node, times) = text.split_once(":x").ok_or_else(wrong)?;
        let node = NodeId(node.trim().parse().map_err(|_| wrong())?);
        let (whole, rest) = times.split_once('.').unwrap_or((times, ""));
        let is_number = |it: &str| it.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(rest) {
            return Err(wrong());
        }
        let too_fine =
            || format!("'{text}': three digits after the point are as many as there are");
        let rest = if rest.len() <= 3 { format!("{rest:0<3}") } else { return Err(too_fine()) };
        let number = format!("{whole}{rest}").parse::<u32>();
        match number {
            Ok(per_mille @ 1..=Self::MOST) => Ok(Self { node, per_mille }),
            Ok(_) | Err(_) => {
                Err(format!("'{text}': from x0.001 to x1000 is as wrong as a clock may be"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Skew {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_wrong_with_a_clock_is_read_as_it_is_written() {
        for text in ["2:x8", "0:x0.5", "11:x1.25", "3:x0.001", "3:x1000", "4:x1.05"] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("2:x1.50"), read("2:x1.5"));
        let wrong = |text: &str| text.parse::<Skew>().unwrap_err();
        for text in ["", "2", "2:8", "x:x8", "2:x", "2:x-1", "2:x1.x", "2:x.5"] {
            assert!(wrong(text).contains("is not a node and how wrong"), "{text}: {}", wrong(text));
        }
        for text in ["2:x0", "2:x0.000", "2:x1000.001", "2:x99999999999"] {
            assert!(wrong(text).contains("from x0.001 to x1000"), "{text}: {}", wrong(text));
        }
        assert!(wrong("2:x1.0001").contains("three digits"));
    }

    #[test]
    fn a_slow_clock_takes_longer_and_a_fast_one_less() {
        assert_eq!(read("0:x8").until(5), 40);
        assert_eq!(read("0:x0.5").until(5), 2);
        assert_eq!(read("0:x1000").until(u64::MAX / 2), u64::MAX);
    }

    /// Eight times too slow is 7 ∕ 8 too slow, twice as fast is as much again.
    #[test]
    fn how_wrong_a_clock_is_is_said_of_its_rate() {
        let drifts = ["0:x8", "0:x0.5", "0:x1", "0:x1.25", "0:x0.8", "0:x3"].map(read);
        assert_eq!(drifts.map(Skew::drift_per_mille), [875, 1000, 0, 200, 250, 667]);
    }
}
