//! Ctrl-C: the first asks for an end with all that is known, the second is one.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

use vorrang_experiment::failure::Failure;

static RAISED: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that SIGINT ended.
const KILLED: i32 = 128 + 2;

/// Installs the handler of Ctrl-C.
pub(crate) fn listen() -> Result<(), Failure> {
    let pressed = || {
        if RAISED.swap(true, Ordering::Relaxed) {
            exit(KILLED);
        }
    };
    ctrlc::set_handler(pressed)
        .map_err(|error| Failure::World(format!("cannot listen for Ctrl-C: {error}")))
}

/// Whether Ctrl-C was pressed since then.
pub(crate) fn is_raised() -> bool {
    RAISED.load(Ordering::Relaxed)
}
