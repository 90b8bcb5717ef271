//! Votes that are withdrawn too soon, or never.

use vorrang_protocol::{Effects, NodeId, Protocol as _};

use crate::flaw::Mistake;
use crate::mutex::locking::Phase;
use crate::mutex::majority_votes_timely::{MajorityVotesTimely, Message, Timer};

/// A vote that has been out for long is withdrawn, without a question.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WithdrawnUnasked;

impl Mistake<MajorityVotesTimely> for WithdrawnUnasked {
    fn on_timer(
        self,
        node: &mut MajorityVotesTimely,
        timer: Timer,
        fx: &mut impl Effects<MajorityVotesTimely>,
    ) {
        match timer {
            Timer::Probe | Timer::Answer => node.withdraw(fx),
        }
    }
}

/// A holder that does not answer keeps the vote.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NeverWithdrawn;

impl Mistake<MajorityVotesTimely> for NeverWithdrawn {
    fn on_timer(
        self,
        node: &mut MajorityVotesTimely,
        timer: Timer,
        fx: &mut impl Effects<MajorityVotesTimely>,
    ) {
        match timer {
            Timer::Probe => node.on_timer(timer, fx),
            Timer::Answer => {}
        }
    }
}

/// Only a waiting node answers probes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InsideAndSilent;

impl Mistake<MajorityVotesTimely> for InsideAndSilent {
    fn on_message(
        self,
        node: &mut MajorityVotesTimely,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<MajorityVotesTimely>,
    ) {
        let is_inside = matches!(node.votes.phase, Phase::Inside(_));
        match message {
            Message::Probe(_) if is_inside => {}
            Message::Probe(_) | Message::Alive(_) | Message::Votes(_) => {
                node.on_message(from, message, fx);
            }
        }
    }
}

/// Nothing survives a crash, not even the holder of the vote.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AmnesiaInTime;

impl Mistake<MajorityVotesTimely> for AmnesiaInTime {
    fn after_crash(
        self,
        _: &MajorityVotesTimely,
        fresh: MajorityVotesTimely,
    ) -> MajorityVotesTimely {
        fresh
    }
}
