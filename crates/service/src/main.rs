//! The program: the lock service.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    vorrang_service::main()
}
