//! All tests of the crate as one program, linked once: what is promised of the daemon and of the
//! commands, from outside.

mod config;
mod fence;
mod group;
mod holds;
mod hostile;
mod keys;
mod lock_command;
mod lock_ends;
mod lock_group;
mod lock_signals;
mod membership;
mod operation;
mod page;
mod processes;
mod programs;
mod remote;
mod socket;
mod support;
mod trust;
