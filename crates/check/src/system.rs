//! The system under check: nodes, plans of their applications, and properties.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use vorrang_protocol::{Graph, Guard, NodeId, Order, Protocol};

use crate::plan::Plan;

/// A closed system: nothing happens in it but what its nodes, its plan and its faults do.
#[derive(Clone, Debug)]
pub struct System<P: Protocol, M> {
    /// The nodes as they are before they start; node `i` is the one at place `i`.
    pub nodes: Vec<P>,
    /// The plan of the applications.
    pub plan: Plan<P::Command>,
    /// The monitor.
    pub monitor: M,
    /// The links.
    pub links: Links,
    /// The budget of faults.
    pub faults: Faults,
    /// Further properties.
    pub demands: Demands<P>,
}

/// The properties of a system besides those of its monitor, and what progress may count on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Demands<P: Protocol> {
    /// The liveness property to check.
    pub liveness: Liveness,
    /// The invariants.
    pub invariants: Vec<Guard<P>>,
    /// What nodes are told again and again, once one has come up again after a crash: see
    /// [`beating`](Self::beating).
    pub beat: Option<P::Command>,
    /// The communication graph: a message between other nodes is a mistake of the algorithm.
    /// Complete if there is none.
    pub graph: Option<Arc<Graph>>,
}

impl<P: Protocol> Default for Demands<P> {
    fn default() -> Self {
        Self { liveness: Liveness::default(), invariants: Vec::new(), beat: None, graph: None }
    }
}

impl<P: Protocol> Demands<P> {
    /// The same, with this meaning of progress.
    #[must_use]
    pub fn liveness(self, liveness: Liveness) -> Self {
        Self { liveness, ..self }
    }

    /// The same, and these hold in every state.
    #[must_use]
    pub fn invariants(mut self, more: impl IntoIterator<Item = impl Into<Guard<P>>>) -> Self {
        self.invariants.extend(more.into_iter().map(Into::into));
        self
    }

    /// The same, in which all nodes that are up are told this again and again, in any order,
    /// once one has come up again: such as that it is time for a heartbeat. While a node was down
    /// it may have missed what others would repeat.
    ///
    /// It is bound to happen, but only when nothing else is: no message is in flight, no timer
    /// armed, and no application has to go on. So a heartbeat is never late, nor are there several
    /// at a time; and progress is judged as if everything that is repeated arrived at last.
    #[must_use]
    pub fn beating(self, beat: impl Into<Option<P::Command>>) -> Self {
        Self { beat: beat.into(), ..self }
    }

    /// The same, and only those send to each other that are linked, if not all are.
    #[must_use]
    pub fn graph(self, graph: impl Into<Option<Graph>>) -> Self {
        Self { graph: graph.into().map(Arc::new), ..self }
    }
}

/// How it is checked that [obligations](vorrang_protocol::Monitor::obligations) are fulfilled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Liveness {
    /// From every state in which it is owed, a state can be reached in which it is not: by messages
    /// that arrive, timers that run out and commands that are bound to be given, and without
    /// anything going wrong and any application asking for more. Coins fall as they need to.
    #[default]
    Possible,
    /// Besides, it comes in every fair run. A run is fair if every message arrives, every timer
    /// that may run out does unless it is set again or cancelled, and every command that is bound
    /// to be given is: weak fairness for each link that keeps its order, for each message on
    /// others, for each timer and for each list of the plan. Coins fall as badly as they can.
    Fair,
}

impl<P: Protocol, M> System<P, M> {
    /// A system in which messages arrive in any order, some time, and nothing goes wrong.
    pub fn new(nodes: Vec<P>, plan: Plan<P::Command>, monitor: M) -> Self {
        let links = Links { order: Order::Any, within: None };
        Self { nodes, plan, monitor, links, faults: Faults::NONE, demands: Demands::default() }
    }

    /// The same, with such links.
    #[must_use]
    pub fn links(self, links: impl Into<Links>) -> Self {
        Self { links: links.into(), ..self }
    }

    /// The same, in which so much may go wrong.
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Whether states are compared up to a shift of counters: where somebody asks for ever, nodes
    /// declare any, and nothing counts from 0 again as after a crash or is told apart by when it
    /// was sent.
    pub(crate) fn shifts(&self) -> bool {
        let counts = |node: &P| {
            let mut counts = false;
            node.clone().counters(&mut |_, _| counts = true);
            counts
        };
        self.plan.goes_on_for_ever()
            && self.faults.crashes == 0
            && self.links.within.is_none()
            && self.nodes.iter().any(counts)
    }
}

/// How messages travel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Links {
    /// In which order messages from one node to another arrive.
    pub order: Order,
    /// How long a message takes at most, and with it how time passes.
    ///
    /// Without a bound the system is *asynchronous*: no time-out can tell a late message from a
    /// lost one, nodes may be slow, and their clocks run at any speed. A timer may run out at any
    /// moment, but after those that its own node set before it, or together with it, with longest
    /// delays that are no more than its shortest.
    ///
    /// With a bound it is *timely*: clocks run at the same rate, all nodes start together, steps
    /// take no time, and a message, as well as its duplicate, arrives within the bound of its
    /// sending. A time-out that is longer than the bound of a pending event does not run out before
    /// it. Events at the same instant are followed in every order, but a message is assumed to come
    /// before a timer, and of one node's timers the one that was set first. Some runs are followed
    /// that no clock allows; none is left out that a clock allows.
    pub within: Option<Duration>,
}

impl Links {
    /// The same links, on which a message takes at most so long.
    #[must_use]
    pub fn within(self, delay: impl Into<Option<Duration>>) -> Self {
        Self { within: delay.into(), ..self }
    }
}

impl From<Order> for Links {
    /// Messages arrive some time.
    fn from(order: Order) -> Self {
        Self { order, within: None }
    }
}

/// How much may go wrong, in all: every run with at most so many faults is followed, each at every
/// moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Faults {
    /// Crashes, each between two steps.
    pub crashes: u8,
    /// Crashed nodes that come up again.
    pub restarts: u8,
    /// Messages that are lost.
    pub losses: u8,
    /// Messages that arrive once more.
    pub duplicates: u8,
    /// Whether a crash may take along what the node has sent and has not arrived: on links that
    /// keep
    /// their order all from some message on, as on connections, and on others any of it. Not
    /// counted
    /// as losses.
    pub severing: bool,
    /// The nodes that never crash, one a bit.
    pub spared: u64,
}

/// The spared nodes are the same in all states of a system, as long as any may crash.
impl Hash for Faults {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { crashes, restarts, losses, duplicates, severing, spared: _ } = self;
        (crashes, restarts, losses, duplicates, severing).hash(hasher);
    }
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self =
        Self { crashes: 0, restarts: 0, losses: 0, duplicates: 0, severing: false, spared: 0 };

    /// The same, with at most so many crashes.
    #[must_use]
    pub const fn crashes(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    /// The same, with at most so many nodes that come up again.
    #[must_use]
    pub const fn restarts(self, restarts: u8) -> Self {
        Self { restarts, ..self }
    }

    /// The same, with at most so many messages lost.
    #[must_use]
    pub const fn losses(self, losses: u8) -> Self {
        Self { losses, ..self }
    }

    /// The same, with at most so many messages that come twice.
    #[must_use]
    pub const fn duplicates(self, duplicates: u8) -> Self {
        Self { duplicates, ..self }
    }

    /// The same, in which a crash may lose messages of the node that are in flight.
    #[must_use]
    pub const fn severing(self, severing: bool) -> Self {
        Self { severing, ..self }
    }

    /// The same, in which these nodes, each below 64, never crash.
    #[must_use]
    pub fn sparing(self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let spared = nodes.into_iter().fold(self.spared, |all, id| all | 1 << (id.0 % u64::BITS));
        Self { spared, ..self }
    }

    /// Whether a node may crash.
    pub(crate) const fn may_strike(&self, node: NodeId) -> bool {
        self.crashes > 0 && (node.0 >= u64::BITS || self.spared >> node.0 & 1 == 0)
    }

    /// The same, without what cannot happen if so many nodes are down: no more can come up again
    /// than are down or yet to crash, and what the dead have sent is lost only where some are. So
    /// states with the same future look the same.
    pub(crate) fn within_reach(self, down: u32) -> Self {
        let most = u32::from(self.crashes) + down;
        Self {
            restarts: u32::from(self.restarts).min(most) as u8,
            severing: self.severing && most > 0,
            spared: if self.crashes > 0 { self.spared } else { 0 },
            ..self
        }
    }
}
