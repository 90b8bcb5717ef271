//! What the project's rules are checked with; the rules themselves are `tests/tidy`.
//!
//! A rule is a test named as a sentence. It looks at the whole tree, collects every offence and
//! fails once, with a list of `path:line: what is wrong, and what to do`. Rules only read. The one
//! that can mend what it finds does so when `VORRANG_REWRITE` is 1, and never otherwise.
#![forbid(unsafe_code)]

mod manifest;
mod modules;
mod offences;
mod paths;
mod source;
mod tree;

pub use manifest::{Dependency, Manifest};
pub use modules::{Modules, Use};
pub use offences::Offences;
pub use source::{Function, Source};
pub use tree::{Crate, File, Tree};
