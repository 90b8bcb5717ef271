//! How a command fails, and the exit code that says so.

use std::io;
use std::process::ExitCode;

use crate::output::{BAD, RESET};

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
    /// Standard output went away, as it does in `vorrang list | head -1`.
    #[error("standard output is closed")]
    BrokenPipe,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Says what is wrong, once, and how to exit.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(message) => {
                anstream::eprintln!("{BAD}error:{RESET} {message}");
                ExitCode::from(2)
            }
            Self::Failed(message) => {
                anstream::eprintln!("{BAD}error:{RESET} {message}");
                ExitCode::FAILURE
            }
            Self::AlreadySaid => ExitCode::FAILURE,
            Self::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Failed(error.to_string()),
        }
    }
}
