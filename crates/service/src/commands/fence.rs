//! `vorrang fence`: a resource for scripts.

use std::process::ExitCode;

use crate::failure::Failure;

/// Run a command only if a fencing token is not older than the newest one seen
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Fence {}

impl Fence {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("fence is not part of this build".to_owned()))
    }
}
