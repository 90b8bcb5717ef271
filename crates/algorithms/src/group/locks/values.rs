//! What locks on views tell, hand over and are made of.

use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Group, NodeId, Step, Turn};

/// How an application stands when a view ends: what is handed over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// Since when it waits, if it does.
    pub waits_since: Option<u64>,
    /// Whether it is inside.
    pub is_inside: bool,
    /// Whether somebody may not know yet that it was left behind.
    pub is_early: bool,
    /// The node's clock.
    pub clock: u64,
}

/// What an entry shows to the resource: larger is later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Fence {
    /// The view, compared first.
    pub view: u64,
    /// The Lamport clock at the entry.
    pub clock: u64,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.view, self.clock)
    }
}

/// What an application is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// You are inside, until you release or are put out.
    Entered(Fence),
    /// You are inside no more: the others have gone on without you.
    PutOut,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered(fence) => write!(f, "entered {fence}"),
            Self::PutOut => f.write_str("put out"),
        }
    }
}

impl Turn for Notice {
    fn step(&self) -> Option<Step> {
        match self {
            Self::Entered(_) => Some(Step::Enter),
            Self::PutOut => None,
        }
    }
}

/// Makes the nodes of an algorithm among so many: the same for all nodes of a group.
pub struct Anew<P>(pub(super) Arc<dyn Fn(NodeId, Group) -> P + Send + Sync>);

impl<P> Anew<P> {
    /// By this.
    pub fn new(make: impl Fn(NodeId, Group) -> P + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl<P> Clone for Anew<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// There is one in a group.
impl<P> PartialEq for Anew<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P> Eq for Anew<P> {}

impl<P> Hash for Anew<P> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<P> fmt::Debug for Anew<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anew")
    }
}
