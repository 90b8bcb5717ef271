//! The list of algorithms, and the look-up by name.

use alloc::vec::Vec;

use vorrang_protocol::{Invariant, Protocol};

use crate::card::Card;
use crate::problem::Problem;
use crate::recipe::{Node, Recipe};
use crate::setup::{Setup, Unfit};

/// Takes in the algorithms of a problem.
///
/// Flawed versions have a method of their own, so that nothing but the checker is compiled for
/// them.
pub trait Register<Q: Problem> {
    /// An algorithm.
    fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
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

/// The cards of all algorithms of a problem.
pub fn cards<Q: Listed>() -> Vec<&'static Card<Q>> {
    struct Cards<Q: Problem>(Vec<&'static Card<Q>>);
    impl<Q: Problem> Register<Q> for Cards<Q> {
        fn algorithm<P>(&mut self, card: &'static Card<Q>, _: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
            self.0.push(card);
        }
        fn flaw<P>(&mut self, _: &'static Card<Q>, _: &'static str, _: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
        }
    }
    let mut cards = Cards(Vec::new());
    Q::register(&mut cards);
    cards.0
}

/// The invariants of an algorithm.
pub type Invariants<P> = &'static [Invariant<P>];

/// Something to do with one algorithm of a problem once its type is known.
pub trait Visit<Q: Problem> {
    /// The result.
    type Output;

    /// Does it, with a way to make the nodes and what holds of them at every moment.
    fn visit<P>(self, card: &'static Card<Q>, node: Node<P>, holds: Invariants<P>) -> Self::Output
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>;
}

/// Visits the algorithm called `name`, with a mistake if there is to be one.
///
/// # Errors
///
/// If there is no such name or mistake, or the set-up does not fit.
pub fn visit<Q: Listed, V: Visit<Q>>(
    name: &str,
    flaw: Option<&str>,
    setup: &Setup,
    visitor: V,
) -> Result<V::Output, Unfit> {
    let mut find = Find { name, flaw, setup, visitor: Some(visitor), output: None };
    Q::register(&mut find);
    find.output.unwrap_or_else(|| Err(unknown(name, flaw)))
}

/// The error for a name that is not in the catalogue.
pub fn unknown(name: &str, flaw: Option<&str>) -> Unfit {
    match flaw {
        None => Unfit(alloc::format!("there is no algorithm '{name}'")),
        Some(flaw) => Unfit(alloc::format!("there is no '{name}' with a flaw '{flaw}'")),
    }
}

/// Looks up one algorithm by name, and visits it.
struct Find<'a, V, O> {
    name: &'a str,
    flaw: Option<&'a str>,
    setup: &'a Setup,
    visitor: Option<V>,
    output: Option<Result<O, Unfit>>,
}

impl<V, O> Find<'_, V, O> {
    fn look<Q, P>(&mut self, card: &'static Card<Q>, flaw: Option<&str>, recipe: &Recipe<P>)
    where
        Q: Problem,
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        V: Visit<Q, Output = O>,
    {
        if card.name == self.name
            && flaw == self.flaw
            && let Some(visitor) = self.visitor.take()
        {
            let holds = recipe.invariants();
            let output = recipe.nodes(self.setup).map(|node| visitor.visit(card, node, holds));
            self.output = Some(output);
        }
    }
}

impl<Q: Problem, V: Visit<Q>> Register<Q> for Find<'_, V, V::Output> {
    fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        self.look(card, None, &recipe);
    }
    fn flaw<P>(&mut self, card: &'static Card<Q>, flaw: &'static str, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        self.look(card, Some(flaw), &recipe);
    }
}
