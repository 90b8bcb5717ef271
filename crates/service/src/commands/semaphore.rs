//! `vorrang semaphore`: a command under a permit.

use std::process::ExitCode;

use super::guarded::{Guarded, Loss};
use super::hold_args::{CommandArgs, WaitArgs};
use super::lock::EXIT_CODES;
use crate::api::{HoldRequest, Kind};
use crate::failure::Failure;

/// Run a command while holding one of the permits of a semaphore
///
/// At most so many commands run at a time under a name, across all machines of the group. Nothing
/// need be created before: whoever holds or waits for a permit says how many there are, and who
/// says something else meanwhile is refused with both figures.
///
/// Everything else is as with 'vorrang lock': the command's end if the permit is at risk, signals,
/// process group. The variable `VORRANG_SEMAPHORE` has the name and `VORRANG_TOKEN` a token. Tokens
/// of permits that are held at the same time say nothing of each other; of two memberships the
/// later one has the larger tokens.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("Examples:\n  vorrang semaphore --permits 3 builds -- make\n  \
    vorrang semaphore -p 10 -w 5s api -- curl https://example.org/report\n\n{EXIT_CODES}"))]
pub(crate) struct Semaphore {
    /// How many permits there are: all who use the name must say the same
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    permits: u32,
    #[command(flatten)]
    wait: WaitArgs,
    /// The name of the semaphore: locks of the same name have nothing to do with it
    name: String,
    #[command(flatten)]
    command: CommandArgs,
}

impl Semaphore {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let request = HoldRequest {
            kind: Kind::Semaphore,
            permits: Some(self.permits),
            ..HoldRequest::lock(self.name)
        };
        Guarded::new("semaphore", request, self.wait, &self.command, Loss::IsTheEnd).execute()
    }
}
