//! Every algorithm and every mistake by its name, as [nodes of any algorithm](AnyNode).
//!
//! What goes through the whole catalogue need not be compiled for each algorithm in it: here every
//! one is compiled as nodes without a type, once, and a driver of such nodes is compiled once for
//! every problem.
//!
//! ```
//! use vorrang_algorithms::mutex::Mutex;
//! use vorrang_algorithms::setup::Setup;
//! use vorrang_protocol::Group;
//!
//! let setup = Setup::new(Group::of(5));
//! let nodes = vorrang_catalogue::find::<Mutex>("suzuki-kasami", None)?.nodes(&setup)?;
//! assert_eq!(nodes.len(), 5);
//! # Ok::<(), vorrang_algorithms::setup::Unfit>(())
//! ```
#![forbid(unsafe_code)]

use std::any::TypeId;
use std::fmt;
use std::sync::LazyLock;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::recipe::Recipe;
use vorrang_algorithms::registry::{self, Listed, Register};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_algorithms::wave::Wave;
use vorrang_erased::{AnyNode, AnyPopulation, Population};
use vorrang_protocol::{Guard, Message as _, Never, Protocol};

/// A node of any algorithm of a problem.
pub type NodeOf<Q> = AnyNode<<Q as Problem>::Command, <Q as Problem>::Notice>;

/// All nodes of a run of any algorithm of a problem.
pub type PopulationOf<Q> = Box<dyn AnyPopulation<<Q as Problem>::Command, <Q as Problem>::Notice>>;

/// An algorithm, or one with a mistake.
pub struct Entry<Q: Problem> {
    /// What is known of the algorithm.
    pub card: &'static Card<Q>,
    /// The mistake in it, if there is one.
    pub flaw: Option<&'static str>,
    /// How its nodes are made.
    pub recipe: Recipe<NodeOf<Q>>,
    /// What holds of them at every moment.
    pub guards: Vec<Guard<NodeOf<Q>>>,
    /// The names of its kinds of messages: nodes without a type do not know them all.
    pub kinds: &'static [&'static str],
    /// Whether it uses timers at all.
    pub sets_timers: bool,
}

impl<Q: Problem> Entry<Q> {
    fn new<P>(card: &'static Card<Q>, flaw: Option<&'static str>, recipe: Recipe<P>) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        Self {
            card,
            flaw,
            guards: recipe.invariants().iter().map(AnyNode::guard).collect(),
            recipe: Recipe::new(move |setup| {
                let node = recipe.nodes(setup)?;
                Ok(move |id| AnyNode::new(node(id)))
            }),
            kinds: P::Message::KINDS,
            sets_timers: TypeId::of::<P::Timer>() != TypeId::of::<Never>(),
        }
    }

    /// The nodes of a whole group.
    ///
    /// # Errors
    ///
    /// If the set-up does not fit the algorithm.
    pub fn nodes(&self, setup: &Setup) -> Result<Vec<NodeOf<Q>>, Unfit> {
        let node = self.recipe.nodes(setup)?;
        Ok(setup.group.members().map(|id| node(id)).collect())
    }

    /// The nodes of a whole group, with their messages and timers.
    ///
    /// # Errors
    ///
    /// If the set-up does not fit the algorithm.
    pub fn population(&self, setup: &Setup) -> Result<PopulationOf<Q>, Unfit> {
        Ok(self.unguarded(setup)?.into())
    }

    /// The same, with what holds of them at every moment.
    ///
    /// # Errors
    ///
    /// If the set-up does not fit the algorithm.
    pub fn guarded_population(&self, setup: &Setup) -> Result<PopulationOf<Q>, Unfit> {
        Ok(self.unguarded(setup)?.guarded(self.guards.iter().cloned()).into())
    }

    fn unguarded(&self, setup: &Setup) -> Result<Population<NodeOf<Q>>, Unfit> {
        let population = Population::of(setup.group.size(), self.recipe.nodes(setup)?);
        Ok(population.with_kinds(self.kinds))
    }
}

impl<Q: Problem> fmt::Debug for Entry<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Entry");
        shown.field("name", &self.card.name).field("flaw", &self.flaw).finish_non_exhaustive()
    }
}

/// A problem whose algorithms are in the catalogue.
pub trait Catalogued: Listed {
    /// Every algorithm, each followed by itself with each of its known mistakes.
    fn entries() -> &'static [Entry<Self>];
}

macro_rules! catalogued {
    ($($problem:ty),*) => {$(
        impl Catalogued for $problem {
            fn entries() -> &'static [Entry<Self>] {
                static ENTRIES: LazyLock<Vec<Entry<$problem>>> = LazyLock::new(all);
                &ENTRIES
            }
        }
    )*};
}

catalogued!(Mutex, Election, Wave, Detection, Multicast, Grouping);

/// The algorithm of that name, with that mistake if there is to be one.
///
/// # Errors
///
/// If there is none.
pub fn find<Q: Catalogued>(name: &str, flaw: Option<&str>) -> Result<&'static Entry<Q>, Unfit> {
    let found = Q::entries().iter().find(|it| it.card.name == name && it.flaw == flaw);
    found.ok_or_else(|| registry::unknown(name, flaw))
}

fn all<Q: Listed>() -> Vec<Entry<Q>> {
    struct All<Q: Problem>(Vec<Entry<Q>>);

    impl<Q: Problem> Register<Q> for All<Q> {
        fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
            self.0.push(Entry::new(card, None, recipe));
        }
        fn flaw<P>(&mut self, card: &'static Card<Q>, flaw: &'static str, recipe: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
            self.0.push(Entry::new(card, Some(flaw), recipe));
        }
    }

    let mut all = All(Vec::new());
    Q::register(&mut all);
    all.0
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;

    #[test]
    fn everything_on_a_card_is_found_and_nothing_else() {
        for card in registry::cards::<Mutex>() {
            let setup = card.setup(Group::of(4));
            for flaw in [None].into_iter().chain(card.flaws.iter().map(|flaw| Some(flaw.name))) {
                let entry = find::<Mutex>(card.name, flaw).expect("it is on the card");
                assert_eq!((entry.card.name, entry.flaw), (card.name, flaw));
                assert!(!entry.kinds.is_empty(), "{entry:?}");
                // Some mistakes need a set-up of their own.
                assert!(flaw.is_some() || entry.nodes(&setup).expect(card.name).len() == 4);
            }
        }
        let missing = find::<Mutex>("lamport", Some("none-such")).expect_err("no such mistake");
        assert_eq!(missing.0, "there is no 'lamport' with a flaw 'none-such'");
        let missing = find::<Wave>("lamport", None).expect_err("not a wave");
        assert_eq!(missing.0, "there is no algorithm 'lamport'");
    }

    #[test]
    fn only_some_set_timers() {
        let sets = |name| find::<Mutex>(name, None).expect(name).sets_timers;
        assert!(sets("token-ring") && !sets("lamport"));
    }
}
