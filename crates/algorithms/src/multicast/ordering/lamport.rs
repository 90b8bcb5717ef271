//! Total order by stamps: the oldest first, once nothing older can come.
//!
//! Lamport, "Time, clocks, and the ordering of events in a distributed system", CACM 21(7), 1978.
//! Every message carries its sender's clock. It is delivered when its stamp is the smallest here
//! and every member has been heard with a later one: since a sender's messages come in their order
//! and its clock only grows, none with an earlier stamp can follow. **One order**: that of stamps,
//! ties broken by the sender's number. **Live**: a member that receives a message and has sent
//! nothing later multicasts its clock, unless it has a message of its own to send at once.
//!
//! So one message may cost N−1 words of N−1 copies each. Where all speak all the time, their own
//! messages do the same for nothing.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Counter, CounterVisitor, Group, NodeId, NodeState, SortedMap, StateValue};

use super::{Act, change_all};
use crate::multicast::Text;
use crate::multicast::body::Body;

/// The state of a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lamport {
    me: NodeId,
    clock: u64,
    /// The last stamp that was heard of each; of itself, the last that it has used.
    pub(in crate::multicast) last: Vec<u64>,
    /// Messages that are not delivered, by stamp and sender.
    queue: SortedMap<(u64, NodeId), (u64, Text)>,
    /// The latest message, by stamp and sender: all wait to hear of everyone after it.
    owes: (u64, NodeId),
    own: u32,
}

impl Lamport {
    /// The clock, the last stamp that was heard of each, and the queue by stamp.
    pub(super) fn state(&self) -> NodeState {
        let queue = self.queue.iter();
        let queue = queue.map(|(&stamp, (number, text))| (stamp, *number, StateValue::shown(text)));
        NodeState::new()
            .with("clock", self.clock)
            .with("last stamps", StateValue::vector(self.last.iter().copied()))
            .with("queue", StateValue::list(queue))
            .with("owes", self.owes)
            .with("own", self.own)
    }

    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.clock);
        visit(Counter::Common, &mut self.owes.0);
        self.last.iter_mut().for_each(|stamp| visit(Counter::Common, stamp));
        change_all(&mut self.queue, |(stamp, from), (number, _)| {
            visit(Counter::Common, stamp);
            visit(Counter::Sequence(*from), number);
        });
    }

    pub(super) fn new(me: NodeId, group: Group) -> Self {
        let last = vec![0; group.size() as usize];
        Self { me, clock: 0, last, queue: SortedMap::new(), owes: (0, NodeId(0)), own: 0 }
    }

    fn tick(&mut self) -> u64 {
        self.clock = self.clock.saturating_add(1);
        self.clock
    }

    pub(super) fn cast(&mut self, text: Text) -> Body {
        self.own += 1;
        Body::Stamped(self.tick(), text)
    }

    pub(super) fn heard(
        &mut self,
        from: NodeId,
        stamp: u64,
        said: Option<(u64, Text)>,
        acts: &mut Vec<Act>,
    ) {
        self.clock = self.clock.max(stamp);
        let last = &mut self.last[from.index()];
        *last = stamp.max(*last);
        if let Some(said) = said {
            self.queue.insert((stamp, from), said);
            self.owes = self.owes.max((stamp, from));
        }
        self.deliver(acts);
    }

    fn deliver(&mut self, acts: &mut Vec<Act>) {
        let last = &self.last;
        let is_due = |first: &(u64, NodeId), _: &_| {
            (0..).zip(last).all(|(id, &last)| (last, NodeId(id)) >= *first)
        };
        while let Some(((_, from), (number, text))) = self.queue.pop_first_if(is_due) {
            self.own = self.own.saturating_sub(u32::from(from == self.me));
            acts.push(Act::Deliver { from, number, text });
        }
    }

    /// Whether another member waits for a message of this one.
    pub(super) fn waits_for_room(&self) -> bool {
        (self.last[self.me.index()], self.me) < self.owes
    }

    /// Says what its clock is.
    pub(super) fn speak(&mut self, acts: &mut Vec<Act>) {
        let stamp = self.tick();
        acts.push(Act::Put(Body::Clock(stamp)));
    }

    pub(super) const fn own_pending(&self) -> usize {
        self.own as usize
    }

    pub(super) fn buffered(&self) -> usize {
        self.queue.len()
    }
}
