//! The specification, independent of the algorithm: one property, one name, one source.
//!
//! | property | monitor | says |
//! | --- | --- | --- |
//! | `exclusion` | [`Exclusion`] | no node enters beside a conflicting claim |
//! | `progress` | [`Exclusion`] | at rest, no node is left waiting |
//! | `no starvation` | [`BoundedBypass`] | no node bypasses a known request too often |
//! | `ordering` | [`HappenedBefore`] | a request that happened before another enters first |

mod bypass;
mod exclusion;
mod knowledge;
mod ordering;

pub use bypass::BoundedBypass;
pub use exclusion::{Admission, Exclusion, Only};
pub use ordering::HappenedBefore;

/// Exclusion and progress, and what may be asked besides.
pub type Watch = (Exclusion, (Option<HappenedBefore>, Option<BoundedBypass>));
