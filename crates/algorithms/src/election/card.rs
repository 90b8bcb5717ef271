//! What an algorithm says of itself in the terms of elections, and its theory as code.

use crate::card::{Mistake, Span};

/// An algorithm's card.
pub type Card = crate::card::Card<Terms, Flaw>;

/// What an algorithm says of itself in the terms of elections.
#[derive(Debug)]
pub struct Terms {
    /// Costs, as functions.
    pub theory: Theory,
}

/// What the literature says that it costs. Times are in units of the one-way delay T.
#[derive(Debug)]
pub struct Theory {
    /// Messages, those to the dead included.
    pub messages: fn(&Setting) -> Span,
    /// From the first that asks to the last that is told.
    pub duration: fn(&Setting) -> Span,
}

/// What the theory depends on: one node asks, and the nodes above the highest that is up are down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// N, the number of nodes.
    pub nodes: u32,
    /// Who asks.
    pub initiator: u32,
    /// How many of the highest are down.
    pub dead: u32,
}

/// A mistake that the literature knows, and the smallest system that shows it.
#[derive(Debug)]
pub struct Flaw {
    /// How the command line calls it.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub what: &'static str,
    /// How many nodes there are in the demonstration.
    pub nodes: u32,
    /// Who asks.
    pub initiators: &'static [u32],
    /// How many nodes may crash.
    pub crashes: u8,
    /// The property that it breaks.
    pub breaks: &'static str,
    /// How many steps the shortest run to it takes.
    pub steps: usize,
}

impl Flaw {
    /// The mistake, without the system that shows it.
    pub const fn mistake(&self) -> Mistake {
        Mistake { name: self.name, what: self.what, breaks: self.breaks, steps: self.steps }
    }
}

impl Card {
    /// The flaw of that name.
    pub fn flaw(&self, name: &str) -> Option<&'static Flaw> {
        self.flaws.iter().find(|flaw| flaw.name == name)
    }
}
