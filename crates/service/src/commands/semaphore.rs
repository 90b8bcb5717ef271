//! `vorrang semaphore`: a command under a permit.

use std::process::ExitCode;

use crate::failure::Failure;

/// Run a command while holding one of the permits of a semaphore
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Semaphore {}

impl Semaphore {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("semaphore is not part of this build".to_owned()))
    }
}
