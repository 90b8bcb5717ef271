//! Members of a group.
#[cfg(feature = "tls")]
mod tls;
