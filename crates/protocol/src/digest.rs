//! A number that stands for something larger, and is not counted.

use core::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A digest: a hash of a state, or a number drawn by lot. Any 64 bits may be one.
///
/// Integers in messages count something, unless their type says otherwise, as this one does: a
/// counter that nobody can have reached is refused where a message is read, and a digest is not.
/// In a text it is a number; in bytes it is eight of them, as no digest is likely to be small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub u64);

/// As a number.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.serialize(serializer)
        } else {
            self.0.to_le_bytes().serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            u64::deserialize(deserializer).map(Self).map_err(D::Error::custom)
        } else {
            <[u8; 8]>::deserialize(deserializer).map(|bytes| Self(u64::from_le_bytes(bytes)))
        }
    }
}
