//! What goes wrong: messages that are lost or come twice, nodes that crash and come up again.
//!
//! Faults are drawn from generators of their own, so that they leave all other draws as they are:
//! a run in which message 17 was lost by chance is the run in which message 17 is lost on order.

use std::fmt;
use std::str::FromStr;

use vorrang_protocol::NodeId;

use crate::Random;

/// What goes wrong in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Faults {
    /// What happens at which time, in nanoseconds: before all else of that instant.
    pub script: Vec<(u64, Fault)>,
    /// How many messages are lost.
    pub loss: Share,
    /// How many messages arrive twice.
    pub duplication: Share,
    /// Messages that are lost on order, by the numbers that a trace gives them.
    pub lost: Vec<u64>,
}

impl Faults {
    /// The same, with this happening at these times.
    #[must_use]
    pub fn script(self, script: Vec<(u64, Fault)>) -> Self {
        Self { script, ..self }
    }

    /// The same, with so many messages lost.
    #[must_use]
    pub fn loss(self, loss: Share) -> Self {
        Self { loss, ..self }
    }

    /// The same, with so many messages arriving twice.
    #[must_use]
    pub fn duplication(self, duplication: Share) -> Self {
        Self { duplication, ..self }
    }

    /// The same, with these messages lost.
    #[must_use]
    pub fn lost(self, lost: Vec<u64>) -> Self {
        Self { lost, ..self }
    }
}

/// What can happen to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// It forgets all that it does not keep, and hears nothing.
    Crash(NodeId),
    /// It comes up again.
    Restart(NodeId),
}

/// A probability, in parts of 2⁶⁴.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Share(u64);

impl Share {
    /// As a number from 0 to 1.
    pub fn value(self) -> f64 {
        self.0 as f64 / u64::MAX as f64
    }

    /// Whether a draw falls into it. Nothing is drawn for a share of nothing.
    pub(crate) fn draw(self, random: &mut Random) -> bool {
        self.0 > 0 && random.below(u64::MAX) < self.0
    }
}

/// Reads `1%`, `0.1%` or `0.01`.
impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 0.01),
            None => (text, 1.0),
        };
        let wrong = || format!("'{text}' is not a share: write 1%, 0.1% or 0.01");
        let share = number.parse::<f64>().map_err(|_| wrong())? * scale;
        if !(0.0..=1.0).contains(&share) {
            return Err(wrong());
        }
        Ok(Self((share * u64::MAX as f64) as u64))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve digits are fewer than a share holds, so that what was written as 1% reads as 1%.
        let percent = format!("{:.12}", self.0 as f64 / u64::MAX as f64 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// How often which fault really happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Nodes that were up and crashed.
    pub crashes: u64,
    /// Nodes that were down and came up again.
    pub restarts: u64,
    /// Messages that were lost, by chance or on order.
    pub lost: u64,
    /// Messages that were sent once and arrive twice.
    pub duplicated: u64,
    /// Messages that arrived at a node that was down.
    pub to_the_dead: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_written() {
        for text in ["0%", "1%", "0.1%", "33%", "12.5%", "0.001%", "99.9%", "100%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        assert_eq!("0.01".parse::<Share>(), "1%".parse());
        assert!(("10%".parse::<Share>().unwrap().value() - 0.1).abs() < 1e-15);
        for text in ["-1%", "101%", "1.5", "NaN", "half", "%"] {
            let error = text.parse::<Share>().unwrap_err();
            assert_eq!(error, format!("'{text}' is not a share: write 1%, 0.1% or 0.01"));
        }
    }

    #[test]
    fn a_share_is_drawn_as_often_as_it_says() {
        let drawn = |text: &str| {
            let (share, mut random) = (text.parse::<Share>().unwrap(), Random::new(1));
            (0..100_000).filter(|_| share.draw(&mut random)).count()
        };
        assert_eq!((drawn("0%"), drawn("100%")), (0, 100_000));
        assert!((9_700..10_300).contains(&drawn("10%")), "{}", drawn("10%"));
    }
}
