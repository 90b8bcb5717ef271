//! The mistakes that people make with these algorithms, a file an algorithm.

pub mod bully;
pub mod bus_reset;
pub mod chang_roberts;
pub mod echo_election;
pub mod ring_election;
pub mod tree_election;
pub mod watching;
