//! Majorities of votes that are not exclusive, or that do not come back.

use vorrang_protocol::{Effects, NodeId};

use crate::flaw::Mistake;
use crate::mutex::locking::Phase;
use crate::mutex::majority_votes::{MajorityVotes, Message};
use crate::mutex::self_messages::{HandlesSelfMessages as _, MishandlesSelfMessages};

/// An arbiter votes for every request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VotesForAll;

impl MishandlesSelfMessages<MajorityVotes> for VotesForAll {
    fn hear(
        node: &mut MajorityVotes,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<MajorityVotes>,
    ) {
        if let Message::Request { time } = message {
            node.clock.witness(time);
            fx.send(from, Message::Locked { time });
        } else {
            node.hear(from, message, fx);
        }
    }
}

/// Nothing survives a crash, not even the holder of the vote.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Amnesia;

impl Mistake<MajorityVotes> for Amnesia {
    fn after_crash(self, _: &MajorityVotes, fresh: MajorityVotes) -> MajorityVotes {
        fresh
    }
}

/// An inquiry that overtakes the vote that it is about is answered at once; then the vote comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AnsweredBeforeVoted;

impl MishandlesSelfMessages<MajorityVotes> for AnsweredBeforeVoted {
    fn hear(
        node: &mut MajorityVotes,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<MajorityVotes>,
    ) {
        if let Message::Inquire { time } = message
            && node.phase == Phase::Waiting(time)
        {
            node.votes.insert(from);
        }
        node.hear(from, message, fx);
    }
}

/// A request keeps its votes until it has left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VotesKept;

impl MishandlesSelfMessages<MajorityVotes> for VotesKept {
    fn hear(
        node: &mut MajorityVotes,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<MajorityVotes>,
    ) {
        match message {
            Message::Inquire { .. } => {}
            Message::Request { .. }
            | Message::Locked { .. }
            | Message::Relinquish { .. }
            | Message::Release { .. }
            | Message::Restarted { .. } => node.hear(from, message, fx),
        }
    }
}
