//! The values that locks on views transfer, and the factory of their nodes.

use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Group, NodeId, NodeState, StateValue};

use super::Exclusive;
use super::in_views::Report;
use super::rebuild::{Rebuilt, Roster, rebuild};
use crate::group::shown::Shown;
use crate::layer::Reliable;
use crate::layer::reliable::{Peers, Retries};
use crate::mutex::Claim;

/// The state of an application when a view ends, for transfer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ApplicationState {
    /// Since when it waits, if it does.
    pub waits_since: Option<u64>,
    /// Whether it is inside.
    pub is_inside: bool,
    /// With what it is inside, or wants to be.
    pub claim: Claim,
    /// Whether an evicted member may not know it yet.
    pub is_early: bool,
    /// The node's clock.
    pub clock: u64,
}

/// In the words of the [instance](super::instance) that it was; what is not so is left out.
impl Shown for ApplicationState {
    fn shown(&self) -> StateValue {
        let Self { waits_since, is_inside, claim, is_early, clock } = *self;
        let application = match (is_inside, waits_since) {
            (true, _) => "inside",
            (false, Some(_)) => "waiting",
            (false, None) => "outside",
        };
        let is_usual = claim == Claim::Exclusive;
        NodeState::new()
            .with("application", application)
            .with_if_any("since", waits_since)
            .with_if_any("claim", (!is_usual).then(|| StateValue::shown(&claim)))
            .with_if_any("early", is_early.then_some(true))
            .with("entries", clock)
            .into()
    }
}

impl Report for ApplicationState {
    fn is_early(&self) -> bool {
        self.is_early
    }
    fn clock(&self) -> u64 {
        self.clock
    }
}

/// Makes the nodes of an algorithm among so many: the same for all nodes of a group.
pub struct NodeFactory<P> {
    make: Arc<Make<P>>,
    rebuild: Arc<Rebuild<P>>,
}

type Make<P> = dyn Fn(NodeId, Group) -> P + Send + Sync;

type Rebuild<P> = dyn Fn((NodeId, Group), &Roster) -> Option<Rebuilt<P>> + Send + Sync;

impl<P: Exclusive> NodeFactory<P> {
    /// By this; and where some are inside or wait, [as they should be by now](super::rebuild).
    pub fn new(make: impl Fn(NodeId, Group) -> P + Send + Sync + 'static) -> Self {
        let make: Arc<Make<P>> = Arc::new(make);
        let same = Arc::clone(&make);
        Self { make, rebuild: Arc::new(move |place, roster| rebuild(&*same, place, roster)) }
    }

    /// The same without the latter: all who wait ask again.
    #[must_use]
    pub fn asking_again(self) -> Self {
        Self { rebuild: Arc::new(|_, _| None), ..self }
    }

    /// The same with a mistake: each member believes that it has waited longest itself.
    #[must_use]
    pub fn in_own_order(self) -> Self {
        let Self { make, rebuild } = self;
        let rebuild = move |(me, group), roster: &Roster| {
            let mut roster = roster.clone();
            roster.waiting.sort_by_key(|it| it.0 != me);
            rebuild((me, group), &roster)
        };
        Self { make, rebuild: Arc::new(rebuild) }
    }

    /// The same over channels of their own in every view, for links that lose messages.
    #[must_use]
    pub fn over_channels(self, patience: Retries) -> NodeFactory<Reliable<P>> {
        self.map(move |me, group, node| Reliable::new(me, node, Peers::All(group), patience))
    }
}

impl<P: 'static> NodeFactory<P> {
    /// A node of the algorithm, in a group of its own.
    pub fn node(&self, me: NodeId, group: Group) -> P {
        (self.make)(me, group)
    }

    /// A node as it should be by now, if that can be told.
    pub fn rebuilt(&self, me: NodeId, group: Group, roster: &Roster) -> Option<Rebuilt<P>> {
        (self.rebuild)((me, group), roster)
    }

    /// The same with something around every node.
    #[must_use]
    pub fn map<Q>(
        self,
        around: impl Fn(NodeId, Group, P) -> Q + Clone + Send + Sync + 'static,
    ) -> NodeFactory<Q> {
        let Self { make, rebuild } = self;
        let outside = around.clone();
        NodeFactory {
            make: Arc::new(move |me, group| outside(me, group, make(me, group))),
            rebuild: Arc::new(move |(me, group), roster| {
                let Rebuilt { node, is_in } = rebuild((me, group), roster)?;
                Some(Rebuilt { node: around(me, group, node), is_in })
            }),
        }
    }
}

impl<P> Clone for NodeFactory<P> {
    fn clone(&self) -> Self {
        Self { make: Arc::clone(&self.make), rebuild: Arc::clone(&self.rebuild) }
    }
}

/// There is one in a group.
impl<P> PartialEq for NodeFactory<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P> Eq for NodeFactory<P> {}

impl<P> Hash for NodeFactory<P> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<P> fmt::Debug for NodeFactory<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anew")
    }
}
