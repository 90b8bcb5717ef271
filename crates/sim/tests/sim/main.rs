//! All tests of the crate as one program: linked once.

mod broken_links;
mod detection;
mod effects;
mod elections;
mod fairness;
mod fault_injector;
mod faults;
mod forgetful;
mod groups;
mod locks;
mod multicast;
mod named;
mod named_in_number;
mod population;
mod puppet;
mod quorums;
mod replaced;
mod ricart_agrawala;
mod survivors;
mod theory;
mod time;
mod token_ring;
mod trees;
mod users;
mod verdicts;
mod waves;
