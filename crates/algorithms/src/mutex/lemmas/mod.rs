//! What the proofs of some algorithms rest on, where their own files have no room for it.

pub(super) mod locking;
pub mod majority_votes;
pub mod ricart_agrawala;
pub mod singhal;
pub mod singhal_order;
pub mod token_ring;
