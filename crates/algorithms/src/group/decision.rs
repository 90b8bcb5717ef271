//! Consensus, as the interface propose and learn.
//!
//! A group needs one decision for every view: the next view. A consensus module is asked to
//! [propose](Decide::Propose) a value for an instance number, and eventually tells the value that
//! was [decided](Decided::Learned) in that instance, perhaps the proposal of another node. In one
//! instance all learn the same value. The layers above know only this interface, so that an
//! existing consensus service may be used as well; [`Synod`](super::synod::Synod) is built in and
//! checked.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Data, Never, NodeId, NodeSet, Protocol};

/// The commands of a consensus module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decide<V> {
    /// Decide this, or what others have proposed, under this number. Asked again, it goes on where
    /// it is, or tries anew: what it had sent may be lost.
    Propose {
        /// The number of the instance.
        number: u64,
        /// Who proposes.
        by: Proposer,
        /// The voters, always in the same order.
        voters: Vec<NodeId>,
        /// The proposed value.
        value: V,
    },
    /// All instances up to this number are decided and known: none will be asked for here again.
    Settled(u64),
}

/// What a proposer is, besides a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Proposer {
    /// Whether it is one of the voters. If not, it may have the number of one all the same.
    pub votes: bool,
    /// In which life it is, if a process under its number may have forgotten what it proposed: then
    /// no two lives propose under one name.
    pub life: u64,
}

impl Proposer {
    /// A voter that forgets nothing.
    pub const VOTER: Self = Self { votes: true, life: 0 };
}

/// The notices of a consensus module.
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
    /// What it has on stable storage.
    type Votes: Data;

    /// The same.
    fn votes(&self) -> &Self::Votes;

    /// This one with what it had there before a crash.
    #[must_use]
    fn with_votes(self, votes: Self::Votes) -> Self;

    /// One that has never decided anything.
    fn new(me: NodeId) -> Self;

    /// Whether so many of these voters can decide. A node that reaches fewer does not propose.
    fn suffices(&self, voters: &[NodeId], present: &NodeSet) -> bool;

    /// Whether this node has voted under this number, or a later one. That it has promised
    /// something does not count: nothing is decided by that.
    fn has_voted(&self, number: u64) -> bool;

    /// The number that a message asks about, if it asks for anything. Who knows what was decided
    /// says so instead.
    fn question(message: &Self::Message) -> Option<u64>;
}
