//! `vorrang keys`: a private authority.

use std::process::ExitCode;

use crate::failure::Failure;

/// Make the keys and certificates of a group
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Keys {}

impl Keys {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("keys is not part of this build".to_owned()))
    }
}
