//! The beginning of a view whose members have reported many names: what is fetched, and who is
//! known to have it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use vorrang_protocol::{Digest, NodeId, NodeSet};

use super::message::NamedMessage;
use super::name::Key;
use super::report::{Chunk, NameReport, fit, with};

/// The reports that are not complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReportTransfer<M> {
    pub(super) sources: BTreeMap<NodeId, Source>,
    /// What others have said who are further, in the order of arrival.
    pub(super) early: Vec<(NodeId, NamedMessage<M>)>,
}

/// A report, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Source {
    pub(super) count: u32,
    pub(super) digest: Digest,
    /// So many names of it.
    pub(super) have: u32,
    pub(super) digest_so_far: Digest,
}

/// What a chunk adds to a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    /// Nothing.
    Nothing,
    /// These names, and more are to come.
    Some,
    /// The last ones.
    Last,
    /// What came is not what was decided on.
    Wrong,
}

impl Source {
    pub(super) fn add(&mut self, chunk: &Chunk) -> Added {
        if chunk.after != self.have || chunk.names.is_empty() {
            return Added::Nothing;
        }
        self.have += chunk.names.len() as u32;
        self.digest_so_far = chunk.names.iter().fold(self.digest_so_far, with);
        match self.have.cmp(&self.count) {
            core::cmp::Ordering::Less => Added::Some,
            core::cmp::Ordering::Equal if self.digest_so_far == self.digest => Added::Last,
            core::cmp::Ordering::Equal | core::cmp::Ordering::Greater => Added::Wrong,
        }
    }
}

/// This member's own report, for as long as others may fetch it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Kept {
    pub(super) names: Vec<(Key, NameReport)>,
    /// The members that have not fetched all.
    pub(super) missing: NodeSet,
}

impl Kept {
    /// The same, to be fetched by these.
    pub(super) fn for_each(&self, members: impl Iterator<Item = NodeId>) -> Self {
        let missing: NodeSet = members.collect();
        if missing.is_empty() {
            return Self::default();
        }
        Self { names: self.names.clone(), missing }
    }

    /// What comes after so many names, for this member.
    pub(super) fn chunk(&mut self, to: NodeId, after: u32, bytes: usize) -> Option<Chunk> {
        let rest = self.names.get(after as usize..)?;
        if rest.is_empty() {
            self.missing.remove(to);
            if self.missing.is_empty() {
                *self = Self::default();
            }
            return None;
        }
        Some(Chunk { after, names: rest[..fit(rest, bytes)].to_vec() })
    }
}
