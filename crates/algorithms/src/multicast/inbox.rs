//! The messages of one sender, delivered once and in order.

use vorrang_protocol::{NodeId, NodeState, SortedMap, StateValue};

use super::body::{Body, Id, Numbered};

/// The messages of one sender.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Inbox {
    /// All below this number have been handed up.
    pub next: u64,
    /// Messages that have arrived too early.
    pub early: SortedMap<u64, Body>,
}

/// How an arriving message is handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It is the next to be handed up.
    InTurn,
    /// It must wait for others.
    Early,
    /// It has been here before.
    Again,
    /// It is further ahead than its sender may be.
    Absurd,
}

impl Inbox {
    /// Of every sender the number of the next message, and the messages that have come too early.
    pub(super) fn state<'a>(
        inboxes: impl Iterator<Item = (NodeId, &'a Self)> + Clone,
    ) -> NodeState {
        let early = inboxes.clone().flat_map(|(from, inbox)| {
            inbox.early.iter().map(move |(&number, body)| body.shown(Id { from, number }))
        });
        NodeState::new()
            .with(
                "next from",
                StateValue::list(inboxes.map(|(from, it)| (from, Numbered(it.next)))),
            )
            .with("early", StateValue::set(early))
    }

    /// How a message of this number is handled, if its sender is at most so far ahead. No sender
    /// comes as far as the last number: there would be no next one.
    pub fn place(&self, number: u64, window: u32) -> Arrival {
        match number.checked_sub(self.next) {
            _ if number == u64::MAX => Arrival::Absurd,
            None => Arrival::Again,
            Some(0) => Arrival::InTurn,
            Some(ahead) if ahead >= u64::from(window) => Arrival::Absurd,
            Some(_) if self.early.contains_key(&number) => Arrival::Again,
            Some(_) => Arrival::Early,
        }
    }

    /// Whether this one has come.
    pub fn has(&self, number: u64) -> bool {
        number < self.next || self.early.contains_key(&number)
    }

    /// The next one that can be handed up, of those that came early.
    pub fn ready(&mut self) -> Option<Body> {
        let body = self.early.remove(&self.next)?;
        self.next += 1;
        Some(body)
    }

    /// The numbers below this one that have not come, lowest first.
    pub fn missing(&self, below: u64) -> impl Iterator<Item = u64> + '_ {
        (self.next..below).filter(|number| !self.early.contains_key(number))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::multicast::Text;

    #[test]
    fn numbers_are_told_apart() {
        let mut inbox = Inbox { next: 3, ..Inbox::default() };
        inbox.early.insert(5, Body::Plain(Text::default()));
        let places = [2, 3, 4, 5, 6, 7].map(|number| inbox.place(number, 4));
        let [again, early] = [Arrival::Again, Arrival::Early];
        assert_eq!(places, [again, Arrival::InTurn, early, again, early, Arrival::Absurd]);
        assert_eq!(inbox.missing(8).collect::<Vec<_>>(), [3, 4, 6, 7]);
        assert_eq!(inbox.ready(), None);
        inbox.next = 5;
        assert!(inbox.ready().is_some() && inbox.next == 6);
    }

    #[test]
    fn behind_the_last_number_nothing_can_be_counted() {
        for next in [u64::MAX, u64::MAX - 1] {
            let inbox = Inbox { next, ..Inbox::default() };
            assert_eq!(inbox.place(u64::MAX, 4), Arrival::Absurd, "{next}");
        }
    }
}
