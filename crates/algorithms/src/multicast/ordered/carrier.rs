//! Carriers: the part of a multicast that handles losses.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::time::Duration;

use vorrang_protocol::{Data, Effects, NodeId, NodeState};

use super::Ordered;
use crate::multicast::body::Body;
use crate::setup::Setup;
use crate::topology::Topology;
use crate::topology::measure::distances;

/// How many links away each member is, unless all are linked to all.
pub(in crate::multicast) fn links(me: NodeId, setup: &Setup) -> Option<Arc<[u32]>> {
    if setup.topology == Topology::Complete {
        return None;
    }
    let graph = setup.topology.graph(setup.group).ok()?;
    distances(&graph, me).into_iter().collect()
}

/// How long a message takes to the farthest member at most.
pub(in crate::multicast) fn longest(me: NodeId, setup: &Setup) -> Duration {
    let farthest = links(me, setup).and_then(|links| links.iter().copied().max());
    setup.within.saturating_mul(farthest.unwrap_or(1).max(1))
}

/// Gets bodies from every member to all others: each once, and those of one sender in the order in
/// which it sent them.
///
/// It is a part of a node ([`Ordered`]) and acts through the node's effects.
pub trait Carrier: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// The messages between carriers.
    type Message: vorrang_protocol::Message;
    /// The timers of a carrier.
    type Timer: Data + Copy;

    /// That of a member that is set up like this.
    fn of(me: NodeId, setup: &Setup) -> Self;

    /// Sends a body to all others. Only if there is room.
    fn cast(&mut self, body: Body, fx: &mut impl Effects<Ordered<Self>>);

    /// Something has come.
    fn on_message(
        &mut self,
        from: NodeId,
        message: Self::Message,
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    );

    /// A timer has run out.
    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Ordered<Self>>);

    /// Begins anew with this number: drops everything, waits for nobody, hears nobody.
    fn anew(&mut self, first: u64, fx: &mut impl Effects<Ordered<Self>>);

    /// Waits for this member no longer.
    fn dismiss(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>);

    /// Waits for a new incarnation of this member, and for its former no longer; from which number
    /// on.
    fn admit(&mut self, id: NodeId, fx: &mut impl Effects<Ordered<Self>>) -> u64;

    /// Drops what is here of this member's messages, and takes those from this number on.
    fn listen(&mut self, from: NodeId, first: u64, fx: &mut impl Effects<Ordered<Self>>);

    /// This member is there, though nothing that it says can be heeded yet.
    fn heard(&mut self, _: NodeId) {}

    /// Whether this member is not waited for.
    fn is_removed(&self, id: NodeId) -> bool;

    /// The first number that this member is not known to have.
    fn owes(&self, id: NodeId) -> u64;

    /// The number of the next message.
    fn next(&self) -> u64;

    /// Whether one more may be under way.
    fn has_room(&self) -> bool;

    /// Its variables, under their names.
    fn state(&self) -> NodeState;

    /// Whether a member may still miss a message that was sent from here.
    fn has_obligations(&self) -> bool;

    /// How many bodies it keeps, for others or because they came too early.
    fn buffered(&self) -> usize;
}

/// What a carrier hands up.
#[derive(Debug)]
pub enum Outcome {
    /// The next message.
    Came(Body),
    /// All up to this number that have not been handed up never will be.
    Missed(u64),
}

/// Delivered bodies: nearly always one, so that one takes no memory.
#[derive(Debug, Default)]
pub struct Up {
    first: Option<(NodeId, Outcome)>,
    more: Vec<(NodeId, Outcome)>,
}

impl Up {
    /// Hands up what came from a member.
    pub fn push(&mut self, from: NodeId, body: Body) {
        self.add(from, Outcome::Came(body));
    }

    /// Says that the next of a member's messages, up to this number, will not come.
    pub fn miss(&mut self, from: NodeId, below: u64) {
        self.add(from, Outcome::Missed(below));
    }

    fn add(&mut self, from: NodeId, outcome: Outcome) {
        if self.first.is_none() {
            self.first = Some((from, outcome));
        } else {
            self.more.push((from, outcome));
        }
    }

    /// All of it, in order.
    pub fn take(self) -> impl Iterator<Item = (NodeId, Outcome)> {
        self.first.into_iter().chain(self.more)
    }
}
