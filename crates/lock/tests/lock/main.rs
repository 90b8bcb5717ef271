//! Members of a group in one process, over sockets on loopback, and what can go wrong between them.
#![forbid(unsafe_code)]

mod coming;
mod cut;
mod dropped;
mod exclusion;
mod lost;
mod membership;
mod stored;
mod support;
#[cfg(feature = "tls")]
mod tls;
