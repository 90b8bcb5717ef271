//! Total order by a token: its holder gives its own messages the next places.
//!
//! As in Chang and Maxemchuk, ACM TOCS 2(3), 1984, and Amir, Moser, Melliar-Smith, Agarwal and
//! Ciarfella, ACM TOCS 13(4), 1995. Theirs goes round; here it stays where it is until another
//! member requests it, so that an idle group is silent. Requests travel as in Naimi and Trehel,
//! ICDCS 1987: every member knows a probable last requester; a request is forwarded along these,
//! and each member that forwards it takes its sender for the last requester from then on. The
//! request reaches the last requester, which passes the token on once it has had it.
//!
//! **One order**: places are given by the one token, each once; all deliver by place. **Live**:
//! every place that was given is that of a message on its way; those who ask form a line, each
//! knows its next, and each gives the token away as soon as it has given places to what it had
//! to say.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use vorrang_protocol::{Counter, CounterVisitor, Group, NodeId, NodeState, SortedMap, StateValue};

use super::{Act, OrderMessage, change_all};
use crate::multicast::Text;
use crate::multicast::body::Body;

/// The initial holder.
const FIRST: NodeId = NodeId(0);

/// The state of a member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    me: NodeId,
    group: Group,
    /// The next place to give, where the token is.
    next_place: Option<u64>,
    /// The probable last requester; this member, if there is none after it.
    last: NodeId,
    /// Whether it has asked for the token and has not got it yet.
    is_asking: bool,
    /// The next holder of the token.
    heir: Option<NodeId>,
    /// Messages without a place yet.
    own: VecDeque<Text>,
    /// How many of its own have a place and were not delivered.
    placed: u32,
    /// The place of the next one to deliver.
    next: u64,
    /// Messages that have arrived too early, by place.
    early: SortedMap<u64, Delivery>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Delivery {
    from: NodeId,
    number: u64,
    text: Text,
}

impl Token {
    /// The token with the next place to give, where it is; and what waits for it.
    pub(super) fn state(&self) -> NodeState {
        let early = self
            .early
            .iter()
            .map(|(&place, it)| (place, (it.from, it.number), StateValue::shown(&it.text)));
        let own = self.own.iter().map(|text| StateValue::shown(text));
        NodeState::new()
            .with("token", self.next_place)
            .with("last requester", self.last)
            .with("asking", self.is_asking)
            .with("heir", self.heir)
            .with("own", StateValue::list(own))
            .with("placed", self.placed)
            .with("next place", self.next)
            .with("too early", StateValue::list(early))
    }

    pub(super) fn counters(&mut self, visit: CounterVisitor<'_>) {
        visit(Counter::Common, &mut self.next);
        self.next_place.iter_mut().for_each(|place| visit(Counter::Common, place));
        change_all(&mut self.early, |place, it| {
            visit(Counter::Common, place);
            visit(Counter::Sequence(it.from), &mut it.number);
        });
    }

    pub(super) fn new(me: NodeId, group: Group) -> Self {
        Self {
            me,
            group,
            next_place: (me == FIRST).then_some(0),
            last: FIRST,
            is_asking: false,
            heir: None,
            own: VecDeque::new(),
            placed: 0,
            next: 0,
            early: SortedMap::new(),
        }
    }

    pub(super) fn cast(&mut self, text: Text, acts: &mut Vec<Act>) {
        self.own.push_back(text);
        if self.next_place.is_some() {
            self.speak(acts);
        } else if !self.is_asking {
            self.is_asking = true;
            acts.push(Act::Mail { to: self.last, letter: OrderMessage::Want(self.me) });
            self.last = self.me;
        }
    }

    /// Gives its own messages the next places, where the token is.
    fn speak(&mut self, acts: &mut Vec<Act>) {
        let Some(place) = &mut self.next_place else { return };
        for text in self.own.drain(..) {
            acts.push(Act::Put(Body::Placed(*place, text)));
            *place += 1;
            self.placed += 1;
        }
    }

    /// A request for the token.
    pub(super) fn wanted(&mut self, by: NodeId, acts: &mut Vec<Act>) {
        if !self.group.contains(by) {
            return;
        }
        if self.last == self.me {
            self.heir = Some(by);
        } else {
            acts.push(Act::Mail { to: self.last, letter: OrderMessage::Want(by) });
        }
        self.last = by;
        self.give(acts);
    }

    /// Gives the token to the next holder, if this member has it and there is one.
    fn give(&mut self, acts: &mut Vec<Act>) {
        if self.next_place.is_some()
            && let Some(to) = self.heir.take()
            && let Some(place) = self.next_place.take()
        {
            acts.push(Act::Mail { to, letter: OrderMessage::Token(place) });
        }
    }

    /// The token has come.
    pub(super) fn came(&mut self, place: u64, acts: &mut Vec<Act>) {
        self.next_place = Some(place);
        self.is_asking = false;
        self.speak(acts);
        self.give(acts);
    }

    pub(super) fn heard(&mut self, place: u64, act: Act, acts: &mut Vec<Act>) {
        let Act::Deliver { from, number, text } = act else { return };
        self.early.insert(place, Delivery { from, number, text });
        while let Some(Delivery { from, number, text }) = self.early.remove(&self.next) {
            self.next += 1;
            self.placed = self.placed.saturating_sub(u32::from(from == self.me));
            acts.push(Act::Deliver { from, number, text });
        }
    }

    pub(super) fn own_pending(&self) -> usize {
        self.own.len() + self.placed as usize
    }

    pub(super) fn buffered(&self) -> usize {
        self.own.len() + self.early.len()
    }
}
