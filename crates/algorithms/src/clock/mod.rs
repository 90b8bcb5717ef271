//! Logical time: what happened before what, without clocks on the wall.

mod lamport;

pub use lamport::{Clock, LateClock, Stamp};
