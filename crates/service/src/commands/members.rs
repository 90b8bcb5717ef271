//! `vorrang members`: who belongs to the group.

use std::process::ExitCode;

use crate::failure::Failure;

/// Show the members of the group, and change them
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Members {}

impl Members {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("members is not part of this build".to_owned()))
    }
}
