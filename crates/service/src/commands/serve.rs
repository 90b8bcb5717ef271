//! `vorrang serve`: the daemon.

use std::process::ExitCode;

use crate::failure::Failure;

/// Run a member of a group, for the programs of this machine
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Serve {}

impl Serve {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("serve is not part of this build".to_owned()))
    }
}
