//! Leslie Lamport, "Time, clocks, and the ordering of events in a distributed system", CACM 21(7),
//! 1978.
//!
//! A node counts its actions, puts the count on every message and never lets its own count fall
//! behind one that it has seen. So a cause carries a smaller number than its effect. The converse
//! does not hold: a smaller number does not mean "caused"; for that, use vector clocks.
//!
//! ```text
//!   0 ──1──2───────────►   local, then send with 2
//!           \
//!   1 ───────3──4──────►   receive: max(0, 2) + 1, then local
//! ```
//!
//! Two habits of numbering exist. [`Clock`] follows the textbooks: count, then stamp. [`LateClock`]
//! stamps with the value *before* counting. Both order messages: if one message causally precedes
//! another, its stamp is smaller. Only [`Clock`] also orders *events*: a
//! [`LateClock`] may show the same number at a send and at its receipt (see the tests), so it must
//! never stamp events.

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Counter, CounterVisitor, NodeId, StateValue};

/// When a node did something, and which node: a total order that respects cause.
///
/// Smaller is older. Ties between nodes are broken by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Stamp {
    /// The node's clock.
    pub time: u64,
    /// The node.
    pub node: NodeId,
}

impl Stamp {
    /// A stamp.
    pub const fn new(time: u64, node: NodeId) -> Self {
        Self { time, node }
    }
}

/// `(time,node)`.
impl From<Stamp> for StateValue {
    fn from(stamp: Stamp) -> Self {
        (stamp.time, stamp.node).into()
    }
}

/// A Lamport clock by the textbook rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Clock(u64);

impl Clock {
    /// A clock that has already counted to `time`.
    pub const fn at(time: u64) -> Self {
        Self(time)
    }

    /// Counts an action of this node, local or a send, and returns its time.
    pub fn tick(&mut self) -> u64 {
        self.0 = next(self.0);
        self.0
    }

    /// Never falls behind `time`, which a message carried, without counting an action.
    pub fn witness(&mut self, time: u64) {
        self.0 = self.0.max(time);
    }

    /// Counts the receipt of a message that carried `time`, and returns the receipt's own time.
    pub fn receive(&mut self, time: u64) -> u64 {
        self.witness(time);
        self.tick()
    }

    /// Shows what it reads as a counter that all nodes share.
    pub fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.0);
    }

    /// The last time counted or seen.
    pub const fn now(self) -> u64 {
        self.0
    }
}

/// A Lamport clock that stamps a message with the value before the send is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LateClock(u64);

impl LateClock {
    /// A clock that has already counted to `time`.
    pub const fn at(time: u64) -> Self {
        Self(time)
    }

    /// Counts a local action.
    pub fn local(&mut self) {
        self.0 = next(self.0);
    }

    /// Counts a send (a multicast is one) and returns the stamp of its messages.
    pub fn send(&mut self) -> u64 {
        let stamp = self.0;
        self.0 = next(self.0);
        stamp
    }

    /// Counts the receipt of a message that carried `time`.
    pub fn receive(&mut self, time: u64) {
        self.0 = next(self.0.max(time));
    }

    /// Shows what it reads as a counter that all nodes share.
    pub fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.0);
    }

    /// The clock's reading.
    pub const fn now(self) -> u64 {
        self.0
    }
}

/// One more. Running out of 64 bits would take centuries, and times that come from other processes
/// are bounded where they are read, far below. Wrapping round or standing still would break every
/// algorithm that trusts the order, quietly; so to get here all the same is an error of the
/// program, and a loud one.
fn next(time: u64) -> u64 {
    time.checked_add(1).expect("a logical clock counts to 2^64 - 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_along_a_causal_chain_grow() {
        let (mut one, mut two, mut three) =
            (LateClock::default(), LateClock::default(), LateClock::default());
        one.local();
        assert_eq!(one.now(), 1);
        let a = one.send();
        assert_eq!((a, one.now()), (1, 2));
        two.receive(a);
        assert_eq!(two.now(), 2);
        let b = two.send();
        assert_eq!((b, two.now()), (2, 3));
        (0..5).for_each(|_| three.local());
        three.receive(b);
        assert_eq!(three.now(), 6);
        let c = three.send();
        assert_eq!((c, three.now()), (6, 7));
        one.receive(c);
        assert_eq!(one.now(), 7);
        assert!(a < b && b < c);
    }

    #[test]
    fn order_is_by_time_and_then_by_node() {
        let stamp = |time, node| Stamp::new(time, NodeId(node));
        assert!(stamp(2, 1) < stamp(2, 2));
        assert!(stamp(2, 2) < stamp(3, 1));
    }

    #[test]
    fn a_late_clock_orders_messages_but_not_events() {
        let (mut sender, mut receiver) = (LateClock::default(), LateClock::default());
        let stamp = sender.send();
        receiver.receive(stamp);
        // Both show 1, and a smaller node number would put the receipt before its own send.
        assert_eq!(sender.now(), receiver.now());
    }

    #[test]
    fn a_textbook_clock_orders_events() {
        let (mut sender, mut receiver) = (Clock::default(), Clock::default());
        let sent = sender.tick();
        assert!(sent < receiver.receive(sent));
        receiver.witness(1);
        assert_eq!(receiver.now(), 2, "an older time changes nothing");
    }

    #[test]
    #[should_panic(expected = "a logical clock counts to")]
    fn a_clock_never_wraps_round() {
        Clock::at(u64::MAX).tick();
    }
}
