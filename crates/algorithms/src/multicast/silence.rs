//! Members that do not answer: after so many tries they are taken for crashed, and nobody waits for
//! them any more.
//!
//! That is right under an assumption: a message takes no longer than
//! [`within`](crate::setup::Setup::within), and fewer than so many tries in a row are lost, there
//! or back. So whatever is heard of a member begins the count anew, and a try counts only when
//! there was time to answer the one before. Where the assumption does not hold, a member that is up
//! may be removed, and what it misses then is dropped. It is told so when it is heard again, and
//! comes back as a [new incarnation](super::ordered::membership).

use alloc::vec::Vec;
use core::num::NonZeroU32;

use vorrang_protocol::{NodeId, NodeSet, NodeState, StateValue};

use crate::setup::Setup;

/// Who has been silent for how long.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Silence {
    /// How many tries a member has.
    pub(super) most: Option<NonZeroU32>,
    /// How many of them were not answered, where that counts.
    tries: Vec<u8>,
    /// Those who had all of them.
    removed: NodeSet,
}

impl Silence {
    pub(super) fn of(setup: &Setup) -> Self {
        let counted = if setup.tries.is_some() { setup.group.size() } else { 0 };
        let tries = alloc::vec![0; counted as usize];
        Self { most: setup.tries, tries, removed: NodeSet::EMPTY }
    }

    /// Whether silence matters at all.
    pub(super) const fn is_counted(&self) -> bool {
        self.most.is_some()
    }

    /// Whether so many unanswered tries are enough.
    pub(super) fn is_enough(&self, tries: u8) -> bool {
        self.most.is_some_and(|most| u32::from(tries) >= most.get())
    }

    pub(super) fn is_removed(&self, id: NodeId) -> bool {
        self.removed.contains(id)
    }

    /// These are waited for no longer, whatever they say.
    pub(super) fn remove(&mut self, ids: impl IntoIterator<Item = NodeId>) {
        for id in ids {
            self.removed.insert(id);
            self.hear(id);
        }
    }

    /// A new incarnation of a member, which is waited for.
    pub(super) fn admit(&mut self, id: NodeId) {
        self.removed.remove(id);
        self.hear(id);
    }

    /// A member has said something. One that was removed stays so: it has missed what was dropped.
    pub(super) fn hear(&mut self, from: NodeId) {
        if let Some(tries) = self.tries.get_mut(from.index()) {
            *tries = 0;
        }
    }

    /// These have not answered, and are to be tried again; whether some are removed instead.
    pub(super) fn try_again(&mut self, waited: impl Iterator<Item = NodeId>) -> bool {
        if !self.is_counted() {
            return false;
        }
        let mut removes = false;
        for id in waited {
            if self.is_enough(self.tries[id.index()]) {
                removes |= self.removed.insert(id);
            } else {
                self.tries[id.index()] += 1;
            }
        }
        removes
    }

    /// How many tries of each were not answered, and who is waited for no longer.
    pub(super) fn state(&self) -> NodeState {
        let state = NodeState::new();
        if self.most.is_none() {
            return state;
        }
        state
            .with("unanswered", StateValue::vector(self.tries.iter().map(|&it| u64::from(it))))
            .with("removed", &self.removed)
    }
}
