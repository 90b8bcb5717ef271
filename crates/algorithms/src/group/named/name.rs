//! Names of locks, semaphores and elections.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many bytes a name has at most.
pub const LONGEST_NAME: usize = 255;
/// How many bytes the value of a candidate has at most.
pub const LONGEST_VALUE: usize = 1024;

/// A name: 1 to 255 bytes of UTF-8 without control characters, compared as bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// Why a text is no name, or no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnfitText {
    /// It has no character.
    Empty,
    /// It has so many bytes, and at most so many may it have.
    TooLong {
        /// It has these.
        bytes: usize,
        /// It may have these.
        most: usize,
    },
    /// It has a control character.
    Control {
        /// Before which there are so many bytes.
        at: usize,
        /// This one.
        character: char,
    },
}

impl fmt::Display for UnfitText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty: a name has at least one character"),
            Self::TooLong { bytes, most } => {
                write!(f, "it is {bytes} bytes long: at most {most} are allowed")
            }
            Self::Control { at, character } => {
                let character = character.escape_default();
                write!(f, "it has the control character {character} at byte {at}")
            }
        }
    }
}

impl core::error::Error for UnfitText {}

impl Name {
    /// This name.
    ///
    /// # Errors
    ///
    /// If the text is none.
    pub fn new(text: &str) -> Result<Self, UnfitText> {
        if text.is_empty() {
            return Err(UnfitText::Empty);
        }
        if text.len() > LONGEST_NAME {
            return Err(UnfitText::TooLong { bytes: text.len(), most: LONGEST_NAME });
        }
        match text.char_indices().find(|it| it.1.is_control()) {
            Some((at, character)) => Err(UnfitText::Control { at, character }),
            None => Ok(Self(text.into())),
        }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(text).map_err(|why| format!("'{}' is no name: {why}", text.escape_default()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(de::Error::custom)
    }
}

/// What a candidate says of itself: its address, say. At most 1024 bytes of UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(Arc<str>);

impl Value {
    /// This value.
    ///
    /// # Errors
    ///
    /// If the text is too long.
    pub fn new(text: &str) -> Result<Self, UnfitText> {
        if text.len() > LONGEST_VALUE {
            return Err(UnfitText::TooLong { bytes: text.len(), most: LONGEST_VALUE });
        }
        Ok(Self(text.into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(de::Error::custom)
    }
}

/// What a name is the name of: each kind has names of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A lock, held exclusively or shared.
    Lock,
    /// A number of permits.
    Semaphore,
    /// A leader.
    Election,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock => "lock",
            Self::Semaphore => "semaphore",
            Self::Election => "election",
        })
    }
}

/// A name of a kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The kind.
    pub kind: Kind,
    /// The name.
    pub name: Name,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_name_has_up_to_255_bytes_and_no_control_character() {
        let longest = "ä".repeat(127) + "x";
        assert_eq!(Name::new(&longest).map(|it| it.as_str().len()), Ok(255));
        let why = |text: &str| Name::new(text).unwrap_err().to_string();
        assert_eq!(why(""), "it is empty: a name has at least one character");
        assert_eq!(why(&"ä".repeat(128)), "it is 256 bytes long: at most 255 are allowed");
        assert_eq!(why("a\tb"), "it has the control character \\t at byte 1");
        assert_eq!(why("ä\u{85}"), "it has the control character \\u{85} at byte 2");
        assert!("a\0".parse::<Name>().unwrap_err().starts_with("'a\\u{0}' is no name: "));
        assert!(Name::new("B").unwrap() < Name::new("a").unwrap(), "as bytes");
        assert_eq!(Value::new(&"x".repeat(1024)).map(|it| it.as_str().len()), Ok(1024));
        assert!(Value::new(&"x".repeat(1025)).is_err());
    }
}
