//! Output on a terminal, as commands of this project fail.

use vorrang_experiment::failure::Failure;
pub use vorrang_terminal::{
    BAD, BOLD, DIM, GOOD, RESET, broken, harmless, is_closed, length, say_aside, screen, wrap,
    wrapped,
};

/// As [`vorrang_terminal::print`].
///
/// # Errors
///
/// If it cannot be written; a reader that goes away is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let printed = vorrang_terminal::print(text);
    printed.map_err(|why| Failure::World(format!("standard output: {why}")))
}
