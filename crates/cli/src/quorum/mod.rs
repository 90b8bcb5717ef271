//! Quorum systems: their load by linear programming, all that is known of one, and its picture.

mod draw;
mod load;
mod report;
mod simplex;

pub(crate) use draw::{MOST_DRAWN, drawing};
pub(crate) use report::{Asked, Report, assignment};
