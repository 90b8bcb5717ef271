//! Causal order: nothing is delivered before what its sender had delivered when it spoke.
//!
//! Birman, Schiper and Stephenson, "Lightweight causal and atomic group multicast", ACM TOCS 9(3),
//! 1991: a message carries how many messages of every member its sender had delivered. It is
//! delivered where as many have been. **Safe** by that test; **live** because the messages that it
//! counts were delivered somewhere, so they are carried here, and of those that wait a first one in
//! the order of causes waits for nothing.

use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Counter, CounterVisitor, Group, NodeId, NodeState, StateValue};

use super::Act;
use crate::multicast::Text;
use crate::multicast::body::{Body, Id, Shared};

/// The state of a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Causal {
    /// How many messages of each it has delivered.
    delivered: Vec<u64>,
    /// Messages that wait for their causes, in the order of arrival.
    waiting: Vec<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    from: NodeId,
    number: u64,
    past: Shared<u64>,
    text: Text,
}

impl Causal {
    /// D: how many of each it has delivered; and what waits, with the past that it waits for.
    pub(super) fn state(&self) -> NodeState {
        let waiting = self.waiting.iter().map(|it| {
            let past = StateValue::Vector(it.past.0.iter().map(|&count| count.into()).collect());
            let id = Id { from: it.from, number: it.number };
            (StateValue::shown(&id), past, StateValue::shown(&it.text))
        });
        NodeState::new()
            .with("D", StateValue::vector(self.delivered.iter().copied()))
            .with("held back", StateValue::list(waiting))
    }

    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        Counter::by_owner(Counter::Sequence, &mut self.delivered, visit);
        for it in &mut self.waiting {
            visit(Counter::Sequence(it.from), &mut it.number);
            it.past.counters(visit);
        }
    }

    pub(super) fn new(group: Group) -> Self {
        Self { delivered: vec![0; group.size() as usize], waiting: Vec::new() }
    }

    pub(super) fn cast(&self, text: Text) -> Body {
        Body::After(self.delivered.iter().copied().collect(), text)
    }

    pub(super) fn heard(
        &mut self,
        from: NodeId,
        number: u64,
        (past, text): (Shared<u64>, Text),
        acts: &mut Vec<Act>,
    ) {
        if past.0.len() != self.delivered.len() {
            return;
        }
        self.waiting.push(Waiting { from, number, past, text });
        let delivered = &mut self.delivered;
        while let Some(place) = self.waiting.iter().position(|it| {
            let had = || delivered.iter().zip(it.past.0.iter());
            delivered[it.from.index()] == it.number && had().all(|(had, past)| had >= past)
        }) {
            let Waiting { from, number, text, .. } = self.waiting.remove(place);
            delivered[from.index()] += 1;
            acts.push(Act::Deliver { from, number, text });
        }
    }

    pub(super) const fn buffered(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_another_waits_for_it() {
        let (mut member, mut acts) = (Causal::new(Group::of(3)), Vec::new());
        let deliver = |from, text: &str| Act::Deliver { from, number: 0, text: text.into() };
        let (asks, answers) = (NodeId(0), NodeId(1));
        let past = |of: [u64; 3]| of.into_iter().collect();
        member.heard(answers, 0, (past([1, 0, 0]), "why not".into()), &mut acts);
        assert_eq!((&*acts, member.buffered()), (&[][..], 1));
        member.heard(asks, 0, (past([0; 3]), "why".into()), &mut acts);
        assert_eq!(acts, [deliver(asks, "why"), deliver(answers, "why not")]);
        assert_eq!(member.buffered(), 0);
    }
}
