//! The parts of [negative acknowledgements](super::nack).

mod gone;
pub mod message;
