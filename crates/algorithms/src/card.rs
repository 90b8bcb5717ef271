//! What an algorithm says of itself: its source, what it assumes, and its theory as code.

use alloc::string::String;

use vorrang_protocol::Group;
pub use vorrang_protocol::Order;

use crate::mutex::Claim;
use crate::mutex::spec::Admission;

/// An algorithm's card. Every algorithm's file ends its public part with one.
#[derive(Debug)]
pub struct Card {
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
    /// Known mistakes in it, for the checker to find.
    pub flaws: &'static [Flaw],
    /// The text of the algorithm's own file, whose module documentation [`Card::text`] returns.
    pub source: &'static str,
}

impl Card {
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

    /// How many nodes of a group ask, unless told otherwise.
    pub const fn contenders(&self, nodes: u32) -> u32 {
        if nodes > self.servers { nodes - self.servers } else { nodes }
    }

    /// The flaw of that name.
    pub fn flaw(&self, name: &str) -> Option<&'static Flaw> {
        self.flaws.iter().find(|flaw| flaw.name == name)
    }
}

/// What an algorithm needs to know before its nodes can be made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Setup {
    /// Who takes part.
    pub group: Group,
    /// How many may be inside together, where the algorithm asks.
    pub k: u32,
}

impl Setup {
    /// A group, and two inside together where the algorithm asks.
    pub const fn new(group: Group) -> Self {
        Self { group, k: 2 }
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
