//! How a command fails, and the exit code that says so.

use std::process::ExitCode;

/// Why a command has failed: each has an exit code, that of `sysexits.h` where there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Something else went wrong.
    Failed(String),
    /// It was not used as it is meant.
    Usage(String),
    /// A file has something else in it than it should.
    Data(String),
    /// There is no daemon, or it belongs to no view with a majority.
    Unavailable(String),
    /// The system starts no process, or lets us not wait for signals.
    System(String),
    /// A file could not be read or written, or stable storage has failed.
    Storage(String),
    /// The lock was lost; the command that ran under it was ended.
    Lost(String),
    /// It is not allowed to this client.
    Denied(String),
    /// The configuration is not what it should be.
    Config(String),
}

/// The exit codes, for help texts. Commands that run others add theirs.
pub(crate) const EXIT_CODES: &str = "Exit codes:\n   \
    0  fine\n   \
    1  something else failed\n  \
    64  wrong use\n  \
    65  a file has something else in it than it should\n  \
    69  unavailable: no daemon answers, or its member belongs to no majority\n  \
    71  the system starts no process\n  \
    74  a file, a port or stable storage could not be used\n  \
    75  the lock was lost\n  \
    77  not allowed to this client\n  \
    78  the configuration is wrong";

impl Failure {
    /// As `EXIT_CODES` has it.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => USAGE,
            Self::Data(_) => 65,
            Self::Unavailable(_) => 69,
            Self::System(_) => 71,
            Self::Storage(_) => 74,
            Self::Lost(_) => 75,
            Self::Denied(_) => 77,
            Self::Config(_) => 78,
        }
    }

    /// Why, as a sentence.
    pub fn why(&self) -> &str {
        match self {
            Self::Failed(why)
            | Self::Usage(why)
            | Self::Data(why)
            | Self::Unavailable(why)
            | Self::Storage(why)
            | Self::System(why)
            | Self::Lost(why)
            | Self::Denied(why)
            | Self::Config(why) => why,
        }
    }

    /// Says why on standard error, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        // Whoever has closed standard error does not want to know.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("error: {}\n", self.why()).as_bytes(),
        );
        ExitCode::from(self.code())
    }
}

/// The exit code of wrong use.
pub(crate) const USAGE: u8 = 64;
