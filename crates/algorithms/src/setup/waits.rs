//! How long a member of [SRM](crate::multicast::srm) waits before asking and before answering.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;
use core::str::FromStr;

/// C1, C2, D1 and D2, as they are asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Waits {
    /// C1 = C2 = 2, D1 = D2 = log10 N.
    #[default]
    Fixed,
    /// These to begin with, and then what was learnt.
    Adaptive,
    /// For members that are all equally far apart: only chance tells them apart. C1 = D1 = 0,
    /// C2 = D2 = √N.
    Star,
    /// For members in a line: only their distance tells them apart. C1 = 2, D1 = 1, C2 = D2 = 0.
    Line,
    /// These, in thousandths.
    Given([u32; 4]),
}

/// The longest wait, in multiples of a distance, before any back-off.
const MOST: u32 = 1_000_000;

impl FromStr for Waits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "'{text}' is not one of: fixed, adaptive, star, line, or four numbers \
                 C1,C2,D1,D2 from 0 to {}, such as 2,2,1,1",
                MOST / 1000
            )
        };
        match text {
            "fixed" => return Ok(Self::Fixed),
            "adaptive" => return Ok(Self::Adaptive),
            "star" => return Ok(Self::Star),
            "line" => return Ok(Self::Line),
            _ => {}
        }
        let mut given = [0; 4];
        let mut parts = text.split(',');
        for factor in &mut given {
            let number: f64 =
                parts.next().and_then(|it| it.trim().parse().ok()).ok_or_else(unknown)?;
            if !(0.0..=f64::from(MOST / 1000)).contains(&number) {
                return Err(unknown());
            }
            *factor = (number * 1000.0 + 0.5) as u32;
        }
        if parts.next().is_some() { Err(unknown()) } else { Ok(Self::Given(given)) }
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::Adaptive => f.write_str("adaptive"),
            Self::Star => f.write_str("star"),
            Self::Line => f.write_str("line"),
            Self::Given(factors) => {
                let text = factors.map(|it| (f64::from(it) / 1000.0).to_string());
                f.write_str(&text.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_as_they_are_written() {
        for text in ["fixed", "adaptive", "star", "line", "2,0,1,0", "0.5,31.6,0,2.25"] {
            assert_eq!(text.parse::<Waits>().unwrap().to_string(), text);
        }
        for text in ["", "slow", "1,2,3", "1,2,3,4,5", "1,2,3,-1", "1,2,3,nan", "1,2,3,1001"] {
            assert!(text.parse::<Waits>().unwrap_err().contains("fixed, adaptive"), "{text}");
        }
    }
}
