//! What the layer above asks of views, and is told.

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use super::message::{Entry, Install};

/// The commands of the layer above.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask<B, I> {
    /// Wants to belong to the group.
    Join,
    /// Wants to belong to it no more.
    Leave,
    /// Tells all members something.
    Multicast(B),
    /// Has stopped, as it was told to, and hands this over.
    BlockOk(I),
    /// Wants the view to end, and another one to begin of the same members.
    Renew,
    /// Wants the next view to be without this node as it is now: neither the member that it is,
    /// nor its vote. If it is up after all, it comes back as a member without a vote.
    Evict(NodeId),
    /// Wants this member to vote, with the directory that it has now: instead of one that voted
    /// under its number, if there was another.
    AddVoter(NodeId),
    /// Wants this node to vote no more.
    RemoveVoter(NodeId),
}

/// The notices to the layer above.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told<B, I> {
    /// The view ends: stop, and hand over what others should know.
    Block,
    /// A message.
    Deliver(Entry<B>),
    /// A view begins.
    Installed {
        /// With all that is known of the one before.
        install: Install<B, I>,
        /// Whether this node was in that one.
        went_on: bool,
    },
    /// This node belongs to the group no more; unless it wanted that, it tries to come back.
    Out {
        /// Whether somebody has asked for that, by [`Ask::Evict`], as far as it has heard.
        is_asked_for: bool,
    },
}
