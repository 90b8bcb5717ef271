//! What locks on views hand over and are made of.

use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Group, NodeId};

use super::Exclusive;
use crate::layer::Reliable;
use crate::layer::reliable::{Patience, Peers};

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

/// Makes the nodes of an algorithm among so many: the same for all nodes of a group.
pub struct Anew<P>(pub(super) Arc<dyn Fn(NodeId, Group) -> P + Send + Sync>);

impl<P> Anew<P> {
    /// By this.
    pub fn new(make: impl Fn(NodeId, Group) -> P + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl<P: Exclusive> Anew<P> {
    /// The same over channels of their own in every view, for links that lose messages.
    #[must_use]
    pub fn over_channels(self, patience: Patience) -> Anew<Reliable<P>> {
        let Self(make) = self;
        Anew::new(move |me, group| Reliable::new(me, make(me, group), Peers::All(group), patience))
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
