//! The card of an algorithm for mutual exclusion.

use vorrang_protocol::{Needs, NodeId};

use super::spec::{Admission, BoundedBypass, Exclusion, HappenedBefore, Watch};
use super::{Claim, Mutex};
use crate::card::{Order, Quantity, Span};
use crate::setup::{Parameter, Setup};

/// An algorithm's card.
pub type Card = crate::card::Card<Mutex>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Mutex>;

/// The card of an algorithm for mutual exclusion.
#[derive(Debug)]
pub struct Terms {
    /// The claims that it grants.
    pub claims: &'static [Claim],
    /// Which claims may be inside together.
    pub admission: fn(&Setup) -> Admission,
    /// Its promises beyond exclusion and progress.
    pub promises: Promises,
    /// How many nodes, the last ones, only serve the others unless told to compete.
    pub servers: u32,
    /// Messages travel even without requests, so that the system never comes to rest: a run is over
    /// when all requests are served.
    pub perpetual: bool,
    /// The kinds of messages that carry a token: a node that receives one has it until it sends
    /// one. None if there is no token.
    pub tokens: &'static [&'static str],
    /// The nodes from which a request needs an answer before it can be granted, for reports about
    /// nodes that are gone.
    pub needs: fn(&Setup) -> Needs,
}

impl Terms {
    /// One at a time, exclusive claims, nothing promised beyond exclusion and progress, all nodes
    /// alike, at rest without requests, and any node may be needed by any other.
    pub const PLAIN: Self = Self {
        claims: &[Claim::Exclusive],
        admission: |_| Admission::One,
        promises: Promises::NONE,
        servers: 0,
        perpetual: false,
        tokens: &[],
        needs: |_| Needs::Anyone,
    };
}

/// Every other node, where each of them is asked.
pub const EVERYONE: fn(&Setup) -> Needs = |_| Needs::AllBut(0);
/// More than half of all nodes, itself included.
pub const MORE_THAN_HALF: fn(&Setup) -> Needs = |setup| Needs::AllBut((setup.group.size() - 1) / 2);
/// The last node, which serves the others.
pub const THE_LAST: fn(&Setup) -> Needs = |setup| Needs::One(NodeId(setup.group.size() - 1));
/// No node in particular, where the remaining ones detect that a node is gone.
pub const NOBODY: fn(&Setup) -> Needs = |_| Needs::Nobody;

/// The promises of an algorithm beyond exclusion and progress.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// A request that happened before another enters first.
    pub ordering: fn(&Setup) -> bool,
    /// A node that was told of a waiting request enters at most so often before it.
    pub bypass: Option<fn(&Setup) -> u32>,
    /// Of two requests the one with the lower stamp (t, i) enters first.
    pub stamps: bool,
}

impl Promises {
    /// None.
    pub const NONE: Self = Self { ordering: |_| false, bypass: None, stamps: false };
}

/// A bound on passing that is none, for set-ups of an algorithm that promise nothing.
pub const UNBOUNDED: u32 = u32::MAX;

/// The properties to check besides exclusion and progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Besides {
    /// A request that happened before another enters first.
    pub ordering: bool,
    /// A node that was told of a waiting request enters at most so often before it.
    pub bypass: Option<u32>,
    /// Of two requests the one with the lower stamp (t, i) enters first.
    pub stamps: bool,
}

impl Card {
    /// How many nodes of a group ask, unless told otherwise.
    pub const fn contenders(&self, nodes: u32) -> u32 {
        let servers = self.terms.servers;
        if nodes > servers { nodes - servers } else { nodes }
    }

    /// All that it promises besides exclusion and progress.
    pub fn promised(&self, setup: &Setup) -> Besides {
        let Promises { ordering, bypass, stamps } = self.terms.promises;
        let bypass = bypass.map(|bound| bound(setup)).filter(|&bound| bound < UNBOUNDED);
        Besides { ordering: ordering(setup), bypass, stamps }
    }

    /// The promises that a flaw breaks: its demonstration must check them.
    pub fn broken_by(&self, flaw: &Flaw, setup: &Setup) -> Besides {
        let promised = self.promised(setup);
        Besides {
            ordering: flaw.breaks == "ordering",
            bypass: promised.bypass.filter(|_| flaw.breaks == "no starvation"),
            stamps: false,
        }
    }

    /// The properties to check in a stepped run: all promises, and those that the flaw breaks.
    pub fn staged(&self, setup: &Setup, flaw: Option<&str>) -> Watch {
        let mut besides = self.promised(setup);
        if let Some(flaw) = flaw.and_then(|name| self.flaw(name)) {
            let broken = self.broken_by(flaw, setup);
            besides.ordering |= broken.ordering;
            besides.bypass = besides.bypass.or(broken.bypass);
        }
        self.watch(setup, besides)
    }

    /// Whether a node that is inside is alone, and another always waits if all nodes ask again and
    /// again: then the synchronisation delay and the stay decide the throughput.
    pub fn is_exclusive(&self, setup: &Setup, contenders: u32) -> bool {
        (self.terms.admission)(setup) == Admission::One && contenders > 1
    }

    /// Entries per T, under saturation.
    pub fn throughput(&self, at: &Setting) -> Option<Span> {
        let is_busy = at.load == Load::Heavy && self.is_exclusive(&at.setup, at.contenders);
        let delay = self.cost(SYNC_DELAY, at).filter(|_| is_busy)?;
        Some(throughput(delay, at.hold))
    }

    /// Exclusion and progress, as the algorithm means them.
    pub fn exclusion(&self, setup: &Setup) -> Exclusion {
        Exclusion::new((self.terms.admission)(setup))
    }

    /// Exclusion and progress, and the other properties to check.
    pub fn watch(&self, setup: &Setup, besides: Besides) -> Watch {
        let desks = setup.group.members().rev().take(self.terms.servers as usize).collect();
        let bypass = besides.bypass.map(|bound| BoundedBypass::new(bound, desks));
        (self.exclusion(setup), (besides.ordering.then(HappenedBefore::default), bypass))
    }
}

/// Messages between different nodes, per entry.
pub const MESSAGES: Quantity = Quantity::number("messages_per_entry", "messages per entry");
/// From one exit to the next entry while a request waits.
pub const SYNC_DELAY: Quantity = Quantity::time("sync_delay_mean", "synchronisation delay");
/// From the request to the exit.
pub const RESPONSE: Quantity = Quantity::time("response_mean", "response time");
/// Messages that the busiest node handles, sent plus received, per entry of anyone.
pub const BUSIEST: Quantity = Quantity::number("load_max_per_entry", "busiest node handles");

/// Entries per T, from the first exit to the last.
pub const THROUGHPUT: Quantity = Quantity::number("throughput", "throughput");

/// Entries per T where some node always waits and one is inside: one for every synchronisation
/// delay and stay, 1/(delay + E).
pub fn throughput(delay: Span, hold: f64) -> Span {
    let rate = |delay: f64| 1.0 / (delay + hold);
    let typical = delay.typical.map(rate).filter(|rate| rate.is_finite());
    Span { low: rate(delay.high), typical, high: rate(delay.low) }
}

/// The parameters of the theory.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// How many nodes ask at all.
    pub contenders: u32,
    /// How busy they are.
    pub load: Load,
    /// E, the time inside, in units of T.
    pub hold: f64,
}

impl Setting {
    /// This set-up under that load, all nodes asking but those that only serve, for a stay of T.
    pub fn new(card: &Card, setup: &Setup, load: Load) -> Self {
        let contenders = card.contenders(setup.group.size());
        Self { setup: setup.clone(), contenders, load, hold: 1.0 }
    }

    /// N, the number of nodes.
    pub const fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// N − 1, as costs want it.
    pub fn others(&self) -> f64 {
        f64::from(self.nodes() - 1)
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

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many requests each node makes; one number a node.
    pub entries: &'static [u32],
    /// The claims of the nodes; none if there is only one kind.
    pub claims: &'static [Claim],
    /// Nodes that never leave after their last entry.
    pub stay: &'static [u32],
    /// The order of messages.
    pub order: Order,
    /// The set-up, where the theory depends on it.
    pub given: &'static [(Parameter, &'static str)],
    /// How many nodes may crash.
    pub crashes: u8,
    /// How many may come up again.
    pub restarts: u8,
    /// How many messages may be lost.
    pub losses: u8,
}

impl Demonstration {
    /// Nodes that make so many requests each, on links that keep no order.
    pub const fn of(entries: &'static [u32]) -> Self {
        Self {
            entries,
            claims: &[],
            stay: &[],
            order: Order::Any,
            given: &[],
            crashes: 0,
            restarts: 0,
            losses: 0,
        }
    }

    /// The same on links that keep their order.
    #[must_use]
    pub const fn fifo(self) -> Self {
        Self { order: Order::Fifo, ..self }
    }

    /// The same with these claims, one a node.
    #[must_use]
    pub const fn claiming(self, claims: &'static [Claim]) -> Self {
        Self { claims, ..self }
    }

    /// The same, where so many nodes may crash, and so many come up again.
    #[must_use]
    pub const fn crashing(self, crashes: u8, restarts: u8) -> Self {
        Self { crashes, restarts, ..self }
    }

    /// The same, where so many messages may be lost.
    #[must_use]
    pub const fn losing(self, losses: u8) -> Self {
        Self { losses, ..self }
    }

    /// The same, set up like this.
    #[must_use]
    pub const fn given(self, given: &'static [(Parameter, &'static str)]) -> Self {
        Self { given, ..self }
    }

    /// The same, and these nodes never leave after their last entry.
    #[must_use]
    pub const fn staying(self, stay: &'static [u32]) -> Self {
        Self { stay, ..self }
    }
}
