//! Fencing tokens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use vorrang_algorithms::mutex::FencingToken;

/// A fencing token: larger than those of all earlier exclusive holds of the same name.
///
/// A resource that keeps the largest token it has seen, and refuses what comes with a smaller one,
/// is safe from holders that have lost the lock and do not know it yet. As text a token has 32
/// hexadecimal digits, so that anything that compares texts can compare tokens.
///
/// ```
/// use vorrang_lock::Token;
///
/// let token = Token { view: 7, number: 12 };
/// assert_eq!(token.to_string(), "0000000000000007000000000000000c");
/// assert_eq!(token.to_string().parse(), Ok(token));
/// assert!(token < Token { view: 8, number: 0 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token {
    /// The number of the membership view, compared first.
    pub view: u64,
    /// The number of the entry in that view.
    pub number: u64,
}

/// How many hexadecimal digits a token has.
const DIGITS: usize = 32;

impl From<FencingToken> for Token {
    fn from(FencingToken { view, clock }: FencingToken) -> Self {
        Self { view, number: clock }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.view, self.number)
    }
}

/// Why a text is no token.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{}' is no fencing token: write {DIGITS} hexadecimal digits", .0.escape_debug())]
pub struct NoToken(String);

impl FromStr for Token {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Self, NoToken> {
        let is_token = text.len() == DIGITS && text.bytes().all(|it| it.is_ascii_hexdigit());
        let half = |half: &str| u64::from_str_radix(half, 16).ok();
        let halves = text.split_at_checked(DIGITS / 2).filter(|_| is_token);
        halves
            .and_then(|(view, number)| Some(Self { view: half(view)?, number: half(number)? }))
            .ok_or_else(|| NoToken(text.chars().take(2 * DIGITS).collect()))
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_tokens_are_ordered_as_tokens_are() {
        let tokens = [(0, 0), (0, 1), (0, u64::MAX), (1, 0), (9, 10), (10, 9), (u64::MAX, 1)];
        let tokens = tokens.map(|(view, number)| Token { view, number });
        for pair in tokens.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].to_string() < pair[1].to_string(), "{pair:?}");
            assert_eq!(pair[0].to_string().parse(), Ok(pair[0]));
        }
    }

    #[test]
    fn what_is_no_token_is_named() {
        let long = "0".repeat(33);
        let strange = "ä".repeat(16);
        for text in ["", "7", "+000000000000000000000000000000c", "g".repeat(32).as_str(), &long] {
            let why = text.parse::<Token>().unwrap_err().to_string();
            assert!(why.starts_with(&format!("'{text}' is no fencing token")), "{why}");
        }
        assert!(strange.parse::<Token>().is_err(), "32 bytes that are no digits");
        let upper = "000000000000000700000000000000FC";
        assert_eq!(upper.parse(), Ok(Token { view: 7, number: 0xfc }));
    }
}
