//! Every algorithm and every mistake by its name, as [nodes of any algorithm](AnyNode).
//!
//! Code that goes through the whole catalogue need not be compiled for each algorithm in it: here
//! every one is compiled as nodes without a type, once, and a driver of such nodes is compiled once
//! for every problem.
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

pub mod channels;
pub mod golden;
mod nodes;
pub mod on_views;

use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, LazyLock};

use vorrang_algorithms::card::{About, Card};
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::recipe::Recipe;
use vorrang_algorithms::registry::{self, Listed, Register};
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_algorithms::wave::Wave;
use vorrang_erased::{AnyNode, AnyPopulation, Fresh, Population};
use vorrang_protocol::{Guard, Invariant, Message as _, Never, Protocol};

use self::channels::{Channels, over_channels};
pub use self::nodes::{Kinds, Nodes};

/// A node of any algorithm of a problem.
pub type NodeOf<Q> = AnyNode<<Q as Problem>::Command, <Q as Problem>::Notice>;

/// All nodes of a run of any algorithm of a problem.
pub type PopulationOf<Q> = Box<dyn AnyPopulation<<Q as Problem>::Command, <Q as Problem>::Notice>>;

/// An algorithm, or one with a mistake.
pub struct Entry<Q: Problem> {
    /// The card of the algorithm.
    pub card: &'static Card<Q>,
    /// The mistake in it, if there is one.
    pub flaw: Option<&'static str>,
    /// The same with nodes that remember what the algorithm has no use for, if something is to be
    /// said of that: the order of stamps, lemmas about the past.
    pub remembering: Option<Box<Self>>,
    /// How its nodes are made.
    pub recipe: Recipe<NodeOf<Q>>,
    /// Their invariants.
    pub guards: Vec<Guard<NodeOf<Q>>>,
    /// The names of its kinds of messages.
    pub kinds: Kinds,
    /// Whether it uses timers at all.
    pub sets_timers: bool,
    populate: Populate<Q>,
}

/// Says how nodes are made, if the set-up fits.
type Prepare<Q> = Arc<dyn Fn(&Setup) -> Result<Fresh<NodeOf<Q>>, Unfit> + Send + Sync>;

/// Makes all nodes of a group, with or without their invariants.
type Populate<Q> = Box<dyn Fn(&Setup, bool) -> Result<PopulationOf<Q>, Unfit> + Send + Sync>;

impl<Q: Problem> Entry<Q> {
    /// The algorithm itself: its population is compiled with its types, so that it is simulated as
    /// fast as can be. Without them its nodes are of the same type as those with a mistake.
    fn algorithm<P>(card: &'static Card<Q>, recipe: Recipe<P>) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let recipe = Arc::new(recipe);
        let typed = Arc::clone(&recipe);
        let populate: Populate<Q> = Box::new(move |setup, is_guarded| {
            let (size, fresh) = (setup.group.size(), typed.nodes(setup)?);
            let population = Population::erased_by(correct, size, fresh);
            let guards = if is_guarded { typed.invariants() } else { &[] };
            Ok(population.guarded(guards).into())
        });
        let guards = recipe.invariants().iter().map(guard_of_correct).collect();
        let nodes: Prepare<Q> = Arc::new(move |setup| {
            let node = recipe.nodes(setup)?;
            Ok(Arc::new(move |id| correct(node(id))))
        });
        let sets_timers = TypeId::of::<P::Timer>() != TypeId::of::<Never>();
        let kinds = (P::Message::KINDS, sets_timers);
        Self { populate, ..Self::of_any((card, None), nodes, guards, kinds) }
    }

    /// The algorithm with a mistake: how fast it is simulated matters less than that it is compiled
    /// as little as can be.
    fn flawed<P>(card: &'static Card<Q>, flaw: &'static str, recipe: Recipe<P>) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        Self::without_types(card, Some(flaw), Arc::new(recipe))
    }

    fn without_types<P>(
        card: &'static Card<Q>,
        flaw: Option<&'static str>,
        recipe: Arc<Recipe<P>>,
    ) -> Self
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        let guards = recipe.invariants().iter().map(AnyNode::guard).collect();
        let sets_timers = TypeId::of::<P::Timer>() != TypeId::of::<Never>();
        let nodes: Prepare<Q> = Arc::new(move |setup| {
            let node = recipe.nodes(setup)?;
            Ok(Arc::new(move |id| AnyNode::new(node(id))))
        });
        Self::of_any((card, flaw), nodes, guards, (P::Message::KINDS, sets_timers))
    }

    /// An entry of nodes that have lost their types. What does not depend on them is compiled once.
    fn of_any(
        (card, flaw): (&'static Card<Q>, Option<&'static str>),
        nodes: Prepare<Q>,
        guards: Vec<Guard<NodeOf<Q>>>,
        (kinds, sets_timers): (Kinds, bool),
    ) -> Self {
        let (fresh, all_guards) = (Arc::clone(&nodes), guards.clone());
        Self {
            card,
            flaw,
            remembering: None,
            guards,
            recipe: Recipe::new(move |setup| nodes(setup).map(|node| move |id| node(id))),
            kinds,
            sets_timers,
            populate: Box::new(move |setup, is_guarded| {
                let population = Population::of(setup.group.size(), fresh(setup)?);
                let guards = if is_guarded { &all_guards[..] } else { &[] };
                Ok(population.with_kinds(kinds).guarded(guards.iter().cloned()).into())
            }),
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

    /// The same for the simulator.
    ///
    /// # Errors
    ///
    /// If the set-up does not fit the algorithm.
    pub fn population(&self, setup: &Setup) -> Result<PopulationOf<Q>, Unfit> {
        (self.populate)(setup, false)
    }

    /// The same, with what holds of the nodes at every moment.
    ///
    /// # Errors
    ///
    /// If the set-up does not fit the algorithm.
    pub fn guarded_population(&self, setup: &Setup) -> Result<PopulationOf<Q>, Unfit> {
        (self.populate)(setup, true)
    }
}

/// A node without a mistake and without its type.
fn correct<P: Protocol>(node: P) -> AnyNode<P::Command, P::Notice> {
    AnyNode::new(Flawed::correct(node))
}

/// An invariant of nodes as one of [such](correct).
fn guard_of_correct<P: Protocol>(
    invariant: &Invariant<P>,
) -> Guard<AnyNode<P::Command, P::Notice>> {
    AnyNode::guard_inside(invariant, Flawed::<P>::node)
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

    /// An algorithm's nodes over reliable channels, from its own nodes, their invariants and the
    /// names of their kinds of messages.
    fn over_channels(
        inner: (Fresh<NodeOf<Self>>, Vec<Guard<NodeOf<Self>>>),
        kinds: Kinds,
        channels: Channels,
    ) -> Nodes<Self>;
}

macro_rules! catalogued {
    ($($problem:ty),*) => {$(
        impl Catalogued for $problem {
            fn entries() -> &'static [Entry<Self>] {
                static ENTRIES: LazyLock<Vec<Entry<$problem>>> = LazyLock::new(all);
                &ENTRIES
            }
            fn over_channels(
                inner: (Fresh<NodeOf<Self>>, Vec<Guard<NodeOf<Self>>>),
                kinds: Kinds,
                channels: Channels,
            ) -> Nodes<Self> {
                over_channels(inner, kinds, channels)
            }
        }
    )*};
}

catalogued!(Mutex, Election, Wave, Detection, Multicast, GroupCommunication);

/// The algorithm of that name, with that mistake if there is to be one.
///
/// # Errors
///
/// If there is none.
pub fn find<Q: Catalogued>(name: &str, flaw: Option<&str>) -> Result<&'static Entry<Q>, Unfit> {
    let found = Q::entries().iter().find(|it| it.card.name == name && it.flaw == flaw);
    found.ok_or_else(|| registry::unknown(name, flaw))
}

/// The problem-independent parts of all cards, problem by problem.
pub fn abouts() -> Vec<About> {
    let mut all = Vec::new();
    all.extend(cards::<Mutex>().into_iter().map(Card::about));
    all.extend(cards::<Election>().into_iter().map(Card::about));
    all.extend(cards::<Wave>().into_iter().map(Card::about));
    all.extend(cards::<Detection>().into_iter().map(Card::about));
    all.extend(cards::<Multicast>().into_iter().map(Card::about));
    all.extend(cards::<GroupCommunication>().into_iter().map(Card::about));
    all
}

/// The cards of all algorithms of a problem.
pub fn cards<Q: Catalogued>() -> Vec<&'static Card<Q>> {
    let correct = Q::entries().iter().filter(|entry| entry.flaw.is_none());
    correct.map(|entry| entry.card).collect()
}

fn all<Q: Listed>() -> Vec<Entry<Q>> {
    struct All<Q: Problem>(Vec<Entry<Q>>);

    impl<Q: Problem> Register<Q> for All<Q> {
        fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
            self.0.push(Entry::algorithm(card, recipe));
        }
        fn remembering<P>(&mut self, recipe: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
            let last = self.0.last_mut().expect("an algorithm is shown before its memory is");
            let remembering = Entry::without_types(last.card, last.flaw, Arc::new(recipe));
            last.remembering = Some(Box::new(remembering));
        }
        fn flaw<P>(&mut self, card: &'static Card<Q>, flaw: &'static str, recipe: Recipe<P>)
        where
            P: Protocol<Command = Q::Command, Notice = Q::Notice>,
        {
            self.0.push(Entry::flawed(card, flaw, recipe));
        }
    }

    let mut all = All(Vec::new());
    Q::register(&mut all);
    all.0
}
