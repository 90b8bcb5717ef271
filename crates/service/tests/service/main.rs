//! The daemon, as a program: what is promised of it, from outside.
mod keys;
