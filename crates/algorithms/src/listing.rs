//! What it takes to be listed.

use vorrang_protocol::Protocol;

use crate::card::Card;
use crate::problem::Problem;
use crate::recipe::Recipe;
use crate::unfit::Unfit;

/// Takes in the algorithms of a problem.
///
/// Flawed versions have a method of their own, so that nothing but the checker is compiled for
/// them.
pub trait Register<Q: Problem> {
    /// An algorithm.
    fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>;

    /// The algorithm or the mistake that was shown last, with nodes that remember what it has no
    /// use for (the stamps of their requests, when they entered), and what must hold of that.
    fn remembering<P>(&mut self, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>;

    /// The same, with a known mistake.
    fn flaw<P>(&mut self, card: &'static Card<Q>, flaw: &'static str, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>;
}

/// A problem whose algorithms are listed here.
pub trait Listed: Problem {
    /// Shows every algorithm of the problem and every mistake.
    fn register(into: &mut impl Register<Self>);
}

/// The error for a name that is not in the catalogue.
pub fn unknown(name: &str, flaw: Option<&str>) -> Unfit {
    match flaw {
        None => Unfit(alloc::format!("there is no algorithm '{name}'")),
        Some(flaw) => Unfit(alloc::format!("there is no '{name}' with a flaw '{flaw}'")),
    }
}
