//! What an algorithm says of itself: its source, what it assumes, and its theory as code.

use alloc::string::String;

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

    /// The flaw of that name.
    pub fn flaw(&self, name: &str) -> Option<&'static Flaw> {
        self.flaws.iter().find(|flaw| flaw.name == name)
    }
}

/// In which order messages from one node to another may arrive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// As they were sent.
    Fifo,
    /// In any order.
    Any,
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
}

/// What the theory depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// N, the number of nodes.
    pub nodes: u32,
    /// How busy they are.
    pub load: Load,
    /// E, the time inside, in units of T.
    pub hold: f64,
}

/// The two ends of every curve.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Load {
    /// One request at a time, from a node drawn at random.
    Light,
    /// Every node always wants in.
    Heavy,
}

/// A range of costs; exact where both ends are the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// At least this.
    pub low: f64,
    /// At most this.
    pub high: f64,
}

impl Span {
    /// A cost that is always the same.
    pub const fn exactly(cost: f64) -> Self {
        Self { low: cost, high: cost }
    }

    /// A cost from `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, high }
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
    /// The order of messages in the demonstration.
    pub order: Order,
    /// The property that it breaks.
    pub breaks: &'static str,
    /// How many steps the shortest run to it takes.
    pub steps: usize,
}
