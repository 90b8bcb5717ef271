//! What a problem is, whoever solves it.

use core::fmt::{Debug, Display};
use core::str::FromStr;

use vorrang_protocol::Data;

/// A problem: what its algorithms are asked, what they tell, and the terms in which they speak of
/// themselves.
///
/// A problem is a folder. Its `mod.rs` implements this; its `card.rs` holds the terms, its `spec`
/// what must hold, its `flaws` the known mistakes, and every other file is one algorithm.
pub trait Problem: Sized + Debug + 'static {
    /// What the command line calls it: the name of its folder.
    const NAME: &'static str;
    /// What people call it.
    const TITLE: &'static str;

    /// The commands of an application.
    type Command: Data + Display + FromStr<Err = alloc::string::String>;
    /// The notices to an application.
    type Notice: Data + Display;
    /// What an algorithm says of itself that only this problem has words for.
    type Terms: Debug + Sync + 'static;
    /// What the theory of a cost depends on.
    type Setting: Debug + 'static;
    /// The smallest system that shows a mistake.
    type Demonstration: Debug + Sync + 'static;
}
