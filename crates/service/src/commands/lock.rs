//! `vorrang lock`: a command under a lock.

use std::process::ExitCode;

use super::guarded::{Guarded, Loss};
use super::hold_args::{CommandArgs, WaitArgs};
use crate::api::{HoldRequest, Kind};
use crate::failure::Failure;

/// Run a command while holding a lock
///
/// Waits until the lock of this name is to be had, anywhere in the group, runs the command, and
/// gives the lock back when the command and what it has left in its process group have ended.
/// Nothing need be created before. Options are those of flock(1) where they mean the same.
///
/// If the lock is at risk, since the daemon or its machine is cut off, the command gets SIGTERM,
/// and SIGKILL before anybody else can have the lock. If this process is killed, the command is
/// killed, too. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are handed
/// on to the command's process group.
///
/// The command finds the name in the variable `VORRANG_LOCK` (one a line if it is nested) and the
/// fencing token in `VORRANG_TOKEN`: 32 hexadecimal digits, larger than that of every earlier
/// holder. Have the resource refuse older ones: see 'vorrang fence --help'.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Lock {
    /// Together with others who share it, and with nobody who does not: for readers
    #[arg(short, long, conflicts_with = "exclusive")]
    shared: bool,
    /// Alone, which is the default
    #[arg(short = 'x', short_alias = 'e', long)]
    exclusive: bool,
    #[command(flatten)]
    wait: WaitArgs,
    /// The name of the lock: 1 to 255 bytes of UTF-8 without control characters
    name: String,
    #[command(flatten)]
    command: CommandArgs,
}

const EXAMPLES: &str = "Examples:\n  \
    vorrang lock nightly-backup -- ./backup.sh\n  \
    vorrang lock -n deploy -- ./deploy.sh || echo 'somebody else deploys'\n  \
    vorrang lock --shared -w 10m reports -- ./read.sh\n  \
    vorrang lock db -c 'pg_dump shop | gzip > shop.gz'";

/// The exit codes of commands that run others.
pub(crate) const EXIT_CODES: &str = "Exit codes:\n   \
    that of the command, or 128 + N if signal N has ended it; and by itself:\n    \
    1  not to be had in time (with -n or -w; see -E)\n   \
    64  wrong use\n   \
    69  unavailable: no daemon answers, or its member belongs to no majority\n   \
    71  the system starts no process\n   \
    74  without a command: the token could not be printed\n   \
    75  lost, or at risk: the command was ended\n   \
    77  not allowed to this client\n   \
    78  the keys of this client cannot be used\n  \
    126  the command cannot be run\n  \
    127  there is no such command";

impl Lock {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let kind = if self.shared { Kind::Shared } else { Kind::Lock };
        let request = HoldRequest { kind, ..HoldRequest::lock(self.name) };
        Guarded::new("lock", request, self.wait, &self.command, Loss::IsTheEnd).execute()
    }
}
