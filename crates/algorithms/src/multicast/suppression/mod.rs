//! The parts of [SRM](super::srm).

pub mod distance;
pub mod message;
pub mod pace;
pub(super) mod recovery;
pub(super) mod scope;
pub(super) mod sessions;
mod shown;
pub(super) mod stream;
