//! All tests of the crate as one program: linked once.

mod costs;
mod golden;
mod shown;
