//! Groups that agree on who belongs to them, between processes and in all other drivers: any
//! algorithm for mutual exclusion inside such a group, and virtual synchrony. Compiled once for all
//! algorithms.

use std::sync::Arc;

use vorrang_algorithms::flaw::{AnyMistake, Flawed};
use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::forgetful::Founding;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::flaws::{
    ClockNotCarried, EntersFrozen, HolderForgotten, LocksFlaw, ViewIgnored,
};
use vorrang_algorithms::group::locks::{
    Lease, Locks, NodeFactory, OnViews, ViewLayer, message, on_views, with_memory, without_memory,
};
use vorrang_algorithms::group::{GroupCommunication, virtual_synchrony};
use vorrang_algorithms::layer::reliable::{self, Retries};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_erased::{AnyNode, Fresh, OpaqueNode};
use vorrang_protocol::{Group, NodeId, Protocol};

use crate::nodes::kept;
use crate::{Kinds, NodeOf, Nodes, correct};

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

/// A lock on views between processes: messages inside views are bytes.
#[derive(Clone, Debug)]
pub struct LockBetweenProcesses {
    anew: NodeFactory<OpaqueNode<Command, Notice>>,
    lease: Option<Lease>,
}

impl LockBetweenProcesses {
    /// The lock of an algorithm whose nodes are made for views of every size, the smallest first.
    pub fn new(by_size: Vec<Fresh<NodeOf<Mutex>>>, lease: Option<Lease>) -> Self {
        let anew = NodeFactory::new(move |me, group: Group| {
            OpaqueNode::new(by_size[group.size() as usize - 1](me), group.size())
        });
        Self { anew, lease }
    }

    /// A member with stable storage, in this incarnation.
    pub fn with_memory(&self, id: NodeId, setup: &Setup, born: (u64, Founding)) -> NodeOf<Mutex> {
        AnyNode::new(with_memory(id, setup, born, self.anew.clone(), self.lease))
    }

    /// A member without, which founds the group or comes in.
    pub fn without_memory(
        &self,
        id: NodeId,
        setup: &Setup,
        born: (u64, Option<Founding>),
    ) -> NodeOf<Mutex> {
        AnyNode::new(without_memory(id, setup, born, self.anew.clone(), self.lease))
    }
}

/// A member of a group between processes whose members multicast.
pub fn member(
    id: NodeId,
    setup: &Setup,
    born: (u64, Option<Founding>),
) -> NodeOf<GroupCommunication> {
    correct(virtual_synchrony::open(id, setup, born))
}
