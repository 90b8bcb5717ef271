//! What the tests of several crates share: variables of the environment by which somebody asks for
//! more, files that pin results, folders for what a test writes, ports and terminals.
//!
//! Only tests depend on it, and without its features it depends on nothing. What the tests of one
//! crate share is in the folder `support` of that crate's tests.
#![forbid(unsafe_code)]

mod environment;
mod folder;
mod pinned;
mod ports;
#[cfg(all(unix, feature = "terminal"))]
mod terminal;

pub use environment::{is_set, number, seeds};
pub use folder::Folder;
pub use pinned::compare_or_rewrite;
pub use ports::addresses;
#[cfg(all(unix, feature = "terminal"))]
pub use terminal::Terminal;
