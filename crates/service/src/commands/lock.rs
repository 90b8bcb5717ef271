//! `vorrang lock`: a command under a lock.

use std::process::ExitCode;

use crate::failure::Failure;

/// Run a command while holding a lock
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Lock {}

impl Lock {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("lock is not part of this build".to_owned()))
    }
}
