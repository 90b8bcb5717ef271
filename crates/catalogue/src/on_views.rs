//! Locks on views: any algorithm for mutual exclusion inside a group that agrees on who belongs to
//! it. Compiled once for all of them.

use std::sync::Arc;

use vorrang_algorithms::flaw::{AnyMistake, Flawed};
use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::flaws::{
    ClockNotCarried, EntersFrozen, HolderForgotten, LocksFlaw, ViewIgnored,
};
use vorrang_algorithms::group::locks::{
    Lease, Locks, NodeFactory, OnViews, ViewLayer, message, on_views,
};
use vorrang_algorithms::layer::reliable::{self, Retries};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::{AnyNode, Fresh};
use vorrang_protocol::{Group, NodeId, Protocol};

use crate::nodes::kept;
use crate::{Kinds, NodeOf, Nodes};

/// A node of a lock on views that is told whom to suspect.
pub type ToldNode = AnyNode<Input<Command>, Notice>;

/// A lock on views.
#[derive(Debug)]
pub struct LockOnViews {
    setup: Setup,
    anew: NodeFactory<NodeOf<Mutex>>,
    lease: Option<Lease>,
    kinds: Kinds,
}

impl LockOnViews {
    /// The lock of an algorithm whose nodes are made for views of every size, the smallest first,
    /// and whose messages have these kinds. With `channels` the algorithm has reliable ones of its
    /// own in every view.
    pub fn new(
        setup: &Setup,
        (by_size, kinds): (Vec<Fresh<NodeOf<Mutex>>>, Kinds),
        channels: Option<Retries>,
        lease: Option<Lease>,
    ) -> Self {
        let anew = NodeFactory::new(move |me, group: Group| by_size[group.size() as usize - 1](me));
        let (anew, within) = match channels {
            None => (anew, kinds.to_vec()),
            Some(retries) => {
                let over = anew.over_channels(retries).map(|_, _, node| AnyNode::new(node));
                (over, reliable::kinds(kinds))
            }
        };
        let kinds = kept(message::kinds::<<ViewLayer as Protocol>::Message>(&within));
        Self { setup: setup.clone(), anew, lease, kinds }
    }

    /// Its nodes, with a mistake if there is to be one.
    pub fn nodes(self, flaw: Option<LocksFlaw>) -> Nodes<Mutex> {
        match flaw {
            None => self.typed(),
            Some(LocksFlaw::EntersFrozen) => self.flawed(&EntersFrozen),
            Some(LocksFlaw::HolderForgotten) => self.flawed(&HolderForgotten),
            Some(LocksFlaw::ViewIgnored) => self.flawed(&ViewIgnored),
            Some(LocksFlaw::ClockNotCarried) => self.flawed(&ClockNotCarried),
            Some(LocksFlaw::OwnOrder) => Self { anew: self.anew.in_own_order(), ..self }.typed(),
        }
    }

    /// Its nodes where they are told whom to suspect, of which the first so many have founded the
    /// group and the others come in; with a mistake if there is to be one.
    pub fn told(self, founders: u32, flaw: Option<LocksFlaw>) -> Vec<ToldNode> {
        let group = self.setup.group;
        let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
        let anew = match flaw {
            None => self.anew,
            Some(LocksFlaw::OwnOrder) => self.anew.in_own_order(),
            // Made where those who wait ask again.
            Some(
                LocksFlaw::EntersFrozen
                | LocksFlaw::HolderForgotten
                | LocksFlaw::ViewIgnored
                | LocksFlaw::ClockNotCarried,
            ) => self.anew.asking_again(),
        };
        let locks = |id| Locks::new(id, group, &founders, anew.clone());
        let flawed = |id, mistake: &'static dyn AnyMistake<Locks<NodeOf<Mutex>>>| {
            AnyNode::new(Flawed::new(locks(id), mistake))
        };
        let node = |id| match flaw {
            None | Some(LocksFlaw::OwnOrder) => AnyNode::new(locks(id)),
            Some(LocksFlaw::EntersFrozen) => flawed(id, &EntersFrozen),
            Some(LocksFlaw::HolderForgotten) => flawed(id, &HolderForgotten),
            Some(LocksFlaw::ViewIgnored) => flawed(id, &ViewIgnored),
            Some(LocksFlaw::ClockNotCarried) => flawed(id, &ClockNotCarried),
        };
        group.members().map(node).collect()
    }

    fn node(&self, id: NodeId) -> OnViews<NodeOf<Mutex>> {
        let founders: Vec<NodeId> = self.setup.group.members().collect();
        on_views(id, &self.setup, &founders, self.anew.clone(), self.lease)
    }

    fn typed(self) -> Nodes<Mutex> {
        let (group, kinds) = (self.setup.group, self.kinds);
        Nodes::of(group, Arc::new(move |id| self.node(id)), Vec::new(), kinds)
    }

    /// With a mistake, made where those who wait ask again.
    fn flawed(self, mistake: &'static dyn AnyMistake<Locks<NodeOf<Mutex>>>) -> Nodes<Mutex> {
        let (group, kinds) = (self.setup.group, self.kinds);
        let slow = Self { anew: self.anew.asking_again(), ..self };
        let node = move |id| {
            let flawed = slow.node(id).map(|locks| Flawed::new(locks, mistake));
            AnyNode::new::<Detecting<Flawed<Locks<NodeOf<Mutex>>>>>(flawed)
        };
        Nodes::without_types(group, Arc::new(node), kinds)
    }
}
