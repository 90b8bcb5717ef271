//! Why something cannot be set up.

use alloc::string::String;
use core::fmt;

/// A set-up that an algorithm cannot work with, in a sentence that says why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit(pub String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Unfit {}
