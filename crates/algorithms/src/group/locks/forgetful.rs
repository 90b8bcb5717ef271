//! Locks on views whose members come in when they start, without stable storage and with it.

use vorrang_protocol::NodeId;

use super::instance::Instance;
use super::{Exclusive, Lease, Locks, NodeFactory, OnViews, OneLock, ViewLayer};
use crate::group::detecting::Detecting;
use crate::group::founding::Founding;
use crate::group::views::Views;
use crate::setup::Setup;

/// A node as of [`on_views`](super::on_views), without stable storage, in this incarnation, which
/// knows no group yet: it joins when it starts. See [`Views::forgetful`]. Its application is told
/// of no views: its driver can [query](vorrang_protocol::Protocol::group_view) them.
pub fn without_memory<P: Exclusive>(
    me: NodeId,
    setup: &Setup,
    (incarnation, founding): (u64, Option<Founding>),
    anew: NodeFactory<P>,
    lease: Option<Lease>,
) -> OnViews<P> {
    let views = Views::forgetful(me, setup.group, incarnation, founding);
    joining(me, setup, views, anew, lease)
}

/// The same with stable storage, in a group that these are to found, and have the first votes in:
/// see [`Views::remembering`].
pub fn with_memory<P: Exclusive>(
    me: NodeId,
    setup: &Setup,
    (incarnation, founding): (u64, Founding),
    anew: NodeFactory<P>,
    lease: Option<Lease>,
) -> OnViews<P> {
    let views = Views::remembering(me, setup.group, incarnation, founding);
    joining(me, setup, views, anew, lease)
}

impl<P: Exclusive> Locks<P> {
    /// The same without stable storage: see [`Views::without_storage`].
    #[must_use]
    pub fn without_storage(self) -> Self {
        Self { views: self.views.without_storage(), ..self }
    }

    /// The same as another process, which was started later under the number and knows of no view.
    #[must_use]
    pub fn in_life(self, life: u64) -> Self {
        // It asks to come in when it starts.
        let views = Views { wants: false, ..self.views.in_life(life) };
        Self { views, ..self }
    }
}

fn joining<P: Exclusive>(
    me: NodeId,
    setup: &Setup,
    views: ViewLayer,
    anew: NodeFactory<P>,
    lease: Option<Lease>,
) -> OnViews<P> {
    let locks = Locks::over(me, views, OneLock { anew, instance: Instance::new() });
    Detecting::new(me, setup, locks.with_lease(lease))
}
