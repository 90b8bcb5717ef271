//! What goes wrong: messages that are lost or come twice, nodes that crash and come up again.
//!
//! Faults are drawn from a generator of their own, so that they leave all other draws as they are:
//! a run in which message 17 was lost by chance is the run in which message 17 is lost on order.

use std::fmt;
use std::str::FromStr;

use vorrang_protocol::NodeId;

use crate::Random;

/// What goes wrong in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// What happens at which time, in nanoseconds.
    pub script: Vec<(u64, Fault)>,
    /// How many messages are lost.
    pub loss: Share,
    /// How many messages arrive twice.
    pub duplication: Share,
    /// Messages that are lost on order, by their number.
    pub lost: Vec<u64>,
}

/// What can happen to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// It forgets all that it does not keep, and hears nothing.
    Crash(NodeId),
    /// It comes up again.
    Restart(NodeId),
}

/// A probability, in parts of 2⁶⁴.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Share(u64);

impl Share {
    /// Whether a draw falls into it. Nothing is drawn for a share of nothing.
    fn draw(self, random: &mut Random) -> bool {
        self.0 > 0 && random.below(u64::MAX) < self.0
    }
}

/// Reads `1%`, `0.1%` or `0.01`.
impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 0.01),
            None => (text, 1.0),
        };
        let wrong = || format!("'{text}' is not a share: write 1%, 0.1% or 0.01");
        let share = number.parse::<f64>().map_err(|_| wrong())? * scale;
        if !(0.0..=1.0).contains(&share) {
            return Err(wrong());
        }
        Ok(Self((share * u64::MAX as f64) as u64))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 as f64 / u64::MAX as f64 * 100.0)
    }
}

/// How often which fault really happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "each is a number of what it is called")]
pub struct FaultCounts {
    pub crashes: u64,
    pub restarts: u64,
    pub lost: u64,
    pub duplicated: u64,
    /// Messages that arrived at a node that was down.
    pub to_the_dead: u64,
}

/// The faults of a run under way.
#[derive(Debug)]
pub(crate) struct Weather {
    pub(crate) plan: Faults,
    random: Random,
    pub(crate) counts: FaultCounts,
    down: Vec<bool>,
    /// For each node, the number of the first event that is not of an earlier life.
    born: Vec<u64>,
}

/// What becomes of a message.
pub(crate) enum Fate {
    Arrives,
    Lost,
    ArrivesTwice,
}

impl Weather {
    pub(crate) fn new(plan: Faults, nodes: usize, seed: u64) -> Self {
        // Another generator than the one of all other draws, decided by the same seed.
        let random = Random::new(seed ^ 0x5dee_ce66_d154_21c5);
        let counts = FaultCounts::default();
        Self { plan, random, counts, down: vec![false; nodes], born: vec![0; nodes] }
    }

    pub(crate) fn fate(&mut self, seq: u64) -> Fate {
        if self.plan.loss.draw(&mut self.random) || self.plan.lost.contains(&seq) {
            self.counts.lost += 1;
            Fate::Lost
        } else if self.plan.duplication.draw(&mut self.random) {
            self.counts.duplicated += 1;
            Fate::ArrivesTwice
        } else {
            Fate::Arrives
        }
    }

    pub(crate) fn is_down(&self, node: NodeId) -> bool {
        self.down[node.index()]
    }

    /// Whether what was planned as event `number` was planned in an earlier life of the node.
    pub(crate) fn is_stale(&self, node: NodeId, number: u64) -> bool {
        self.is_down(node) || number < self.born[node.index()]
    }

    /// A node crashes; false if it was down.
    pub(crate) fn crash(&mut self, node: NodeId, next_number: u64) -> bool {
        let was_up = !self.is_down(node);
        self.down[node.index()] = true;
        self.born[node.index()] = next_number;
        self.counts.crashes += u64::from(was_up);
        was_up
    }

    /// A node comes up again; false if it was up.
    pub(crate) fn restart(&mut self, node: NodeId) -> bool {
        let was_down = self.is_down(node);
        self.down[node.index()] = false;
        self.counts.restarts += u64::from(was_down);
        was_down
    }
}
