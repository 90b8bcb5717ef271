//! What must hold, whatever the algorithm: one property, one name, one source.
//!
//! | property | monitor | says |
//! | --- | --- | --- |
//! | `exclusion` | [`Exclusion`] | nobody enters beside a claim that forbids it |
//! | `progress` | [`Exclusion`] | when nothing more is bound to happen, nobody is left waiting |
//! | `no starvation` | [`BoundedBypass`] | nobody passes a request that it was told of too often |
//! | `ordering` | [`HappenedBefore`] | a request that happened before another enters first |

mod bypass;
mod exclusion;
mod knowledge;
mod ordering;

pub use bypass::BoundedBypass;
pub use exclusion::{Admission, Exclusion};
pub use ordering::HappenedBefore;

/// Exclusion and progress, and what may be asked besides.
pub type Watch = (Exclusion, (Option<HappenedBefore>, Option<BoundedBypass>));
