//! How a command fails, and the exit code that says so.

use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use crate::output::{BAD, RESET, say_aside};

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It was asked for something that does not exist or does not fit together.
    #[error("{0}")]
    Usage(String),
    /// A property, a bound or the world failed; the message is for people.
    #[error("{0}")]
    Failed(String),
    /// A property failed and the output has already said so.
    #[error("a property failed")]
    AlreadySaid,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The world did not let us use a file.
    pub(crate) fn at(path: &Path, error: impl fmt::Display) -> Self {
        Self::Failed(format!("{}: {error}", path.display()))
    }

    /// Says what is wrong, once, and how to exit.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(message) => {
                say_aside(&format!("{BAD}error:{RESET} {message}"));
                ExitCode::from(2)
            }
            Self::Failed(message) => {
                say_aside(&format!("{BAD}error:{RESET} {message}"));
                ExitCode::FAILURE
            }
            Self::AlreadySaid => ExitCode::FAILURE,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
