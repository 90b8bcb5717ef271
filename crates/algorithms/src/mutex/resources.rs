//! Sets of named resources.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// Some of 26 resources, each named by a letter; written `a+c`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Resources(u32);

impl Resources {
    /// Those with these names.
    ///
    /// # Panics
    ///
    /// If there is none, one is named twice, or a name is no letter from a to z.
    pub const fn named(names: &[u8]) -> Self {
        let (mut set, mut at) = (0_u32, 0);
        while at < names.len() {
            assert!(names[at].is_ascii_lowercase(), "a name is a letter from a to z");
            let one = 1 << (names[at] - b'a');
            assert!(set & one == 0, "each is named once");
            set |= one;
            at += 1;
        }
        assert!(set != 0, "a set of resources has one at least");
        Self(set)
    }

    /// Whether one is in both.
    pub const fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none: only a message from outside says so.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their names, in the order of the alphabet.
    pub fn names(self) -> impl DoubleEndedIterator<Item = u8> {
        (b'a'..=b'z').filter(move |name| self.0 & 1 << (name - b'a') != 0)
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.names().enumerate() {
            let between = if place == 0 { "" } else { "+" };
            write!(f, "{between}{}", char::from(name))?;
        }
        Ok(())
    }
}

impl FromStr for Resources {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = 0;
        for name in text.split('+') {
            let one = match name.as_bytes() {
                [letter @ b'a'..=b'z'] => 1 << (letter - b'a'),
                _ => return Err(format!("a resource is a letter from a to z, not '{name}'")),
            };
            if set & one != 0 {
                return Err(format!("the resource {name} is named twice"));
            }
            set |= one;
        }
        Ok(Self(set))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn sets_are_read_as_they_are_written_and_meet_if_they_share_one() {
        let read = |text: &str| text.parse::<Resources>();
        for text in ["a", "z", "a+c", "b+m+z"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("c+a"), Ok(Resources::named(b"ac")), "one text for one set");
        assert!(read("a+c").unwrap().meet(read("c+d").unwrap()));
        assert!(!read("a+c").unwrap().meet(read("b+d").unwrap()));
        for (text, why) in [("", "not ''"), ("A", "not 'A'"), ("ab", "not 'ab'"), ("a+a", "twice")]
        {
            assert!(read(text).unwrap_err().contains(why), "{text}");
        }
    }
}
