//! The algorithms, one folder to a problem.
//!
//! A folder's `mod.rs` says what is asked and what is told; its `spec.rs` says what must hold;
//! its `flaws.rs` holds the mistakes that the literature knows, for the checker to find; every
//! other file is one algorithm, named after its authors or its idea, and all are written in one
//! order: citation and idea, messages, the state, the handlers, the tests.
//!
//! Being `no_std`, nothing here can reach for a clock, a socket, a thread or a random number.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod card;
pub mod clock;
pub mod election;
pub mod mutex;
pub mod registry;
