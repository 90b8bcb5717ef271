//! The parts of [negative acknowledgements](super::nack).

mod beginnings;
mod digests;
mod gone;
pub mod message;
