//! How a command fails, and the exit code that says so.

use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use crate::output::{BAD, RESET, say_aside};

/// What every command's exit code means, for help texts.
pub(crate) const EXIT_CODES: &str = "Exit codes:\n  \
    0  fine\n  \
    1  violated: a property or a bound of a claim failed\n  \
    2  wrong use\n  \
    3  bounded: stopped before the end, and nothing was wrong so far\n  \
    4  I/O error: a file, a port, a process or the output could not be used";

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
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
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The world did not let us use a file.
    pub(crate) fn at(path: &Path, error: impl fmt::Display) -> Self {
        Self::World(format!("{}: {error}", path.display()))
    }

    /// Says what is wrong, once, and how to exit.
    pub(crate) fn report(&self) -> ExitCode {
        let unsaid = match self {
            Self::Usage(why) | Self::Failed(why) | Self::World(why) => Some(why),
            Self::Bounded(why) => why.as_ref(),
            Self::AlreadySaid => None,
        };
        if let Some(why) = unsaid {
            say_aside(&format!("{BAD}error:{RESET} {why}"));
        }
        ExitCode::from(self.code())
    }

    /// As [`EXIT_CODES`] has it.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::AlreadySaid => 1,
            Self::Usage(_) => 2,
            Self::Bounded(_) => 3,
            Self::World(_) => 4,
        }
    }
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
    fn every_way_to_fail_has_the_code_that_the_help_states() {
        let why = String::new;
        let ways = [
            (Failure::Failed(why()), "violated"),
            (Failure::AlreadySaid, "violated"),
            (Failure::Usage(why()), "wrong use"),
            (Failure::Bounded(Some(why())), "bounded"),
            (Failure::Bounded(None), "bounded"),
            (Failure::at(Path::new("/"), "no"), "I/O error"),
            (Failure::from(io::Error::other("no")), "I/O error"),
        ];
        for (failure, called) in ways {
            let stated = format!("{}  {called}", failure.code());
            assert!(EXIT_CODES.contains(&stated), "{failure:?}: {stated}");
        }
    }
}
