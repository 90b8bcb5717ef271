//! All tests of the crate as one program: linked once.

mod fence;
mod lock_command;
mod lock_ends;
mod lock_signals;
mod support;
