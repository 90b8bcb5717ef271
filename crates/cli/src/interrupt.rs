//! Ctrl-C: the first asks for an end with all that is known, the second is one. In a conversation
//! it ends what is under way and not the conversation.

use std::process::exit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use vorrang_experiment::failure::Failure;
use vorrang_node::terminal::say_aside;

/// How often it was pressed.
static PRESSED: AtomicU32 = AtomicU32::new(0);

/// What puts a terminal right that waits for a key. Ctrl-C is a key then, so that a signal comes
/// from somebody who wants an end.
static AT_A_KEY: Mutex<Option<fn()>> = Mutex::new(None);

/// The exit code of a program that SIGINT ended.
const KILLED: i32 = 128 + 2;

/// So often in a row, and a conversation ends as well.
const MANY: u32 = 3;

/// Installs the handler of Ctrl-C.
pub(crate) fn listen() -> Result<(), Failure> {
    install(|| {
        if PRESSED.fetch_add(1, Ordering::Relaxed) > 0 {
            exit(KILLED);
        }
    })
}

/// Installs the handler of Ctrl-C for a conversation, which goes on after it.
pub(crate) fn listen_in_a_conversation() -> Result<(), Failure> {
    install(|| {
        let put_right = *AT_A_KEY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(put_right) = put_right {
            put_right();
            exit(KILLED);
        }
        if PRESSED.fetch_add(1, Ordering::Relaxed) + 1 >= MANY {
            exit(KILLED);
        }
        say_aside(&format!("\nThe run is kept: quit ends it, and so does Ctrl-C {MANY} times."));
    })
}

fn install(pressed: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(pressed)
        .map_err(|error| Failure::World(format!("cannot listen for Ctrl-C: {error}")))
}

/// Says what puts the terminal right if the program ends now.
pub(crate) fn before_the_end(put_right: Option<fn()>) {
    *AT_A_KEY.lock().unwrap_or_else(PoisonError::into_inner) = put_right;
}

/// Whether Ctrl-C was pressed since then.
pub(crate) fn is_raised() -> bool {
    PRESSED.load(Ordering::Relaxed) > 0
}

/// Forgets that it was, when something else is begun.
pub(crate) fn forget() {
    PRESSED.store(0, Ordering::Relaxed);
}
