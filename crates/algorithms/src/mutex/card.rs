//! What an algorithm says of itself in the terms of mutual exclusion, and its theory as code.

use super::Claim;
use super::spec::Admission;
use crate::card::{Mistake, Order, Setup, Span};

/// An algorithm's card.
pub type Card = crate::card::Card<Terms, Flaw>;

/// What an algorithm says of itself in the terms of mutual exclusion.
#[derive(Debug)]
pub struct Terms {
    /// The claims that it grants.
    pub claims: &'static [Claim],
    /// Who may be inside together.
    pub admission: fn(&Setup) -> Admission,
    /// What it promises beyond exclusion and progress.
    pub promises: Promises,
    /// How many nodes, the last ones, only serve the others unless told to compete.
    pub servers: u32,
    /// Costs, as functions.
    pub theory: Theory,
}

impl Card {
    /// How many nodes of a group ask, unless told otherwise.
    pub const fn contenders(&self, nodes: u32) -> u32 {
        let servers = self.terms.servers;
        if nodes > servers { nodes - servers } else { nodes }
    }

    /// The flaw of that name.
    pub fn flaw(&self, name: &str) -> Option<&'static Flaw> {
        self.flaws.iter().find(|flaw| flaw.name == name)
    }
}

impl Flaw {
    /// The mistake, without the system that shows it.
    pub const fn mistake(&self) -> Mistake {
        Mistake { name: self.name, what: self.what, breaks: self.breaks, steps: self.steps }
    }
}

/// What an algorithm promises beyond exclusion and progress.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Promises {
    /// A request that happened before another enters first.
    pub ordering: bool,
    /// A node that knows of a waiting request enters at most so often before it.
    pub bypass: Option<u32>,
}

/// What the literature says that it costs, in units of the one-way delay T.
#[derive(Debug)]
pub struct Theory {
    /// Messages between different nodes, per entry.
    pub messages: fn(&Setting) -> Span,
    /// From one exit to the next entry while somebody waits.
    pub sync_delay: fn(&Setting) -> Span,
    /// From the request to the exit.
    pub response: fn(&Setting) -> Span,
    /// Messages that the busiest node handles, sent plus received, per entry of anyone.
    pub busiest: fn(&Setting) -> Span,
}

/// What the theory depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// N, the number of nodes.
    pub nodes: u32,
    /// How many of them ask at all.
    pub contenders: u32,
    /// How many may be inside together, where the algorithm asks.
    pub k: u32,
    /// How busy they are.
    pub load: Load,
    /// E, the time inside, in units of T.
    pub hold: f64,
}

impl Setting {
    /// So many nodes under that load, all of them asking but those that only serve, staying no
    /// time.
    pub fn new(card: &Card, nodes: u32, load: Load) -> Self {
        Self { nodes, contenders: card.contenders(nodes), k: 2, load, hold: 0.0 }
    }
}

/// The two ends of every curve.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Load {
    /// One request at a time, from a node drawn at random.
    Light,
    /// Every node always wants in.
    Heavy,
}

/// A mistake that the literature knows, and the smallest system that shows it.
#[derive(Debug)]
pub struct Flaw {
    /// How the command line calls it.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub what: &'static str,
    /// How many requests each node makes in the demonstration; one number a node.
    pub entries: &'static [u32],
    /// The claims of the nodes in the demonstration; none if there is only one kind.
    pub claims: &'static [Claim],
    /// Nodes that never leave after their last entry in the demonstration.
    pub stay: &'static [u32],
    /// The order of messages in the demonstration.
    pub order: Order,
    /// The property that it breaks.
    pub breaks: &'static str,
    /// How many steps the shortest run to it takes.
    pub steps: usize,
}
