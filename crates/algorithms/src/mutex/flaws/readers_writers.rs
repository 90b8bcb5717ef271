//! Readers and writers, where readers are too welcome.

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::flaw::Mistake;
use crate::mutex::Claim;
use crate::mutex::readers_writers::{ClaimedExclusion, Message, Phase};

/// A writer that waits lets every reader pass, older or younger, and keeps the reader's own reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadersPassWaitingWriters;

impl Mistake<ClaimedExclusion> for ReadersPassWaitingWriters {
    fn on_message(
        self,
        node: &mut ClaimedExclusion,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<ClaimedExclusion>,
    ) {
        match (message, &node.phase) {
            (Message::Request { time, claim: Claim::Shared }, Phase::Waiting { .. }) => {
                fx.send(from, Message::Reply { time, clock: time });
            }
            (Message::Request { .. } | Message::Reply { .. }, _) => {
                node.on_message(from, message, fx);
            }
        }
    }
}
