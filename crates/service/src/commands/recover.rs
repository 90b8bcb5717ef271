//! `vorrang recover`: a group that has lost its majority.

use std::process::ExitCode;

use crate::failure::Failure;

/// Bring back a group that has lost its majority for good
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Recover {}

impl Recover {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("recover is not part of this build".to_owned()))
    }
}
