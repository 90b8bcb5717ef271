//! `vorrang elect`: a command while leading.

use std::process::ExitCode;

use vorrang_terminal::{harmless, is_closed, print};

use super::guarded::{Guarded, Loss};
use super::hold_args::{CommandArgs, WaitArgs, label};
use super::lock::EXIT_CODES;
use super::run;
use crate::api::{ElectionEvent, HoldRequest, Kind};
use crate::client::Client;
use crate::failure::Failure;

/// Run a command while leading an election
///
/// Waits until this candidate leads and runs the command as long as it does. When the leader's
/// command ends, so does its leadership, and the next candidate leads. When leadership is lost or
/// at risk the command is ended as with 'vorrang lock', before anybody else leads, and this
/// candidate stands again, unless --once is given.
///
/// The variable `VORRANG_ELECTION` has the name and `VORRANG_TOKEN` the fencing token. With
/// --observe nothing is run: a line is printed for each leader.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("Examples:\n  vorrang elect scheduler -- ./scheduler\n  \
    vorrang elect --value 10.0.0.1:8080 api -- ./serve.sh\n  \
    vorrang elect --observe api\n\n{EXIT_CODES}"))]
pub(crate) struct Elect {
    /// What others are told of this candidate when it leads: an address, say; at most 1024 bytes
    /// [default: host, process and command]
    #[arg(long, value_name = "TEXT")]
    value: Option<String>,
    /// End, with exit code 75, when leadership is lost, instead of standing again
    #[arg(long)]
    once: bool,
    /// Print who leads, and every change of that, until a signal
    #[arg(long, conflicts_with_all = ["value", "once", "nonblock", "timeout", "words", "shell"])]
    observe: bool,
    /// With --observe: a JSON object a line
    #[arg(long, requires = "observe")]
    json: bool,
    #[command(flatten)]
    wait: WaitArgs,
    /// The name of the election: locks of the same name have nothing to do with it
    name: String,
    #[command(flatten)]
    command: CommandArgs,
}

impl Elect {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        if self.observe {
            return run(observe(&self))?.map(|()| ExitCode::SUCCESS);
        }
        let value = self.value.unwrap_or_else(|| label(self.command.command().as_deref()));
        let request = HoldRequest {
            kind: Kind::Election,
            value: Some(value),
            ..HoldRequest::lock(self.name)
        };
        let loss = if self.once { Loss::IsTheEnd } else { Loss::BeginsAnew };
        Guarded::new("elect", request, self.wait, &self.command, loss).execute()
    }
}

/// Until nobody reads it, or the daemon has ended.
async fn observe(elect: &Elect) -> Result<(), Failure> {
    let client = Client::new(elect.wait.target.target()?);
    let mut leaders = client.observe(&elect.name).await?;
    while !is_closed() {
        let Some(event) = leaders.next().await? else {
            let why = "the daemon has ended, so nobody is left who could tell who leads";
            return Err(Failure::Unavailable(why.to_owned()));
        };
        let line = match &event {
            ElectionEvent::Alive => continue,
            _ if elect.json => serde_json::to_string(&event).expect("our own types are JSON"),
            ElectionEvent::Nobody => "nobody leads".to_owned(),
            ElectionEvent::Leader { value, member, token } => {
                format!("{token} {} {}", harmless(member), harmless(value))
            }
        };
        print(&format!("{line}\n")).map_err(|why| Failure::Storage(format!("output: {why}")))?;
    }
    Ok(())
}
