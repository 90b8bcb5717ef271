//! All tests of the crate as one program: linked once.

mod costs;
mod entries;
mod golden;
mod shown;
