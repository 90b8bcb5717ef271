//! `vorrang locks`: who holds what.

use std::process::ExitCode;

use crate::failure::Failure;

/// Show who holds what since when, and who waits
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Locks {}

impl Locks {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("locks is not part of this build".to_owned()))
    }
}
