//! The mistakes that people make with these algorithms.

pub mod cao_singhal;
pub mod cao_singhal_fallback;
pub mod carvalho_roucairol;
pub mod central;
pub mod echo_lift;
pub mod elected_lift;
pub mod group_exclusion;
pub mod k_exclusion;
pub mod lamport;
pub mod lift;
pub mod maekawa;
pub mod maekawa_fallback;
pub mod majority_votes;
pub mod majority_votes_timely;
pub mod raymond;
pub mod readers_writers;
pub mod regenerating;
pub mod resource_sets;
pub mod ricart_agrawala;
pub mod ricart_agrawala_probing;
pub mod sanders;
pub mod singhal;
pub mod suzuki_kasami;
pub mod talkative;
pub mod token_ring;
pub mod total_order;
