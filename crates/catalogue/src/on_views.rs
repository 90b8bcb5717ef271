//! Groups that agree on who belongs to them, between processes and in all other drivers: any
//! algorithm for mutual exclusion inside such a group, and virtual synchrony. Compiled once for all
//! algorithms.

use std::sync::Arc;
use std::time::Duration;

use vorrang_algorithms::flaw::{AnyMistake, Flawed};
use vorrang_algorithms::group::detecting::Detecting;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::flaws::{
    ClockNotCarried, EntersFrozen, HolderForgotten, LocksFlaw, ReplacedLifeNotAwaited, ViewIgnored,
};
use vorrang_algorithms::group::locks::{
    Lease, Locks, NodeFactory, OnViews, ViewLayer, message, on_views, with_memory, without_memory,
};
use vorrang_algorithms::group::{GroupCommunication, named, virtual_synchrony};
use vorrang_algorithms::layer::reliable::{self, Retries};
use vorrang_algorithms::layer::second_process::{Process, Shared};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_erased::{AnyNode, Fresh, OpaqueNode};
use vorrang_protocol::{Group, Message, NodeId, Protocol};

use crate::nodes::kept;
use crate::{Entry, Kinds, NodeOf, Nodes, correct};

/// A node of a lock on views that is told whom to suspect.
pub type ToldNode = AnyNode<Input<Command>, Notice>;

/// A lock on views.
#[derive(Debug)]
pub struct LockOnViews {
    setup: Setup,
    anew: NodeFactory<NodeOf<Mutex>>,
    lease: Option<Lease>,
    /// Whether there is no stable storage.
    forgets: bool,
    kinds: Kinds,
}

/// A group whose nodes are told whom to suspect.
#[derive(Clone, Copy, Debug)]
pub struct ToldGroup {
    /// So many have founded it, and know its first view; the others come in.
    pub founders: u32,
    /// The number under which a second process is started, by the first command to the place
    /// behind all others, while the first goes on.
    pub second: Option<NodeId>,
}

/// A life as founders without stable storage have it, in microseconds, for a first view of number
/// 1.
const FIRST_VIEW: u64 = 1000;
/// A life that is later than all that the first process under a number can have.
const SECOND_LIFE: u64 = 1000;

/// How a mistake is made.
enum Made {
    InOwnOrder,
    /// Around nodes among which those who wait ask again.
    Around(&'static dyn AnyMistake<Locks<NodeOf<Mutex>>>),
}

fn made_with(flaw: LocksFlaw) -> Made {
    match flaw {
        LocksFlaw::OwnOrder => Made::InOwnOrder,
        LocksFlaw::EntersFrozen => Made::Around(&EntersFrozen),
        LocksFlaw::HolderForgotten => Made::Around(&HolderForgotten),
        LocksFlaw::ViewIgnored => Made::Around(&ViewIgnored),
        LocksFlaw::ClockNotCarried => Made::Around(&ClockNotCarried),
        LocksFlaw::ReplacedLifeNotAwaited => Made::Around(&ReplacedLifeNotAwaited),
    }
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
        Self { setup: setup.clone(), anew, lease, forgets: false, kinds }
    }

    /// The same without stable storage: nodes that restart know nothing, and all come in when they
    /// start.
    #[must_use]
    pub fn forgetful(self) -> Self {
        Self { forgets: true, ..self }
    }

    /// Its nodes, with a mistake if there is to be one.
    pub fn nodes(self, flaw: Option<LocksFlaw>) -> Nodes<Mutex> {
        match flaw.map(made_with) {
            None => self.typed(),
            Some(Made::InOwnOrder) => Self { anew: self.anew.in_own_order(), ..self }.typed(),
            Some(Made::Around(mistake)) => self.flawed(mistake),
        }
    }

    /// Its nodes where they are told whom to suspect; with a mistake if there is to be one.
    pub fn told(self, group: ToldGroup, flaw: Option<LocksFlaw>) -> Vec<ToldNode> {
        let ToldGroup { founders, second } = group;
        let universe = self.setup.group;
        let founders: Vec<NodeId> = (0..founders).map(NodeId).collect();
        let (anew, mistake) = match flaw.map(made_with) {
            None => (self.anew, None),
            Some(Made::InOwnOrder) => (self.anew.in_own_order(), None),
            Some(Made::Around(mistake)) => (self.anew.asking_again(), Some(mistake)),
        };
        let shared = second.map(|number| Shared { number, second: NodeId(universe.size()) });
        let node = |place: NodeId| {
            let me = shared.map_or(place, |it| it.number_of(place));
            let locks = Locks::new(me, universe, &founders, anew.clone()).with_lease(self.lease);
            let locks = if self.forgets { locks.without_storage() } else { locks };
            let locks = if me == place { locks } else { locks.in_life(SECOND_LIFE) };
            let locks = match mistake {
                None => Flawed::correct(locks),
                Some(mistake) => Flawed::new(locks, mistake),
            };
            match shared {
                None => AnyNode::new(locks),
                Some(shared) => AnyNode::new(Process::new(place, shared, locks)),
            }
        };
        universe.members().chain(shared.map(|it| it.second)).map(node).collect()
    }

    fn node(&self, id: NodeId) -> OnViews<NodeOf<Mutex>> {
        let (setup, anew) = (&self.setup, self.anew.clone());
        if self.forgets {
            let founding = founding(FIRST_VIEW, setup.group.size(), setup, Some(Duration::ZERO));
            let node = without_memory(id, setup, (0, Some(founding)), anew, self.lease);
            return node.map(Locks::telling_views);
        }
        let founders: Vec<NodeId> = setup.group.members().collect();
        on_views(id, setup, &founders, anew, self.lease)
    }

    fn typed(self) -> Nodes<Mutex> {
        let (group, kinds) = (self.setup.group, self.kinds);
        // Of the type that nodes with a mistake are of.
        Nodes::unguarded(group, Arc::new(move |id| self.node(id).map(Flawed::correct)), kinds)
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

/// Makes a node of an algorithm, in views of one size.
pub type NewNode = Fresh<NodeOf<Mutex>>;

/// Nodes whose messages are bytes.
type Opaque = OpaqueNode<Command, Notice>;

/// Makes such nodes for views of every size, from what makes nodes for each, the smallest first.
fn opaque(by_size: Vec<NewNode>) -> NodeFactory<Opaque> {
    NodeFactory::new(move |me, group: Group| {
        OpaqueNode::new(by_size[group.size() as usize - 1](me), group.size())
    })
}

/// A group as its founders found it: with a first view of the number that a life has, where that is
/// in microseconds. In milliseconds then: views are fewer than these, so that a group which is
/// founded once more, by those who have forgotten the one before, has larger numbers than that ever
/// had.
///
/// Founders without stable storage wait for members of a group that is still there: until a silent
/// one would be suspected, and in any case until all that call them, with pauses as long as this at
/// most, have called.
pub fn founding(life: u64, founders: u32, setup: &Setup, pauses: Option<Duration>) -> Founding {
    let patience = pauses.map_or(0, |pauses| {
        let wait = setup.beat.saturating_add(setup.margin).max(pauses);
        let beats = wait.as_nanos().div_ceil(setup.beat.as_nanos().max(1)) + 1;
        u32::try_from(beats).unwrap_or(u32::MAX)
    });
    Founding { view: life / 1000, founders: (0..founders).map(NodeId).collect(), patience }
}

/// A lock on views between processes: messages inside views are bytes.
#[derive(Clone, Debug)]
pub struct LockBetweenProcesses {
    anew: NodeFactory<Opaque>,
    lease: Option<Lease>,
    tells_views: bool,
}

impl LockBetweenProcesses {
    /// The lock of an algorithm whose nodes are made for views of every size, the smallest first.
    pub fn new(by_size: Vec<NewNode>, lease: Option<Lease>) -> Self {
        Self { anew: opaque(by_size), lease, tells_views: false }
    }

    /// The same where applications are told of views.
    #[must_use]
    pub fn telling_views(self) -> Self {
        Self { tells_views: true, ..self }
    }

    /// The same with a mistake: see [`LocksFlaw::OwnOrder`].
    #[must_use]
    pub fn in_own_order(self) -> Self {
        Self { anew: self.anew.in_own_order(), ..self }
    }

    /// The names of the kinds of its messages.
    pub const fn kinds() -> Kinds {
        <<OnViews<Opaque> as Protocol>::Message as Message>::KINDS
    }

    /// A member with stable storage, in this incarnation.
    pub fn with_memory(&self, id: NodeId, setup: &Setup, born: (u64, Founding)) -> NodeOf<Mutex> {
        self.erased(with_memory(id, setup, born, self.anew.clone(), self.lease))
    }

    /// A member without, which founds the group or comes in.
    pub fn without_memory(
        &self,
        id: NodeId,
        setup: &Setup,
        born: (u64, Option<Founding>),
    ) -> NodeOf<Mutex> {
        self.erased(without_memory(id, setup, born, self.anew.clone(), self.lease))
    }

    fn erased(&self, node: OnViews<Opaque>) -> NodeOf<Mutex> {
        let telling = |locks: Locks<Opaque>| {
            if self.tells_views { locks.telling_views() } else { locks }
        };
        AnyNode::new(node.map(telling))
    }
}

/// A member of a group that has many named locks.
pub type NamedNode = AnyNode<named::Command, named::Notice>;

/// Many named locks of one group between processes.
#[derive(Clone, Debug)]
pub struct NamedLocksBetweenProcesses {
    anew: NodeFactory<Opaque>,
    limits: named::Limits,
    lease: Option<Lease>,
}

impl NamedLocksBetweenProcesses {
    /// The locks of an algorithm whose nodes are made for views of every size, the smallest first.
    pub fn new(by_size: Vec<NewNode>, limits: named::Limits, lease: Option<Lease>) -> Self {
        Self { anew: opaque(by_size), limits, lease }
    }

    /// A member with stable storage, in this incarnation.
    pub fn with_memory(&self, id: NodeId, setup: &Setup, born: (u64, Founding)) -> NamedNode {
        let named = (self.anew.clone(), self.limits);
        AnyNode::new(named::with_memory(id, setup, born, named, self.lease))
    }

    /// A member without, which founds the group or comes in.
    pub fn without_memory(
        &self,
        id: NodeId,
        setup: &Setup,
        born: (u64, Option<Founding>),
    ) -> NamedNode {
        let named = (self.anew.clone(), self.limits);
        AnyNode::new(named::without_memory(id, setup, born, named, self.lease))
    }
}

impl Entry<Mutex> {
    /// What makes its nodes in views of every size, the smallest first.
    ///
    /// # Errors
    ///
    /// If it cannot be set up in views of some size.
    pub fn in_every_view(&self, setup: &Setup) -> Result<Vec<NewNode>, (u32, Unfit)> {
        let nodes = |members| self.recipe.nodes(&among(setup, members));
        (1..=setup.group.size()).map(|it| nodes(it).map_err(|unfit| (it, unfit))).collect()
    }
}

/// The set-up of an algorithm in a view of so many members.
fn among(setup: &Setup, members: u32) -> Setup {
    let group = Group::of(members);
    let is_usual = setup.quorum == Quorums::usual(setup.group);
    let quorum = if is_usual { Quorums::usual(group) } else { setup.quorum.clone() };
    Setup { group, quorum, k: setup.k.min(members), within: silence(setup), ..setup.clone() }
}

/// How long an algorithm believes a message to take within a view. If it gives up a silent node, it
/// goes on without a message of that one, and then fencing tokens need not grow: so it must not,
/// before the next view does. That is there when the silence was noticed, with all that it takes to
/// agree; twice as long is enough for a message that comes before its view does.
fn silence(setup: &Setup) -> Duration {
    const ROUNDS: u32 = 8;
    let Setup { within, beat, margin, late, .. } = setup;
    let noticed = beat.saturating_add(*margin).saturating_add(*late).saturating_mul(2);
    noticed.saturating_add(within.saturating_mul(ROUNDS)).saturating_mul(2)
}

/// A member of a group between processes whose members multicast.
pub fn member(
    id: NodeId,
    setup: &Setup,
    born: (u64, Option<Founding>),
) -> NodeOf<GroupCommunication> {
    correct(virtual_synchrony::open(id, setup, born))
}
