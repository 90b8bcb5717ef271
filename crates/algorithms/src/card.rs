//! What an algorithm says of itself, whatever it solves: its source, what it assumes, its mistakes.

use alloc::string::String;
use core::time::Duration;

use vorrang_protocol::Group;
pub use vorrang_protocol::Order;

/// An algorithm's card: what can be said of any algorithm, and what only its problem has terms for.
/// Every algorithm's file ends its public part with one.
#[derive(Debug)]
pub struct Card<T: 'static, F: 'static> {
    /// How the command line calls it.
    pub name: &'static str,
    /// How people call it.
    pub title: &'static str,
    /// What it solves.
    pub problem: &'static str,
    /// Who published it, where and when.
    pub citation: &'static str,
    /// The order of messages that it needs between two nodes.
    pub order: Order,
    /// Whether it needs to know how long a message takes at most.
    pub timely: bool,
    /// What it says of itself in the terms of its problem.
    pub terms: T,
    /// Known mistakes in it, for the checker to find.
    pub flaws: &'static [F],
    /// The text of the algorithm's own file, whose module documentation [`About::text`] returns.
    pub source: &'static str,
}

impl<T, F> Card<T, F> {
    /// What can be said of it without the terms of its problem.
    pub const fn about(&self) -> About {
        About {
            name: self.name,
            title: self.title,
            problem: self.problem,
            citation: self.citation,
            order: self.order,
            timely: self.timely,
            source: self.source,
        }
    }
}

/// A card without what only its problem has terms for.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as on the card")]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    pub problem: &'static str,
    pub citation: &'static str,
    pub order: Order,
    pub timely: bool,
    pub source: &'static str,
}

impl About {
    /// The module documentation of the algorithm's file: the explanation that readers of the code,
    /// of the API documentation and of `vorrang explain` share.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in self.source.lines().map_while(|line| line.strip_prefix("//!")) {
            text.push_str(line.strip_prefix(' ').unwrap_or(line));
            text.push('\n');
        }
        text
    }
}

/// A mistake, without the system that shows it.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// How the command line calls it.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub what: &'static str,
    /// The property that it breaks.
    pub breaks: &'static str,
    /// How many steps the shortest run to it takes.
    pub steps: usize,
}

/// What an algorithm needs to know before its nodes can be made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Setup {
    /// Who takes part.
    pub group: Group,
    /// How many may be inside together, where the algorithm asks.
    pub k: u32,
    /// How long a message takes at most, where the algorithm has time-outs.
    pub within: Duration,
}

impl Setup {
    /// A group, and two inside together and a millisecond for a message where the algorithm asks.
    pub const fn new(group: Group) -> Self {
        Self { group, k: 2, within: Duration::from_millis(1) }
    }
}

/// A range of costs: at best, typically, at worst. Exact where all are the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// At least this.
    pub low: f64,
    /// What a long run comes to, where that is known.
    pub typical: Option<f64>,
    /// At most this.
    pub high: f64,
}

impl Span {
    /// A cost that is always the same.
    pub const fn exactly(cost: f64) -> Self {
        Self { low: cost, typical: Some(cost), high: cost }
    }

    /// A cost from `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, typical: None, high }
    }

    /// This range, with what a long run comes to.
    #[must_use]
    pub const fn typically(mut self, cost: f64) -> Self {
        self.typical = Some(cost);
        self
    }

    /// The costs that lie between this one and another.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self::between(self.low.min(other.low), self.high.max(other.high))
    }

    /// Whether a measured mean agrees, up to the rounding of floating-point sums.
    pub fn agrees_with(&self, measured: f64) -> bool {
        const ROUNDING: f64 = 1e-9;
        let slack = ROUNDING * self.high.max(1.0);
        self.low - slack <= measured && measured <= self.high + slack
    }
}
