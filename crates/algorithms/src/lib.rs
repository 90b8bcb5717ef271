//! The algorithms, one folder to a problem.
//!
//! A folder's `mod.rs` has the commands and notices; its `card.rs` the terms of its cards; its
//! `spec` the specification; its `flaws` the mistakes that the literature knows, for the checker to
//! find; every other file is one algorithm, named after its authors or its idea, and all are
//! written in one order: citation and idea, messages, the state, the handlers, the card, the tests.
//!
//! Being `no_std`, nothing here can reach for a clock, a socket, a thread or the randomness of the
//! machine it runs on.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[macro_use]
mod page;

pub mod card;
pub mod clock;
pub mod detection;
pub mod election;
pub mod flaw;
pub mod group;
pub mod layer;
mod listing;
pub mod multicast;
pub mod mutex;
pub mod partition;
pub mod priorities;
pub mod problem;
pub mod quorum;
pub mod recipe;
pub mod registry;
pub mod setup;
pub mod structure;
pub mod topology;
mod unfit;
pub mod values;
pub mod wave;
