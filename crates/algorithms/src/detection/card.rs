//! The card of a failure detector.

use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::NodeId;

use super::Detection;
use super::spec::Suspicions;
use crate::card::Quantity;
use crate::setup::{Parameter, Setup};

/// An algorithm's card.
pub type Card = crate::card::Card<Detection>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Detection>;

/// The card of a failure detector.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How often a node may at most suspect another that is up in a run of this length (of any, if
    /// none is given), if a message takes so long at most, and so much longer than another; none if
    /// there is no saying.
    pub mistakes: fn(&Setup, Jitter, Option<Duration>) -> Option<u32>,
    /// The detection time: how long after a crash all suspect the node at the latest, if a message
    /// takes so long at most and there were at most so many false suspicions before; any number, if
    /// none is given.
    pub detects: fn(&Setup, Duration, Option<u32>) -> Duration,
}

impl Card {
    /// The monitor of its promises, if no message takes longer than this.
    pub fn watch(&self, setup: &Setup, within: Option<Duration>) -> Suspicions {
        let jitter = within.map(|longest| Jitter { longest, spread: longest });
        let allowed = jitter.and_then(|it| (self.terms.mistakes)(setup, it, None));
        Suspicions::new(setup.group, allowed)
    }
}

/// How long messages take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jitter {
    /// At most.
    pub longest: Duration,
    /// One longer than another, at most.
    pub spread: Duration,
}

/// Messages.
pub const MESSAGES: Quantity = Quantity::number("messages", "messages");
/// How often a node suspected another that was up.
pub const MISTAKES: Quantity = Quantity::number("mistakes", "mistakes");
/// From a crash until a node that is up suspects it and goes on to, on average.
pub const DETECTION: Quantity = Quantity::time("detection_mean", "detection time");

/// The parameters of the theory: nodes that crash and stay down, and no other faults.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// How long it is watched.
    pub lasts: Duration,
    /// How long messages take, if there is a bound.
    pub jitter: Option<Jitter>,
    /// The nodes that crash, and when.
    pub crashes: Vec<(NodeId, Duration)>,
}

impl Setting {
    /// N, the number of nodes.
    pub const fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// How long every message takes, if all take the same time.
    pub fn constant(&self) -> Option<Duration> {
        self.jitter.filter(|it| it.spread.is_zero()).map(|it| it.longest)
    }
}

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many nodes there are.
    pub nodes: u32,
    /// How many of them may crash.
    pub crashes: u8,
    /// How many of these may come up again.
    pub restarts: u8,
    /// The set-up, where the theory depends on it.
    pub given: &'static [(Parameter, &'static str)],
}

impl Demonstration {
    /// So many nodes, of which so many may crash.
    pub const fn of(nodes: u32, crashes: u8) -> Self {
        Self { nodes, crashes, restarts: 0, given: &[] }
    }

    /// The same, with so many that come up again.
    #[must_use]
    pub const fn restarting(self, restarts: u8) -> Self {
        Self { restarts, ..self }
    }

    /// The same, set up like this.
    #[must_use]
    pub const fn given(self, given: &'static [(Parameter, &'static str)]) -> Self {
        Self { given, ..self }
    }
}
