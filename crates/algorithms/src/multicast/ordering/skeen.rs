//! Total order by agreed places: every member proposes one, and the highest is taken.
//!
//! Skeen's protocol, in Birman and Joseph, "Reliable communication in the presence of failures",
//! ACM TOCS 5(1), 1987 (ABCAST). A member that receives a message proposes a timestamp for it,
//! later than any that it has seen, and queues it there, undecided. The sender takes the highest of
//! all proposals and multicasts it as final. A member delivers the first message of its queue if it
//! is final.
//!
//! **One order**: by final places, which differ (a clock, and whose proposal it was). A delivered
//! message had the lowest place in the queue; an undecided message that is or will be in that queue
//! ends up no lower than where it stands, since the final place is at least what that member
//! proposed. **Live**: all propose, so every message becomes final everywhere, and the first in
//! line is delivered then.

use alloc::vec::Vec;

use vorrang_protocol::{Counter, CounterVisitor, Group, NodeId, NodeState, SortedMap, StateValue};

use super::{Act, OrderMessage, change_all};
use crate::multicast::Text;
use crate::multicast::body::{Body, Id, Place};

/// The state of a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Skeen {
    me: NodeId,
    group: Group,
    clock: u64,
    /// The messages that are not delivered, in order.
    line: SortedMap<(Place, Id), Waiting>,
    /// Where each of these is in line.
    places: SortedMap<Id, Place>,
    /// For each of its own that is not decided: how many have proposed, and the highest place.
    proposals: SortedMap<u64, (u32, Place)>,
    own: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    text: Text,
    is_final: bool,
}

impl Skeen {
    /// The queue by place, what is final marked so, and the proposals for its own messages.
    pub(super) fn state(&self) -> NodeState {
        let line = self.line.iter().map(|((place, id), it)| {
            let how = if it.is_final { "final" } else { "proposed" };
            (StateValue::shown(id), (place.clock, place.by, how), StateValue::shown(&it.text))
        });
        let proposals = self
            .proposals
            .iter()
            .map(|(&number, &(count, place))| (number, count, (place.clock, place.by)));
        NodeState::new()
            .with("clock", self.clock)
            .with("queue", StateValue::list(line))
            .with("proposals", StateValue::list(proposals))
            .with("own", self.own)
    }

    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.clock);
        change_all(&mut self.line, |(place, id), _| {
            visit(Counter::Common, &mut place.clock);
            id.counters(visit);
        });
        change_all(&mut self.places, |id, place| {
            visit(Counter::Common, &mut place.clock);
            id.counters(visit);
        });
        let me = self.me;
        change_all(&mut self.proposals, |number, (_, place)| {
            visit(Counter::Sequence(me), number);
            visit(Counter::Common, &mut place.clock);
        });
    }

    pub(super) fn new(me: NodeId, group: Group) -> Self {
        let (line, places, proposals) = (SortedMap::new(), SortedMap::new(), SortedMap::new());
        Self { me, group, clock: 0, line, places, proposals, own: 0 }
    }

    pub(super) fn cast(&mut self, text: Text) -> Body {
        self.own += 1;
        Body::Plain(text)
    }

    /// Proposes a place.
    pub(super) fn heard(&mut self, from: NodeId, number: u64, text: Text, acts: &mut Vec<Act>) {
        self.clock = self.clock.saturating_add(1);
        let (id, place) = (Id { from, number }, Place { clock: self.clock, by: self.me });
        self.places.insert(id, place);
        self.line.insert((place, id), Waiting { text, is_final: false });
        if from == self.me {
            self.proposed(self.me, number, self.clock, acts);
        } else {
            let letter = OrderMessage::Propose { number, clock: self.clock };
            acts.push(Act::Mail { to: from, letter });
        }
    }

    /// A proposal for one of this member's messages.
    pub(super) fn proposed(&mut self, by: NodeId, number: u64, clock: u64, acts: &mut Vec<Act>) {
        let place = Place { clock, by };
        let (count, highest) = self.proposals.get_or_insert(number, (0, place));
        *count += 1;
        *highest = place.max(*highest);
        if *count == self.group.size()
            && let Some((_, place)) = self.proposals.remove(&number)
        {
            acts.push(Act::Put(Body::Final { number, place }));
        }
    }

    /// A place is final.
    pub(super) fn decided(&mut self, from: NodeId, number: u64, place: Place, acts: &mut Vec<Act>) {
        self.clock = self.clock.max(place.clock);
        let id = Id { from, number };
        // A carrier that keeps each sender's order brings no place before its message.
        if let Some(&was) = self.places.get(&id)
            && let Some(waiting) = self.line.remove(&(was, id))
        {
            self.places.insert(id, place);
            self.line.insert((place, id), Waiting { is_final: true, ..waiting });
        }
        while let Some(first) = self.line.pop_first_if(|_, first| first.is_final) {
            let ((_, id), Waiting { text, .. }) = first;
            self.places.remove(&id);
            self.own = self.own.saturating_sub(u32::from(id.from == self.me));
            acts.push(Act::Deliver { from: id.from, number: id.number, text });
        }
    }

    pub(super) const fn own_pending(&self) -> usize {
        self.own as usize
    }

    pub(super) fn buffered(&self) -> usize {
        self.line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_proposes_no_place_before_one_that_it_knows_to_be_given() {
        let (mut member, mut acts) = (Skeen::new(NodeId(1), Group::of(3)), Vec::new());
        member.heard(NodeId(0), 0, "a".into(), &mut acts);
        let letter = OrderMessage::Propose { number: 0, clock: 1 };
        assert_eq!(acts, [Act::Mail { to: NodeId(0), letter }]);
        member.decided(NodeId(0), 0, Place { clock: 7, by: NodeId(2) }, &mut acts);
        acts.clear();
        member.heard(NodeId(2), 0, "b".into(), &mut acts);
        let letter = OrderMessage::Propose { number: 0, clock: 8 };
        assert_eq!(acts, [Act::Mail { to: NodeId(2), letter }]);
    }
}
