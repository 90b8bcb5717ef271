//! Why something that was asked for did not end well.

use std::path::Path;
use std::{fmt, io};

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

    /// The world did not let us use a file.
    pub fn at(path: &Path, error: impl fmt::Display) -> Self {
        Self::World(format!("{}: {error}", path.display()))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::World(error.to_string())
    }
}
