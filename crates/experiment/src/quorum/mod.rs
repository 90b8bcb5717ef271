//! Quorum systems: their load by linear programming, and all that is known of one.

mod load;
mod report;

pub use report::{Asked, Report, assignment};
