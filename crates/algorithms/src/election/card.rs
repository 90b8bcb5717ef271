//! The card of an election algorithm.

use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{NodeId, NodeSet};

use super::Election;
use super::spec::{Leadership, Promise};
use crate::card::Quantity;
use crate::setup::{Parameter, Setup};

/// An algorithm's card.
pub type Card = crate::card::Card<Election>;

/// A mistake in an algorithm.
pub type Flaw = crate::card::Flaw<Election>;

/// The card of an election algorithm.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each can be said of an algorithm by itself")]
pub struct Terms {
    /// The highest node that is up wins. Without this, just one does.
    pub highest: bool,
    /// Nodes may crash and come up again.
    pub crashes: bool,
    /// It takes a majority of all nodes: any smaller number of them has no leader.
    pub majority: bool,
    /// It begins with something that all nodes notice, so that all of them call.
    pub everyone_calls: bool,
    /// Its links are cables that can be plugged in and unplugged, which both ends notice.
    pub hot_plug: bool,
    /// It may take as many messages as the square of the number of nodes.
    pub quadratic: bool,
    /// Kinds of messages that are acknowledgements or heartbeats. The literature does not count
    /// them: what it counts stands beside the total ([`COUNTED`]).
    pub receipts: &'static [&'static str],
    /// The literature lets a node see which others are down, and so counts no message to those.
    pub sees_crashes: bool,
    /// Where messages go on for ever: how long after the last fault all follow one leader.
    pub settles: Option<fn(&Setup) -> Duration>,
}

impl Terms {
    /// The highest live node wins, nodes may crash, any node may call, and if all do it costs the
    /// square.
    pub const PLAIN: Self = Self {
        highest: true,
        crashes: true,
        majority: false,
        everyone_calls: false,
        hot_plug: false,
        quadratic: true,
        receipts: &[],
        sees_crashes: false,
        settles: None,
    };
}

impl Card {
    /// The monitor of its promises: fewer where messages are late that it assumes to be timely.
    pub fn watch(&self, setup: &Setup, is_timely: bool) -> Leadership {
        let promise = match (self.terms.highest, is_timely || !self.assumes.timely) {
            (true, true) => Promise::Highest,
            (true, false) => Promise::HighestAtLast,
            (false, _) => Promise::One,
        };
        let mut watch = Leadership::new(setup.group, promise);
        if self.terms.settles.is_some() {
            watch = watch.watching();
        }
        // A set-up without a tree is refused by the algorithm.
        if let (true, Ok(tree)) = (self.terms.hot_plug, setup.topology.tree(setup.group)) {
            watch = watch.on_cables(&tree);
        }
        if self.terms.everyone_calls { watch.once_all_call() } else { watch }
    }
}

/// All messages, those to the dead and receipts included.
pub const MESSAGES: Quantity = Quantity::number("messages", "messages");
/// Those of them that the literature counts: no receipts and, where it lets a node see which others
/// are down, none to the dead.
pub const COUNTED: Quantity = Quantity::number("messages_counted", "messages as in textbooks");
/// From the first that asks to the last that is told.
pub const DURATION: Quantity = Quantity::time("duration", "duration");

/// The parameters of the theory: nodes that are down from the beginning, and nodes that call when
/// the run begins.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// How the algorithm is set up.
    pub setup: Setup,
    /// The callers, lowest first; at least one.
    pub initiators: Vec<NodeId>,
    /// The nodes that are down.
    pub dead: NodeSet,
    /// Whether every message takes as long as the algorithm believes that messages take at most.
    pub lockstep: bool,
}

impl Setting {
    /// N, the number of nodes.
    pub const fn nodes(&self) -> u32 {
        self.setup.group.size()
    }

    /// Whether a node is up.
    pub fn is_up(&self, id: NodeId) -> bool {
        !self.dead.contains(id)
    }

    /// The nodes that are up, lowest first.
    pub fn up(&self) -> impl DoubleEndedIterator<Item = NodeId> {
        self.setup.group.members().filter(|&id| self.is_up(id))
    }

    /// How many nodes are up.
    pub fn alive(&self) -> u32 {
        self.nodes() - self.dead.len() as u32
    }

    /// A time of the set-up, in units of T.
    pub fn in_units(&self, time: Duration) -> f64 {
        time.as_nanos() as f64 / self.setup.within.as_nanos() as f64
    }
}

/// The smallest system that shows a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// How many nodes there are.
    pub nodes: u32,
    /// The callers; all if the list is empty.
    pub initiators: &'static [u32],
    /// How often each of them calls.
    pub calls: u32,
    /// How many nodes may crash.
    pub crashes: u8,
    /// How many of them may come up again.
    pub restarts: u8,
    /// Whether it takes a run that goes on for ever although all that is bound to happen does.
    pub fair: bool,
    /// The cables that are unplugged, and then those that are plugged in again, as they are typed.
    pub cables: [&'static str; 2],
    /// The set-up, where the theory depends on it.
    pub given: &'static [(Parameter, &'static str)],
}

impl Demonstration {
    /// So many nodes, of which these call once, without crashes.
    pub const fn of(nodes: u32, initiators: &'static [u32]) -> Self {
        let (calls, crashes, restarts, fair) = (1, 0, 0, false);
        let cables = [""; 2];
        Self { nodes, initiators, calls, crashes, restarts, fair, cables, given: &[] }
    }

    /// The same, with so many calls of each.
    #[must_use]
    pub const fn calling(self, calls: u32) -> Self {
        Self { calls, ..self }
    }

    /// The same, with so many crashes, and so many nodes that come up again.
    #[must_use]
    pub const fn crashing(self, crashes: u8, restarts: u8) -> Self {
        Self { crashes, restarts, ..self }
    }

    /// The same, with this cable unplugged and plugged in again.
    #[must_use]
    pub const fn replugging(self, cable: &'static str) -> Self {
        Self { cables: [cable; 2], ..self }
    }

    /// The same, by a run that goes on for ever although all that is bound to happen does.
    #[must_use]
    pub const fn for_ever(self) -> Self {
        Self { fair: true, ..self }
    }

    /// The same, set up like this.
    #[must_use]
    pub const fn given(self, given: &'static [(Parameter, &'static str)]) -> Self {
        Self { given, ..self }
    }
}
