//! The lock service: a daemon that holds locks for the programs of its machine, and the commands
//! around it.
//!
//! - [`api`] has what is said over HTTP as types, [`client`] says it: a program in Rust that wants
//!   no member inside its own process uses these.
//! - `commands` has a file for each command; [`main`] reads the command line.
//!
//! Exit codes: see [`failure`].
#![forbid(unsafe_code)]

pub mod api;
pub mod boot_time;
mod child;
pub mod client;
mod commands;
mod daemon;
pub mod failure;
mod holds;
mod http;
mod key_files;
mod log;
mod metrics;
mod process_group;
mod settings;
mod systemd;
mod unix_socket;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::commands::{elect, fence, keys, lock, locks, members, recover, semaphore, serve};
use crate::failure::EXIT_CODES;

/// Locks, semaphores and elections for the programs of several machines.
///
/// A daemon on each machine, `serve`, is a member of a group. It holds locks for the clients of its
/// machine; the group agrees who is next.
#[derive(Debug, Parser)]
#[command(
    name = "vorrang",
    bin_name = "vorrang",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = format!(
    "Start with:\n  vorrang serve &\n  vorrang lock nightly-backup -- ./backup.sh\n\n{EXIT_CODES}"
))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Lock(lock::Lock),
    Semaphore(semaphore::Semaphore),
    Elect(elect::Elect),
    Locks(locks::Locks),
    Members(members::Members),
    Fence(fence::Fence),
    Keys(keys::Keys),
    Recover(recover::Recover),
}

/// The program: reads the command line and runs the command.
pub fn main() -> ExitCode {
    if let Some(code) = child::dispatch(std::env::args_os()) {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return not_understood(&error),
    };
    let outcome = match arguments.command {
        Command::Serve(serve) => serve.execute(),
        Command::Lock(lock) => lock.execute(),
        Command::Semaphore(semaphore) => semaphore.execute(),
        Command::Elect(elect) => elect.execute(),
        Command::Locks(locks) => locks.execute(),
        Command::Members(members) => members.execute(),
        Command::Fence(fence) => fence.execute(),
        Command::Keys(keys) => keys.execute(),
        Command::Recover(recover) => recover.execute(),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

/// What clap answers by itself: help and version, which are fine, or what is wrong.
fn not_understood(error: &clap::Error) -> ExitCode {
    // If nobody reads it, it need not be said.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(failure::USAGE),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
