//! `vorrang recover`: a group that has lost its majority.

use std::path::PathBuf;
use std::process::ExitCode;

use vorrang_lock::{Recovery, RecoveryError};
use vorrang_terminal::{harmless, print, wrapped};

use super::run;
use super::serve::usual_config;
use super::target::TargetArgs;
use crate::api::{MemberState, Members};
use crate::client::Client;
use crate::failure::{EXIT_CODES, Failure};
use crate::settings::{KeyArgs, Settings};

/// Bring a group back that has lost its majority
///
/// Without a majority of its members a group grants nothing, and nobody can tell whether the others
/// do. This asks the daemon who is missing, says what to do, and changes nothing.
///
/// With --config (or --data) it looks into the data directory of a member that does not run, and
/// says what would be lost if the group went on from there; with --force as well it does that. It
/// is refused while a majority of the members answers.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("{STEPS}\n{EXIT_CODES}"))]
pub(crate) struct Recover {
    /// Make the member of this machine, whose daemon is stopped, the only one that votes
    #[arg(long, conflicts_with = "server")]
    force: bool,
    /// The configuration of its daemon [variable: `VORRANG_CONFIG`]
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    config: Option<PathBuf>,
    /// Its data directory, if it is not in the configuration
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    data: Option<String>,
    /// Its name, if it is not in the configuration
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    name: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
}

/// What can be done.
const STEPS: &str = "\
If the missing machines come back:
  Start their daemons as before. Members with 'data' need their directories, and go on with what is
  in them. Without 'data', if a majority has ended, all daemons must be stopped and started again.

If they are gone for good, and members have 'data', one of those that are left goes on alone:
  1. Stop the daemon of every member that is left, and see to it that the lost ones stay away.
  2. On one machine say: vorrang recover --force --config FILE
     Take the one that knows the newest view: without --force each says which it knows. It is one
     of the list of members: one that has joined them is not started without them.
  3. Move the data directories of all others away, and start all daemons.
  4. Let the others vote again, one by one: vorrang members --add NAME

If they are gone for good, and members have no 'data', the group is founded anew:
  1. Stop the daemon of every member that is left.
  2. Take the lost machines out of the list of members, or put others in their place, and give all
     members the same list.
  3. See that no clock was set back, and start all daemons.

Both ways what was held or waited for is gone, and tokens go on growing. Never do it while members
that are only cut off may still run: they would be a second group.
";

impl Recover {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        if self.force || self.config.is_some() || self.data.is_some() {
            return self.go_on_alone();
        }
        let client = Client::new(self.target.target()?);
        let members = run(client.members())??;
        if members.majority {
            say("the group has a majority: there is nothing to recover\n")?;
            return Ok(ExitCode::SUCCESS);
        }
        say(&wrapped(&format!("{}\n{STEPS}", who_is_missing(&members))))?;
        let why = "no majority: nothing is granted here until that is done";
        Err(Failure::Unavailable(why.to_owned()))
    }

    fn go_on_alone(self) -> Result<ExitCode, Failure> {
        let given = [("data", self.data), ("name", self.name)];
        let given = given.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let file = self.config.or_else(usual_config);
        let settings = Settings::collect(file.as_deref(), std::env::vars_os(), &KeyArgs::of(given))
            .map_err(|why| Failure::Config(why.to_string()))?;
        let config = &settings.config;
        say(&wrapped(&what_it_means(&Recovery::look(config)?)))?;
        if !self.force {
            let why = "nothing was changed: --force does it";
            return Err(Failure::Usage(why.to_owned()));
        }
        say("listening whether a majority answers after all\n")?;
        let Recovery { member, view, others, .. } = run(Recovery::force(config))??;
        let mut done = format!(
            "\ndone: from view {view} on {} is the only one that votes. Start its daemon.",
            harmless(&member)
        );
        if !others.is_empty() {
            done += &format!(
                " Move the data directories of {} away before you start those, and let them vote \
                 again, one by one: vorrang members --add {}",
                list(&others),
                harmless(&others[0])
            );
        }
        say(&wrapped(&(done + "\n")))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn say(text: &str) -> Result<(), Failure> {
    print(text).map_err(|why| Failure::Storage(format!("standard output: {why}")))
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|it| harmless(it)).collect();
    names.join(", ")
}

/// What a recovery costs.
fn what_it_means(recovery: &Recovery) -> String {
    let Recovery { group, member, before, others, .. } = recovery;
    let (group, member) = (harmless(group), harmless(member));
    if others.is_empty() {
        return format!(
            "group {group}: {member} knows view {before}, and is the only one that votes on the \
             next: nothing is lost, and its daemon goes on alone without this\n"
        );
    }
    format!(
        "group {group}: the newest view that {member} knows is {before}, and on the next {} vote \
         as well.\n\n\
         What may be lost is what these have decided without {member}: later views, and who held \
         what in them. What is held or waited for now is lost in any case. Tokens go on growing, \
         and nothing is granted before the leases of view {before} are over. If the others are not \
         lost but cut off, they would be a second group: then only tokens protect what the locks \
         protect.\n\n",
        list(others)
    )
}

impl From<RecoveryError> for Failure {
    fn from(error: RecoveryError) -> Self {
        let why = error.to_string();
        match error {
            RecoveryError::NoData | RecoveryError::Newcomer | RecoveryError::Config(_) => {
                Self::Config(why)
            }
            RecoveryError::Storage(_) | RecoveryError::Open(_) => Self::Storage(why),
            RecoveryError::Majority { .. } => Self::Failed(why),
        }
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
