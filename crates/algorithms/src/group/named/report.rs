//! What members report of names when a view ends: those that are held or waited for, and no others.
//!
//! Few names are part of the decision on the next view. Of many only their number and a digest are
//! decided, and whoever needs the names fetches them, a chunk at a time, from the member that has
//! reported them, once the view has begun. If that member is gone by then, another view follows, in
//! which it is not needed.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Digest, NodeState, StateValue};

use super::command::Lead;
use super::name::Key;
use super::permit::Standing;
use crate::group::locks::in_views::Report;
use crate::group::locks::instance::Stance;
use crate::group::shown::Shown;
use crate::mutex::Claim;

/// What a member hands over when a view ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Handover {
    /// Whether an evicted member may not know it yet.
    pub is_early: bool,
    /// Its clock.
    pub clock: u64,
    /// The names.
    pub names: Names,
}

impl Shown for Handover {
    fn shown(&self) -> StateValue {
        let Self { is_early, clock, names } = self;
        let names = match names {
            Names::These(names) => named(names),
            Names::Many { count, digest } => (*count, digest.shown()).into(),
        };
        NodeState::new()
            .with_if_any("early", is_early.then_some(true))
            .with("entries", *clock)
            .with("names", names)
            .into()
    }
}

/// Names, and how clients stand to each.
pub(super) fn named(names: &[(Key, NameReport)]) -> StateValue {
    StateValue::list(names.iter().map(|(key, stand)| (StateValue::shown(key), stand.shown())))
}

impl Report for Handover {
    fn is_early(&self) -> bool {
        self.is_early
    }
    fn clock(&self) -> u64 {
        self.clock
    }
}

/// The names that clients of a member have or wait for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// These.
    These(Vec<(Key, NameReport)>),
    /// Too many for a decision.
    Many {
        /// So many.
        count: u32,
        /// Of all of them.
        digest: Digest,
    },
}

/// How the clients of a member stand to a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameReport {
    /// Of a lock, or an election: as its member does.
    Lock {
        /// Since when it waits, if it does not have it.
        waits_since: Option<u64>,
        /// Whether it shares it, or wants to.
        is_shared: bool,
        /// The leader, if it is of this member.
        lead: Option<Lead>,
    },
    /// Of a semaphore.
    Semaphore(Standing),
}

impl NameReport {
    pub(super) fn stance(&self) -> Option<Stance> {
        match self {
            Self::Lock { waits_since, is_shared, .. } => Some(Stance {
                waits_since: *waits_since,
                is_inside: waits_since.is_none(),
                claim: claim(*is_shared),
            }),
            Self::Semaphore(_) => None,
        }
    }

    pub(super) fn shown(&self) -> StateValue {
        let state = NodeState::new();
        let state = match self {
            Self::Lock { waits_since, is_shared, lead } => state
                .with("member", if waits_since.is_some() { "waiting" } else { "inside" })
                .with_if_any("since", *waits_since)
                .with_if_any("shared", is_shared.then_some(true))
                .with_if_any("lead", lead.as_ref().map(Lead::shown)),
            Self::Semaphore(Standing { inside, waiting }) => state
                .with("inside", StateValue::list(inside.iter().copied()))
                .with("waiting", StateValue::list(waiting.iter().copied())),
        };
        state.into()
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        match self {
            Self::Lock { lead, .. } => {
                16 + lead.as_ref().map_or(0, |it| it.value.as_str().len() + 32)
            }
            Self::Semaphore(Standing { inside, waiting }) => {
                8 + 4 * inside.len() + 12 * waiting.len()
            }
        }
    }
}

/// Some of the names of a report.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Chunk {
    /// They come after so many.
    pub after: u32,
    /// In their order.
    pub names: Vec<(Key, NameReport)>,
}

/// So many of these names as take so many bytes, at least one if there is one.
pub(super) fn fit(names: &[(Key, NameReport)], bytes: usize) -> usize {
    let mut left = bytes;
    let fit = names.iter().take_while(|(key, stand)| {
        let size = key.name.as_str().len() + 4 + stand.size();
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    fit.count().max(1).min(names.len())
}

/// The names, as they are decided: themselves, if they take so many bytes at most.
pub(super) fn names(names: &[(Key, NameReport)], bytes: usize) -> Names {
    if fit(names, bytes) == names.len() {
        return Names::These(names.to_vec());
    }
    let digest = names.iter().fold(Digest(0), with);
    Names::Many { count: names.len() as u32, digest }
}

/// The digest of one more name.
pub(super) fn with(Digest(before): Digest, name: &(Key, NameReport)) -> Digest {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325 ^ before);
    name.hash(&mut hasher);
    Digest(hasher.0)
}

/// FNV-1a, the same on every machine.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }
    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

/// The claim of a client that shares, or does not.
pub(super) const fn claim(is_shared: bool) -> Claim {
    if is_shared { Claim::Shared } else { Claim::Exclusive }
}
