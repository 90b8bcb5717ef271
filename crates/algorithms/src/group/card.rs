//! What an algorithm says of itself in the terms of group communication.

use core::time::Duration;

use super::Grouping;
use super::spec::Synchrony;
use crate::card::Quantity;
use crate::setup::Setup;

/// An algorithm's card.
pub type Card = crate::card::Card<Grouping>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Grouping>;

/// What an algorithm says of itself in the terms of group communication.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long after the last fault all that can hear each other are in one view with all
    /// messages, if the time-outs have not been lengthened by mistakes.
    pub settles: fn(&Setup) -> Duration,
}

impl Card {
    /// What must hold of it, where all nodes have founded the group.
    pub fn watch(&self, setup: &Setup) -> Synchrony {
        Synchrony::new(setup.group, setup.group.members())
    }
}

/// Messages, but for those that only say that somebody is up.
pub const MESSAGES: Quantity = Quantity::number("messages", "messages");

/// What the theory depends on: all nodes are members, and nothing goes wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// How many messages the lowest node multicasts.
    pub by_sequencer: u32,
    /// How many the others do.
    pub by_others: u32,
}

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many nodes there are.
    pub nodes: u32,
    /// How many of them may crash.
    pub crashes: u8,
}
