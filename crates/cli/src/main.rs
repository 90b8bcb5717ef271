//! The program: the command line, with every algorithm compiled into it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use vorrang_algorithms::registry;

fn main() -> ExitCode {
    vorrang_cli::main(registry::register)
}
