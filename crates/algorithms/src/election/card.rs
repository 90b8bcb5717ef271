//! What an algorithm says of itself in the terms of elections.

use super::Election;
use crate::card::Quantity;

/// An algorithm's card.
pub type Card = crate::card::Card<Election>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Election>;

/// What an algorithm says of itself in the terms of elections: nothing so far. All that there are
/// elect the highest node that is up.
#[derive(Debug)]
pub struct Terms;

/// Messages, those to the dead included.
pub const MESSAGES: Quantity = Quantity::number("messages", "messages");
/// From the first that asks to the last that is told.
pub const DURATION: Quantity = Quantity::time("duration", "duration");

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

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many nodes there are.
    pub nodes: u32,
    /// Who asks.
    pub initiators: &'static [u32],
    /// How many nodes may crash.
    pub crashes: u8,
}
