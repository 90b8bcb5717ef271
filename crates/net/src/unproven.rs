//! A process that comes under the number of another, in an open group, before it is a member.
//!
//! Anybody can say that it was started later than the process before, which has to give way: it may
//! have crashed. But whoever goes away without having become a member was perhaps none of the
//! group, and the one before may come back.

use std::time::Duration;

use tokio::time::Instant;

use crate::link::Link;

/// A process has come of which the group has not had a view: anybody can say that it was started
/// later than the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unproven {
    /// The generation, and the address, of the process before.
    generation: u64,
    address: String,
    since: Instant,
}

impl Link {
    /// A process has come that may be a later one.
    pub(crate) fn note_unproven(&mut self, generation: u64) {
        let before = self.incarnations.generation();
        if generation > before && self.unproven.is_none() {
            let (address, since) = (self.address.clone(), Instant::now());
            self.unproven = Some(Unproven { generation: before, address, since });
        }
    }

    /// In an open group: a view has the peer in this life, if in any. A process that is no member,
    /// and has been away for so long, was perhaps none of the group: it is forgotten, and the one
    /// before may come back. Whether it is so.
    pub(crate) fn judge_unproven(&mut self, life: Option<u64>, patience: Duration) -> bool {
        if life.is_some_and(|life| life >= self.incarnations.generation()) {
            self.unproven = None;
        }
        let is_away = self.missing_for().is_some_and(|since| since >= patience);
        let is_over = |it: &mut Unproven| is_away && it.since.elapsed() >= patience;
        let Some(Unproven { generation, address, .. }) = self.unproven.take_if(is_over) else {
            return false;
        };
        self.clear();
        self.incarnations.fall_back(generation);
        if !address.is_empty() {
            self.address = address;
        }
        true
    }
}
