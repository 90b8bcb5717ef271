//! `vorrang elect`: a command while leading.

use std::process::ExitCode;

use crate::failure::Failure;

/// Run a command while leading an election
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Elect {}

impl Elect {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        Err(Failure::Failed("elect is not part of this build".to_owned()))
    }
}
