//! Problems, independent of the algorithms that solve them.

use core::fmt::{Debug, Display};
use core::str::FromStr;

use vorrang_protocol::Data;

/// A problem: what its algorithms are asked, what they tell, and the terms in which they speak of
/// themselves.
///
/// A problem is a folder. Its `mod.rs` implements this; its `card.rs` holds the terms, its `spec`
/// what must hold, its `flaws` the known mistakes, and every other file is one algorithm.
pub trait Problem: Sized + Debug + 'static {
    /// Its name on the command line: the name of its folder.
    const NAME: &'static str;
    /// Its title.
    const TITLE: &'static str;

    /// The commands of an application.
    type Command: Data + Display + FromStr<Err = alloc::string::String>;
    /// The notices to an application.
    type Notice: Data + Display;
    /// The properties of an algorithm that are specific to this problem.
    type Terms: Debug + Sync + 'static;
    /// The parameters of the theory of a cost.
    type Setting: Debug + 'static;
    /// The smallest system that shows a mistake.
    type Demonstration: Debug + Sync + 'static;
}
