//! Quorum systems: their load by linear programming, and all that is known of one.

mod load;
mod report;
mod simplex;

pub use report::{Asked, Report, assignment, conditions_in_words, of_maekawa};
