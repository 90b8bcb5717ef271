//! What must hold, whatever the algorithm: one property, one name, one source.
//!
//! | property | monitor | says |
//! | --- | --- | --- |
//! | `exclusion` | [`Exclusion`] | nobody enters beside a claim that forbids it |
//! | `progress` | [`Exclusion`] | when nothing more can happen, nobody is left waiting |
//! | `no starvation` | [`BoundedBypass`] | nobody who is known to wait is passed too often |
//! | `ordering` | [`HappenedBefore`] | a request that happened before another enters first |

mod bypass;
mod exclusion;
mod knowledge;
mod ordering;

pub use bypass::BoundedBypass;
pub use exclusion::{Admission, Exclusion};
pub use ordering::HappenedBefore;
