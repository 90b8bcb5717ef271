//! The part of a node that others ask for permission.

use vorrang_protocol::{NodeId, SortedSet};

use super::message::Message;
use crate::clock::Stamp;

/// Gives one permission to one request at a time, the oldest first as far as it can.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::mutex) struct Arbiter {
    me: NodeId,
    /// The holder of the permission, as far as the arbiter knows. If an older request waits, the
    /// holder was asked to give it back should it not get in.
    pub(in crate::mutex) lock: Option<Stamp>,
    /// How often the permission was given, by the arbiter or by a holder.
    pub(in crate::mutex) epoch: u64,
    /// Requests that wait for it.
    pub(in crate::mutex) waiting: SortedSet<Stamp>,
    /// The node that has already given it back, having got it from the one that `lock` still names.
    pub(in crate::mutex) early: Option<NodeId>,
    /// Requests that do not wait any more, but that the holder may have been told to hand the
    /// permission on to.
    withdrawn: SortedSet<Stamp>,
    /// Whether it was down while the permission was out, and has not got it back since: it may have
    /// missed what became of it.
    pub(in crate::mutex) unsure: bool,
}

/// A message of an arbiter, and its receiver.
pub(in crate::mutex) type Word = (NodeId, Message);

/// Nothing, one word or two.
pub(in crate::mutex) type Words = [Option<Word>; 2];

const NOTHING: Words = [None; 2];

const fn fail(request: Stamp) -> Word {
    (request.node, Message::Fail { time: request.time })
}

impl Arbiter {
    pub(super) fn new(me: NodeId) -> Self {
        let (waiting, withdrawn) = (SortedSet::new(), SortedSet::new());
        Self { me, lock: None, epoch: 0, waiting, early: None, withdrawn, unsure: false }
    }

    pub(in crate::mutex) fn on_request(&mut self, request: Stamp) -> Words {
        let Some(lock) = self.lock else { return [Some(self.grant(request)), None] };
        let oldest = self.waiting.first().copied();
        if lock == request || !self.waiting.insert(request) {
            return NOTHING; // a doubled message
        }
        if oldest.is_some_and(|oldest| oldest < request) {
            return [Some(fail(request)), None];
        }
        // A request that is older than the holder's was not told FAIL.
        let hopeful = oldest.filter(|oldest| *oldest < lock);
        let (told, inquire) =
            if request < lock { (hopeful, hopeful.is_none()) } else { (Some(request), false) };
        let transfer = Message::Transfer { epoch: self.epoch, next: request, inquire };
        [told.map(fail), Some((lock.node, transfer))]
    }

    pub(in crate::mutex) fn on_yield(&mut self, from: NodeId, epoch: u64) -> Words {
        match self.lock {
            Some(lock) if lock.node == from && epoch == self.epoch => {
                self.waiting.insert(lock);
                self.pass_on()
            }
            Some(_) | None => NOTHING,
        }
    }

    pub(in crate::mutex) fn on_release(
        &mut self,
        from: NodeId,
        epoch: u64,
        next: Option<Stamp>,
    ) -> Words {
        let Some(lock) = self.lock else { return NOTHING };
        match next {
            // It has overtaken the message that its sender was given the permission. So that sender
            // cannot have been told a next one.
            None if epoch.checked_sub(self.epoch) == Some(1) => {
                self.early = Some(from);
                NOTHING
            }
            _ if epoch != self.epoch || lock.node != from => NOTHING,
            None => self.pass_on(),
            Some(next) if self.waiting.remove(&next) => self.was_handed_to(next),
            // It has gone to one that will not use it.
            Some(next) if self.withdrawn.contains(&next) => {
                self.epoch += 1;
                self.pass_on()
            }
            Some(_) => NOTHING,
        }
    }

    /// A request is over that did not have the permission when it was: it may be on its way to it.
    pub(in crate::mutex) fn on_withdrawal(&mut self, request: Stamp) -> Words {
        if self.lock == Some(request) {
            return self.pass_on();
        }
        if self.waiting.remove(&request) {
            self.withdrawn.insert(request);
        }
        NOTHING
    }

    /// The requests that were withdrawn in this epoch.
    pub(in crate::mutex) fn withdrawn(&self) -> impl Iterator<Item = Stamp> + '_ {
        self.withdrawn.iter().copied()
    }

    /// The permission has gone to `request`, past the arbiter.
    fn was_handed_to(&mut self, request: Stamp) -> Words {
        self.epoch += 1;
        self.withdrawn.clear();
        if self.early.take() == Some(request.node) {
            return self.pass_on();
        }
        self.lock = Some(request);
        let transfer = |&next: &Stamp| {
            // It may have been sent off before an older request came.
            let inquire = next < request;
            (request.node, Message::Transfer { epoch: self.epoch, next, inquire })
        };
        [self.waiting.first().map(transfer), None]
    }

    /// The permission is back: on to the oldest that waits, if any.
    fn pass_on(&mut self) -> Words {
        (self.lock, self.early, self.unsure) = (None, None, false);
        self.withdrawn.clear();
        let oldest = self.waiting.pop_first();
        [oldest.map(|oldest| self.grant(oldest)), None]
    }

    fn grant(&mut self, request: Stamp) -> Word {
        self.epoch += 1;
        self.lock = Some(request);
        let (arbiter, epoch, next) = (self.me, self.epoch, self.waiting.first().copied());
        (request.node, Message::Reply { time: request.time, arbiter, epoch, next })
    }
}
