//! Why something that was asked for did not end well.

use std::path::Path;
use std::{fmt, fs, io};

/// Why something that was asked for did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was asked for something that does not exist or does not fit together.
    #[error("{0}")]
    Usage(String),
    /// A property or a bound failed; the message is for people.
    #[error("{0}")]
    Failed(String),
    /// A property failed and the output has already said so.
    #[error("a property failed")]
    AlreadySaid,
    /// It ended before its end with nothing wrong so far; if the output has not said so, this does.
    #[error("{}", .0.as_deref().unwrap_or("stopped before the end"))]
    Bounded(Option<String>),
    /// The world did not let it: a file, a port, a process, the output.
    #[error("{0}")]
    World(String),
}

impl Failure {
    /// It was asked for something that does not fit, for this reason.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A file could not be used: the world did not let us, or something else is in it.
    pub fn at(path: &Path, error: impl fmt::Display) -> Self {
        Self::World(format!("{}: {error}", path.display()))
    }

    /// What was typed is neither one of the words that are known nor a file: a missing file, if it
    /// looks like the name of one, and else a word that does not exist.
    pub fn neither(typed: &str, why: String) -> Self {
        if looks_like_a_file(typed) { Self::World(why) } else { Self::Usage(why) }
    }

    /// The same, where a file is to blame in which something was found that does not fit.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Usage(why) => Self::at(path, why),
            Self::Failed(_) | Self::AlreadySaid | Self::Bounded(_) | Self::World(_) => self,
        }
    }
}

/// The file that was named where a word could have been typed; none if there is no such file.
pub fn named_file(typed: &str) -> Result<Option<String>, Failure> {
    let path = Path::new(typed);
    if !path.exists() {
        return Ok(None);
    }
    fs::read_to_string(path).map(Some).map_err(|error| Failure::at(path, error))
}

/// Whether a text that names no file was meant to: it has folders or an ending, and nothing that
/// only lists and parameters have.
fn looks_like_a_file(typed: &str) -> bool {
    let is_ending = |it: &str| {
        it.starts_with(|first: char| first.is_ascii_alphabetic())
            && it.chars().all(|letter| letter.is_ascii_alphanumeric())
    };
    let has_ending = typed.rsplit_once('.').is_some_and(|(_, ending)| is_ending(ending));
    let is_word = |letter: char| !letter.is_whitespace() && !":,;".contains(letter);
    typed.chars().all(is_word) && (has_ending || typed.contains('/'))
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::World(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_folders_or_endings() {
        for name in ["links.txt", "./links", "/etc/passwd", "a.b.csv", "no/such", "run.jsonl"] {
            assert!(looks_like_a_file(name), "{name}");
            assert!(matches!(Failure::neither(name, String::new()), Failure::World(_)), "{name}");
        }
        for word in ["ring", "random:0.1", "tree.2", "0 local.x", "sets:0-1/0", "1,2/3", "", "."] {
            assert!(!looks_like_a_file(word), "{word}");
            assert!(matches!(Failure::neither(word, String::new()), Failure::Usage(_)), "{word}");
        }
    }
}
