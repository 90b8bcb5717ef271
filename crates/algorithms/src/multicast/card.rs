//! The card of a multicast algorithm.

use core::time::Duration;

use super::Multicast;
use super::spec::Deliveries;
use crate::card::{Quantity, Span};
use crate::setup::{Ordering, Parameter, Setup};

/// An algorithm's card.
pub type Card = crate::card::Card<Multicast>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Multicast>;

/// The card of a multicast algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The kinds of messages that carry what applications say; all others are control.
    pub data: &'static [&'static str],
    /// How often each member speaks in a check, if nothing is said: as much as can be exhausted.
    pub checked: &'static [u32],
}

/// The parameters of all algorithms.
pub(super) const TAKES: &[Parameter] = &[
    Parameter::Topology,
    Parameter::Within,
    Parameter::Window,
    Parameter::Tries,
    Parameter::Ordering,
];

/// Control messages for every message of an application, in all.
pub const CONTROL: Quantity = Quantity::number("control_per_multicast", "control per multicast");
/// Control messages that one member receives for every message of an application, at most.
pub const IMPLOSION: Quantity =
    Quantity::number("busiest_control_per_multicast", "of that to one member");
/// Requests for every message that was lost, however many members missed it.
pub const REQUESTS: Quantity = Quantity::number("requests_per_loss", "requests per loss");
/// From when an application speaks until another is told, on average.
pub const LATENCY: Quantity = Quantity::time("latency_mean", "latency");

/// The parameters of the theory.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// The share of all messages that is lost, each by itself.
    pub loss: f64,
    /// How many members speak.
    pub senders: u32,
    /// Every member is as far from every other.
    pub is_complete: bool,
}

impl Setting {
    /// N, the number of members.
    pub const fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// The latency of a multicast without losses and with a window that is not full: longer where
    /// other members must be heard first.
    pub fn latency(&self) -> Span {
        match (self.setup.ordering, self.loss > 0.0 || !self.is_complete) {
            (_, true) => Span::between(0.0, f64::INFINITY),
            (Ordering::Fifo, false) => Span::exactly(1.0),
            // A message that arrives first may arrive too early.
            (Ordering::Causal, false) => Span::between(1.0, 2.0),
            (_, false) => Span::between(1.0, f64::INFINITY),
        }
    }

    /// The cost of an ordering for a message, given the cost of a carrier for every body without
    /// loss, and on average with it.
    pub(super) fn control(&self, without: Span, with: f64) -> Span {
        let others = f64::from(self.nodes()) - 1.0;
        let is_lossy = self.loss > 0.0;
        // Bodies for a message, letters, and whether it is so for every message.
        let (bodies, letters, is_exact) = match self.setup.ordering {
            Ordering::Fifo | Ordering::Causal => (1.0, 0.0, true),
            Ordering::Skeen => (2.0, others, true),
            Ordering::Sequencer => (2.0, 0.0, false),
            Ordering::Lamport => (others + 1.0, 0.0, false),
            Ordering::Token => (1.0, f64::INFINITY, false),
        };
        // Every letter has its receipt.
        let beside = (bodies - 1.0) * others + 2.0 * letters;
        let most = if is_lossy { f64::INFINITY } else { bodies * without.high + beside };
        let plain = !self.setup.ordering.is_total();
        if is_exact && !is_lossy {
            let low = bodies * without.low + beside;
            return if low < most { Span::between(low, most) } else { Span::exactly(most) };
        }
        let low = if is_exact { bodies * without.low + beside } else { without.low };
        if plain && is_lossy && with.is_finite() {
            return Span::between(0.0, most).typically(with);
        }
        Span::between(if is_lossy { 0.0 } else { low }, most)
    }
}

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How often each member speaks.
    pub casts: &'static [u32],
    /// How many messages may be lost.
    pub losses: u8,
    /// How many messages may arrive twice.
    pub duplicates: u8,
    /// How many members may crash.
    pub crashes: u8,
    /// How many of those may come up again.
    pub restarts: u8,
    /// How long a message takes at most, if that is less than the algorithm assumes: fewer things
    /// are then under way at once.
    pub timely: Option<Duration>,
    /// The set-up, where the theory depends on it.
    pub given: &'static [(Parameter, &'static str)],
}

impl Demonstration {
    /// Members that speak so often.
    pub const fn of(casts: &'static [u32]) -> Self {
        Self { casts, losses: 0, duplicates: 0, crashes: 0, restarts: 0, timely: None, given: &[] }
    }

    /// The same, with so many losses.
    #[must_use]
    pub const fn losing(self, losses: u8) -> Self {
        Self { losses, ..self }
    }

    /// The same, with so many messages that arrive twice.
    #[must_use]
    pub const fn doubling(self, duplicates: u8) -> Self {
        Self { duplicates, ..self }
    }

    /// The same, with so many crashes.
    #[must_use]
    pub const fn crashing(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    /// The same, with so many restarts.
    #[must_use]
    pub const fn restarting(self, restarts: u8) -> Self {
        Self { restarts, ..self }
    }

    /// The same, with messages that take no longer than this.
    #[must_use]
    pub const fn timely(self, within: Duration) -> Self {
        Self { timely: Some(within), ..self }
    }

    /// The same, set up like this.
    #[must_use]
    pub const fn given(self, given: &'static [(Parameter, &'static str)]) -> Self {
        Self { given, ..self }
    }
}

impl Card {
    /// The monitor of its promises.
    pub fn watch(&self, setup: &Setup) -> Deliveries {
        Deliveries::new(setup.group, setup.ordering)
            .keeping(setup.history)
            .of_incarnations(setup.tries.is_some())
    }
}
