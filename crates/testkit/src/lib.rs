//! What the tests of several crates share: variables of the environment by which somebody asks for
//! more, files that pin results, and folders for what a test writes.
//!
//! Only tests depend on it, and it depends on nothing. What the tests of one crate share is in the
//! folder `support` of that crate's tests.
#![forbid(unsafe_code)]

mod environment;
mod folder;
mod pinned;

pub use environment::{is_set, number, seeds};
pub use folder::Folder;
pub use pinned::compare_or_rewrite;
