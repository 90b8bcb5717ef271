//! Layers: protocols around other protocols, for algorithms that need more than their links give.
//!
//! A layer owns the node that it serves, takes what that sends and sets, and hands up what arrives.
//! The algorithm above knows nothing of it, and its application neither.

mod channel_state;
mod envelope;
pub mod flaws;
pub(crate) mod kinds;
pub mod reliable;
mod retries;
pub mod second_process;

pub use reliable::Reliable;
