//! A member.
#[cfg(feature = "tls")]
pub mod tls;
