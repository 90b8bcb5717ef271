//! Cao–Singhal as it is commonly printed: without what a permission needs that travels by itself.

use vorrang_protocol::{Effects, NodeId};

use crate::clock::Stamp;
use crate::mutex::handing_on::{ArbiterState, CaoSinghal, Message, Phase, say};
use crate::mutex::self_messages::{HandlesSelfMessages as _, MishandlesSelfMessages};

/// A RELEASE of a later epoch is taken for a stale one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EarlyReleaseDropped;

impl MishandlesSelfMessages<CaoSinghal> for EarlyReleaseDropped {
    fn hear(
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        node.hear(from, message, fx);
        node.arbiter.early = None;
    }
}

/// An INQUIRE without the permission that it is about is taken for a stale one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EarlyInquireDropped;

impl MishandlesSelfMessages<CaoSinghal> for EarlyInquireDropped {
    fn hear(
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        node.hear(from, message, fx);
        for state in arbiter_states(node) {
            if let ArbiterState::Asked { ahead: Some(ahead), .. } = state {
                ahead.inquired = false;
            }
        }
    }
}

/// A TRANSFER is applied to any permission that is here or comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoEpochs;

impl MishandlesSelfMessages<CaoSinghal> for NoEpochs {
    fn hear(
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        let message = match message {
            Message::Transfer { next, inquire, epoch } => {
                let there = node.place(from).and_then(|place| epoch_of(node, place));
                Message::Transfer { next, inquire, epoch: there.unwrap_or(epoch) }
            }
            Message::Reply { arbiter, epoch, .. } => {
                if let Some(place) = node.place(arbiter)
                    && let Some(ArbiterState::Asked { ahead: Some(ahead), .. }) =
                        arbiter_states(node).get_mut(place)
                {
                    ahead.epoch = epoch;
                }
                message
            }
            Message::Request { .. }
            | Message::Fail { .. }
            | Message::Yield { .. }
            | Message::Release { .. } => message,
        };
        node.hear(from, message, fx);
    }
}

/// Only the sender of a request is told FAIL when it comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OvertakenNotTold;

impl MishandlesSelfMessages<CaoSinghal> for OvertakenNotTold {
    fn hear(
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        if let Message::Request { time } = message {
            node.clock.witness(time);
            let [first, second] = node.arbiter.on_request(Stamp::new(time, from));
            say([first.filter(|(to, word)| *to == from || !is_fail(word)), second], fx);
        } else {
            node.hear(from, message, fx);
        }
    }
}

const fn is_fail(message: &Message) -> bool {
    match message {
        Message::Fail { .. } => true,
        Message::Request { .. }
        | Message::Reply { .. }
        | Message::Transfer { .. }
        | Message::Yield { .. }
        | Message::Release { .. } => false,
    }
}

fn arbiter_states(node: &mut CaoSinghal) -> &mut [ArbiterState] {
    match &mut node.phase {
        Phase::Waiting { arbiter_states, .. } => arbiter_states,
        Phase::Outside | Phase::Inside(_) => &mut [],
    }
}

/// The epoch of the permission that a node has from the arbiter at this place in its quorum.
fn epoch_of(node: &CaoSinghal, place: usize) -> Option<u64> {
    match &node.phase {
        Phase::Outside => None,
        Phase::Waiting { arbiter_states, .. } => arbiter_states[place].epoch(),
        Phase::Inside(permissions) => permissions[place].map(|it| it.epoch),
    }
}
