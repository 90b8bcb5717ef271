//! The daemon, as a program: what is promised of it, from outside.
mod config;
mod group;
mod holds;
mod hostile;
mod operation;
mod processes;
mod remote;
mod socket;
mod support;
mod trust;
