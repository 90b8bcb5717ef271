//! Who decides what comes next: propose, and learn.
//!
//! A group needs one decision for every view: what the next one is. Whoever decides is asked to
//! [propose](Decide::Propose) something for a number, and some time tells what was
//! [decided](Decided::Learned) under that number, perhaps somebody else's proposal. Under one
//! number everyone learns the same. That is all that the layers above know, so that an existing
//! service may decide as well; [`Synod`](super::synod::Synod) is the one that is built in and
//! checked.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Data, Never, NodeId, NodeSet, Protocol};

/// What a machine that decides is asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decide<V> {
    /// Decide this, or what others have proposed, under this number. Asked again, it goes on where
    /// it is, or tries anew: what it had sent may be lost.
    Propose {
        /// Of the decision.
        number: u64,
        /// Who may decide, always in the same order.
        voters: Vec<NodeId>,
        /// What to decide.
        value: V,
    },
    /// All up to this number is decided and known to whoever asks: nobody will ask here again.
    Settled(u64),
}

/// What it tells.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided<V> {
    /// This was decided.
    Learned {
        /// Under this number.
        number: u64,
        /// The same for all.
        value: V,
    },
}

/// A machine that decides.
pub trait Decision<V: Data>:
    Protocol<Command = Decide<V>, Notice = Decided<V>, Timer = Never>
{
    /// One that has never decided anything.
    fn new(me: NodeId) -> Self;

    /// Whether so many of these voters can decide. Whoever is left with fewer does not even try.
    fn suffices(voters: &[NodeId], present: &NodeSet) -> bool;

    /// Whether this node has voted under this number, or a later one. That it has promised
    /// something does not count: nothing is decided by that.
    fn has_voted(&self, number: u64) -> bool;

    /// The number that a message asks about, if it asks for anything. Who knows what was decided
    /// says so instead.
    fn question(message: &Self::Message) -> Option<u64>;
}
