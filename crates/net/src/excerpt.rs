//! Text of other nodes, sanitised for display.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// How many characters of a text are kept.
pub const EXCERPT_LEN: usize = 120;
/// How many of them stand before the place at which two texts differ.
const CONTEXT_LEN: usize = 40;
/// Stands for what was left out.
const CUT: char = '…';

/// A text of another node's, or ours beside one: at most [`EXCERPT_LEN`] characters of it.
///
/// Anyone who can reach a node's port can put text into its log, so such text is cut when it is
/// read, and shown without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Excerpt(String);

impl Excerpt {
    /// The beginning of a text.
    pub fn new(text: &str) -> Self {
        Self::from_place(text, 0)
    }

    /// Two texts that differ, so that the excerpts do, too.
    pub fn pair(one: &str, other: &str) -> (Self, Self) {
        let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let is_short = |text: &str| text.chars().count() <= EXCERPT_LEN;
        let start = if is_short(one) && is_short(other) { 0 } else { same };
        let start = start.saturating_sub(CONTEXT_LEN);
        (Self::from_place(one, start), Self::from_place(other, start))
    }

    /// The text, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn from_place(text: &str, start: usize) -> Self {
        let mut kept = String::new();
        let mut room = EXCERPT_LEN;
        if start > 0 {
            kept.push(CUT);
            room -= 1;
        }
        let mut rest = text.chars().skip(start);
        kept.extend(rest.by_ref().take(room));
        if rest.next().is_some() {
            kept.pop();
            kept.push(CUT);
        }
        Self(kept)
    }
}

impl From<String> for Excerpt {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<&str> for Excerpt {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("''");
        }
        for character in self.0.chars() {
            match character {
                // Harmless, and common in names.
                '\'' | '"' => f.write_char(character)?,
                _ => write!(f, "{}", character.escape_debug())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_shown_and_do_nothing() {
        let evil = Excerpt::new("a\x1b[2Jb\r\n\u{202e}c \\ 'd'");
        assert_eq!(evil.to_string(), "a\\u{1b}[2Jb\\r\\n\\u{202e}c \\\\ 'd'");
        assert_eq!(Excerpt::new("").to_string(), "''");
    }

    #[test]
    fn texts_that_fit_are_left_alone() {
        let (one, other) = Excerpt::pair("--nodes 5 --k 2", "--nodes 5 --k 3");
        assert_eq!((one.as_str(), other.as_str()), ("--nodes 5 --k 2", "--nodes 5 --k 3"));
        let exact = "x".repeat(EXCERPT_LEN);
        assert_eq!(Excerpt::new(&exact).as_str(), exact);
    }

    #[test]
    fn long_texts_are_cut_where_they_differ() {
        let long = "ä".repeat(1_000);
        let (one, other) = Excerpt::pair(&format!("{long}1{long}"), &format!("{long}2"));
        let before = "ä".repeat(CONTEXT_LEN);
        assert!(one.as_str().starts_with(&format!("…{before}1ää")), "{one}");
        assert!(one.as_str().ends_with("ä…"), "{one}");
        assert_eq!(other.as_str(), format!("…{before}2"));
    }

    #[test]
    fn what_is_read_is_cut() {
        let bytes = postcard::to_allocvec(&"x".repeat(100_000)).unwrap();
        let read: Excerpt = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(read.as_str().chars().count(), EXCERPT_LEN);
    }

    proptest! {
        #[test]
        fn excerpts_are_short_and_differ_as_their_texts_do(
            same in ".{0,200}", one in ".{0,200}", other in ".{0,200}",
        ) {
            let (one, other) = (format!("{same}{one}"), format!("{same}{other}"));
            let (a, b) = Excerpt::pair(&one, &other);
            for excerpt in [&a, &b] {
                prop_assert!(excerpt.as_str().chars().count() <= EXCERPT_LEN);
                prop_assert!(!excerpt.to_string().contains(char::is_control));
            }
            prop_assert_eq!(a == b, one == other);
        }

        #[test]
        fn an_excerpt_is_read_back_as_it_was_written(text in ".{0,300}") {
            let excerpt = Excerpt::new(&text);
            let bytes = postcard::to_allocvec(&excerpt).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Excerpt>(&bytes), Ok(excerpt));
        }
    }
}
