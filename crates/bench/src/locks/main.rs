//! The lock service measured: each target beside what it comes to, as ratios inside one run.
//!
//! `bench/service` builds and calls it. `bench/peers` uses its clients, so that Vorrang and other
//! services are measured by the same rules.

#![forbid(unsafe_code)]

mod client;
mod commands;
mod daemon;
mod handover;
mod idle;
mod kills;
mod last;
mod names;
mod place;
mod process;
mod report;
mod uncontended;
mod views;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::client::ClientArgs;
use crate::report::Report;

/// Whatever goes wrong ends the measurement.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Debug, Parser)]
#[command(name = "vorrang-bench-locks", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the lock service, and print each target beside what was measured
    Table(TableArgs),
    /// Be a client that asks for a lock as it is told on standard input
    Client(ClientArgs),
}

/// The parts of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Part {
    /// All members ask again and again: library, with and without TLS, and through the socket
    Handover,
    /// One member asks for what it had last
    Uncontended,
    /// `vorrang lock NAME -- true` beside `flock FILE true`
    Command,
    /// Many names in use: memory, and a view change
    Names,
    /// kill -9 of the holder's member, until the next one is granted the lock
    Kill,
    /// Members that nobody asks for anything
    Idle,
}

#[derive(Clone, Debug, clap::Args)]
struct TableArgs {
    /// The program of the service
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// An empty directory for sockets, keys and state
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// Measure these parts alone, separated by commas
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    only: Vec<Part>,
    /// How often throughput is measured; the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    rounds: usize,
    /// How long each time, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// How many names are in use
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = at_least_one)]
    names: usize,
    /// How many members are killed, with leases and without
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    kills: usize,
    /// How often a command is run
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    runs: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number that is at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(time) if time > 0.0 && time <= 3600.0 => Ok(time),
        Ok(_) | Err(_) => Err("write seconds, more than 0 and at most 3600".to_owned()),
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Table(arguments) => table(&arguments),
        Command::Client(arguments) => client::run(&arguments).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|why| {
        eprintln!("error: {why}");
        ExitCode::from(2)
    })
}

fn table(arguments: &TableArgs) -> Outcome<ExitCode> {
    let is_asked = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut report = Report::new();
    if is_asked(Part::Handover) {
        handover::measure(arguments, &mut report)?;
    }
    if is_asked(Part::Uncontended) {
        uncontended::measure(arguments, &mut report)?;
    }
    if is_asked(Part::Command) {
        commands::measure(arguments, &mut report)?;
    }
    if is_asked(Part::Names) {
        names::measure(arguments, &mut report)?;
    }
    if is_asked(Part::Kill) {
        kills::measure(arguments, &mut report)?;
    }
    if is_asked(Part::Idle) {
        idle::measure(arguments, &mut report)?;
    }
    Ok(if report.has_missed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
