//! The payload of a multicast: a number, or a text of whoever sits at a terminal.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::multicast::Text;
use crate::multicast::ordered::TOO_LONG;
use vorrang_protocol::Refused;

/// The payload of a multicast. Workloads count, which takes no memory of its own; people write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Payload {
    /// A number.
    Number(u32),
    /// Anything else: no text of a number is one of these.
    Text(Text),
}

impl Payload {
    /// Whether it is short enough.
    ///
    /// # Errors
    ///
    /// If it is a text of more than [`Text::MOST_BYTES`].
    pub fn check(&self) -> Result<(), Refused> {
        match self {
            Self::Text(text) if text.0.len() > Text::MOST_BYTES => Err(TOO_LONG),
            Self::Number(_) | Self::Text(_) => Ok(()),
        }
    }
}

impl From<u32> for Payload {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

/// A number is one only as it would be written: `007` is a text.
impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        let is_plain = text == "0" || !text.starts_with(['0', '+']);
        match u32::from_str(text) {
            Ok(number) if is_plain => Self::Number(number),
            Ok(_) | Err(_) => Self::Text(text.into()),
        }
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// As in messages: a text in quotation marks, so that it is seen where it ends.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => fmt::Debug::fmt(&text.0, f),
        }
    }
}

/// Between processes.
#[derive(Serialize, Deserialize)]
enum OnTheWire {
    Number(u32),
    Text(Text),
}

/// In traces and for programs: a number or a string.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum InJson {
    Number(u32),
    Text(Text),
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.clone(), serializer.is_human_readable()) {
            (Self::Number(number), true) => InJson::Number(number).serialize(serializer),
            (Self::Text(text), true) => InJson::Text(text).serialize(serializer),
            (Self::Number(number), false) => OnTheWire::Number(number).serialize(serializer),
            (Self::Text(text), false) => OnTheWire::Text(text).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Ok(match InJson::deserialize(deserializer)? {
                InJson::Number(number) => Self::Number(number),
                InJson::Text(text) => Self::Text(text),
            });
        }
        Ok(match OnTheWire::deserialize(deserializer)? {
            OnTheWire::Number(number) => Self::Number(number),
            OnTheWire::Text(text) => Self::Text(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn what_is_written_is_what_was_typed() {
        for text in ["7", "0", "4294967295", "007", "+7", "4294967296", "-1", "", "good morning"] {
            assert_eq!(Payload::from(text).to_string(), text);
        }
        assert_eq!(Payload::from("7"), Payload::Number(7));
        assert_eq!(Payload::from("007"), Payload::Text("007".into()));
        assert_eq!(format!("{:?} {:?}", Payload::from(7), Payload::from("a b")), "7 \"a b\"");
    }

    #[test]
    fn only_a_text_can_be_too_long() {
        let most = "x".repeat(Text::MOST_BYTES);
        assert_eq!(Payload::from(&*most).check(), Ok(()));
        assert_eq!(Payload::from(&*format!("{most}x")).check(), Err(TOO_LONG));
        assert_eq!(Payload::Number(u32::MAX).check(), Ok(()));
    }
}
