//! The part of a node that others ask for permission.

use alloc::collections::BTreeSet;

use vorrang_protocol::NodeId;

use super::message::Message;
use crate::clock::Stamp;

/// Gives one permission to one request at a time, the oldest first as far as it can.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::mutex) struct Arbiter {
    me: NodeId,
    /// Who has the permission, as far as the arbiter knows.
    pub(in crate::mutex) lock: Option<Lock>,
    /// How often the permission was given to somebody, by whomever.
    pub(in crate::mutex) epoch: u64,
    /// Requests that wait for it.
    pub(in crate::mutex) waiting: BTreeSet<Stamp>,
    /// Who has already given it back, having got it from the one that `lock` still names.
    pub(in crate::mutex) early: Option<NodeId>,
}

/// Who has a permission.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::mutex) struct Lock {
    pub(in crate::mutex) request: Stamp,
    /// Whether it was asked to give it back if it cannot enter.
    pub(in crate::mutex) inquired: bool,
}

/// What an arbiter says, and to whom.
pub(in crate::mutex) type Word = (NodeId, Message);

/// Nothing, one word or two.
pub(in crate::mutex) type Words = [Option<Word>; 2];

const NOTHING: Words = [None; 2];

const fn fail(request: Stamp) -> Word {
    (request.node, Message::Fail { time: request.time })
}

impl Arbiter {
    pub(super) const fn new(me: NodeId) -> Self {
        Self { me, lock: None, epoch: 0, waiting: BTreeSet::new(), early: None }
    }

    pub(in crate::mutex) fn on_request(&mut self, request: Stamp) -> Words {
        let Some(lock) = &mut self.lock else { return [Some(self.grant(request)), None] };
        let oldest = self.waiting.first().copied();
        if lock.request == request || !self.waiting.insert(request) {
            return NOTHING; // a doubled message
        }
        if oldest.is_some_and(|oldest| oldest < request) {
            return [Some(fail(request)), None];
        }
        let is_older = request < lock.request;
        // The one that has waited as the oldest so far may have been led to hope.
        let hopeless = if is_older { oldest.filter(|it| *it < lock.request) } else { Some(request) };
        let inquire = is_older && !lock.inquired;
        lock.inquired |= inquire;
        let transfer = Message::Transfer { epoch: self.epoch, next: request, inquire };
        [hopeless.map(fail), Some((lock.request.node, transfer))]
    }

    pub(in crate::mutex) fn on_yield(&mut self, from: NodeId, epoch: u64) -> Words {
        match self.lock {
            Some(lock) if lock.request.node == from && epoch == self.epoch => {
                self.waiting.insert(lock.request);
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
            // It has overtaken the news of how its sender came by the permission. Nobody can have
            // told that sender of a next one.
            None if epoch.checked_sub(self.epoch) == Some(1) => {
                self.early = Some(from);
                NOTHING
            }
            _ if epoch != self.epoch || lock.request.node != from => NOTHING,
            None => self.pass_on(),
            Some(next) if self.waiting.remove(&next) => self.was_handed_to(next),
            Some(_) => NOTHING,
        }
    }

    /// The permission has gone to `request`, past the arbiter.
    fn was_handed_to(&mut self, request: Stamp) -> Words {
        self.epoch += 1;
        if self.early.take() == Some(request.node) {
            return self.pass_on();
        }
        let oldest = self.waiting.first().copied();
        // It may have been sent off before an older request came.
        let inquire = oldest.is_some_and(|oldest| oldest < request);
        self.lock = Some(Lock { request, inquired: inquire });
        let transfer = |next| Message::Transfer { epoch: self.epoch, next, inquire };
        [oldest.map(|next| (request.node, transfer(next))), None]
    }

    /// The permission is back: on to the oldest that waits, if any.
    fn pass_on(&mut self) -> Words {
        (self.lock, self.early) = (None, None);
        let oldest = self.waiting.pop_first();
        [oldest.map(|oldest| self.grant(oldest)), None]
    }

    fn grant(&mut self, request: Stamp) -> Word {
        self.epoch += 1;
        self.lock = Some(Lock { request, inquired: false });
        let (arbiter, epoch, next) = (self.me, self.epoch, self.waiting.first().copied());
        (request.node, Message::Reply { time: request.time, arbiter, epoch, next })
    }
}
