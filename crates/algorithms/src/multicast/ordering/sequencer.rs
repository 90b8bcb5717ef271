//! Total order by a sequencer: member 0 says in which order all deliver.
//!
//! Kaashoek and Tanenbaum, "Group communication in the Amoeba distributed operating system", ICDCS
//! 1991. A message is carried to all; when it reaches the sequencer, that multicasts that this one
//! is next. A member delivers the next message once it has arrived. **One order**: that of the
//! sequencer's multicasts, which all deliver in the order in which it sends them. **Live**: it
//! names every message that comes to it, and each is carried to all.
//!
//! Where its carrier has no room, it names several at once when there is room again.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use vorrang_protocol::{CounterVisitor, NodeId, NodeState, SortedMap, StateValue};

use super::{Act, change_all};
use crate::multicast::Text;
use crate::multicast::body::{Body, Id};

/// The sequencer.
const SEQUENCER: NodeId = NodeId(0);

/// How many are named at once, so that they fit into a datagram.
const MOST_NAMED: usize = 64;

/// The state of a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sequencer {
    me: NodeId,
    /// The next messages, in this order.
    next: VecDeque<Id>,
    /// Messages that have arrived and are not delivered.
    here: SortedMap<Id, Text>,
    /// At the sequencer: what it has not named yet.
    unnamed: Vec<Id>,
    own: u32,
}

impl Sequencer {
    /// The order that is known, and what is here without a place in it or before its turn.
    pub(super) fn state(&self) -> NodeState {
        let ids = |ids: &mut dyn Iterator<Item = &Id>| {
            StateValue::List(ids.map(|id| StateValue::shown(id)).collect())
        };
        let here = self.here.iter();
        let here = here.map(|(id, text)| (StateValue::shown(id), StateValue::shown(text)));
        NodeState::new()
            .with("order", ids(&mut self.next.iter()))
            .with("here", StateValue::list(here))
            .with("unnamed", ids(&mut self.unnamed.iter()))
            .with("own", self.own)
    }

    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.next.iter_mut().chain(&mut self.unnamed).for_each(|id| id.counters(visit));
        change_all(&mut self.here, |id, _| id.counters(visit));
    }

    pub(super) fn new(me: NodeId) -> Self {
        let (next, here) = (VecDeque::new(), SortedMap::new());
        Self { me, next, here, unnamed: Vec::new(), own: 0 }
    }

    pub(super) fn cast(&mut self, text: Text) -> Body {
        self.own += 1;
        Body::Plain(text)
    }

    pub(super) fn heard(&mut self, from: NodeId, number: u64, text: Text, acts: &mut Vec<Act>) {
        let id = Id { from, number };
        self.here.insert(id, text);
        if self.me == SEQUENCER {
            self.unnamed.push(id);
        }
        self.deliver(acts);
    }

    /// The sequencer's announcement of the next message.
    pub(super) fn next(&mut self, from: NodeId, ids: &[Id], acts: &mut Vec<Act>) {
        if from == SEQUENCER {
            self.next.extend(ids);
            self.deliver(acts);
        }
    }

    fn deliver(&mut self, acts: &mut Vec<Act>) {
        while let Some(&id) = self.next.front()
            && let Some(text) = self.here.remove(&id)
        {
            self.next.pop_front();
            self.own = self.own.saturating_sub(u32::from(id.from == self.me));
            acts.push(Act::Deliver { from: id.from, number: id.number, text });
        }
    }

    pub(super) const fn waits_for_room(&self) -> bool {
        !self.unnamed.is_empty()
    }

    /// Names what has come.
    pub(super) fn speak(&mut self, acts: &mut Vec<Act>) {
        let many = self.unnamed.len().min(MOST_NAMED);
        acts.push(Act::Put(Body::Next(self.unnamed.drain(..many).collect())));
    }

    pub(super) const fn own_pending(&self) -> usize {
        self.own as usize
    }

    pub(super) fn buffered(&self) -> usize {
        self.here.len()
    }
}
