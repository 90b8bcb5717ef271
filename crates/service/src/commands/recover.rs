//! `vorrang recover`: a group that has lost its majority.

use std::process::ExitCode;

use vorrang_terminal::{harmless, print, wrapped};

use super::run;
use super::target::TargetArgs;
use crate::api::{MemberState, Members};
use crate::client::Client;
use crate::failure::{EXIT_CODES, Failure};

/// Say what brings a group back that has lost its majority
///
/// Without a majority of its members a group grants nothing, and nobody can tell whether the others
/// do. This asks the daemon who is missing, and says what to do. It changes nothing.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("{STEPS}\n{EXIT_CODES}"))]
pub(crate) struct Recover {
    #[command(flatten)]
    target: TargetArgs,
}

/// What can be done.
const STEPS: &str = "\
If the missing machines come back:
  Start their daemons as before. Members with 'data' need their directories, and go on with what is
  in them. Without 'data', if a majority has ended, all daemons must be stopped and started again.

If they are gone for good, the group is founded anew:
  1. Stop the daemon of every member that is left.
  2. Move the data directory of every member away, if they have any.
  3. Take the lost machines out of the list of members, or put others in their place, and give all
     members the same list.
  4. See that no clock was set back, and start all daemons.
  What was held or waited for is gone. Tokens go on growing, since the numbers of new groups are
  those of the clock. Never do this while members that are only cut off may still run: they would
  be a second group.
";

impl Recover {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let client = Client::new(self.target.target()?);
        let members = run(client.members())??;
        let output = |why| Failure::Storage(format!("standard output: {why}"));
        if members.majority {
            let text = "the group has a majority: there is nothing to recover\n";
            return print(text).map(|()| ExitCode::SUCCESS).map_err(output);
        }
        print(&wrapped(&format!("{}\n{STEPS}", who_is_missing(&members)))).map_err(output)?;
        let why = "no majority: nothing is granted here until that is done";
        Err(Failure::Unavailable(why.to_owned()))
    }
}

fn who_is_missing(members: &Members) -> String {
    let is_missing = |state| matches!(state, MemberState::Suspected | MemberState::Absent);
    let missing = members.members.iter().filter(|it| is_missing(it.state)).map(|it| {
        let address = it.address.as_deref().unwrap_or("address unknown");
        format!("  {} ({}): {}\n", harmless(&it.name), harmless(address), it.state)
    });
    let missing: String = missing.collect();
    let why = members.trouble.as_deref().map(harmless).unwrap_or_default();
    match (why.is_empty(), missing.is_empty()) {
        (_, true) => format!("{why}\n"),
        (true, false) => format!("missing:\n{missing}"),
        (false, false) => format!("{why}\n\nmissing:\n{missing}"),
    }
}
