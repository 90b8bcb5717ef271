//! What [SRM](super::srm) is made of.

pub mod distance;
pub mod message;
pub mod pace;
pub(super) mod recovery;
pub(super) mod sessions;
pub(super) mod stream;
