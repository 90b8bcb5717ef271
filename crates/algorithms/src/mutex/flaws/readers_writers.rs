//! Readers and writers, where readers are too welcome.
//!
//! Readers' preference is the first of the two problems of Courtois, Heymans and Parnas,
//! "Concurrent control with 'readers' and 'writers'", CACM 14(10), 1971; they note themselves that
//! writers may wait for ever.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::clock::Stamp;
use crate::flaw::Mistake;
use crate::mutex::readers_writers::{ClaimedExclusion, Message, Phase};
use crate::mutex::{Claim, Command};

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

/// Readers go first: who waits or is inside to read defers every writer, and a writer that waits
/// lets every reader go before it and asks that reader again. Readers are not ordered by time, so
/// their requests do not advance it. Safe on FIFO links, and only on those: a reader's earlier
/// reply comes before its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadersPreference;

impl Mistake<ClaimedExclusion> for ReadersPreference {
    fn on_command(
        self,
        node: &mut ClaimedExclusion,
        command: Command,
        fx: &mut impl Effects<ClaimedExclusion>,
    ) -> Result<(), Refused> {
        match (command, &node.phase) {
            (Command::Acquire(claim @ Claim::Shared), Phase::Outside) => {
                let (time, missing) = (node.clock.now(), node.group.others(node.me).collect());
                node.phase = Phase::Waiting { claim, time, missing };
                fx.broadcast(node.group.others(node.me), Message::Request { time, claim });
                node.enter_if_all_replied(fx);
                Ok(())
            }
            (Command::Acquire(_) | Command::Release, _) => node.on_command(command, fx),
        }
    }

    fn on_message(
        self,
        node: &mut ClaimedExclusion,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<ClaimedExclusion>,
    ) {
        match (message, &mut node.phase) {
            (
                Message::Request { time, claim: Claim::Shared },
                Phase::Waiting { claim: Claim::Exclusive, time: ours, missing },
            ) => {
                let (ours, has_replied) = (*ours, !missing.contains(from));
                missing.insert(from);
                node.clock.witness(time);
                let clock = node.clock.now();
                fx.send(from, Message::Reply { time, clock });
                if has_replied {
                    fx.send(from, Message::Request { time: ours, claim: Claim::Exclusive });
                }
            }
            (
                Message::Request { time, claim: Claim::Exclusive },
                Phase::Waiting { claim: Claim::Shared, .. },
            ) => {
                node.clock.witness(time);
                node.defer(Stamp::new(time, from));
            }
            (Message::Request { .. } | Message::Reply { .. }, _) => {
                node.on_message(from, message, fx);
            }
        }
    }
}
