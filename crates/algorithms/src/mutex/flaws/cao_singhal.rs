//! Cao–Singhal as it is commonly printed: without what a permission that travels by itself needs.

use vorrang_protocol::{Effect, Effects, NodeId, Outbox, Protocol, Refused};

use crate::clock::Stamp;
use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::cao_singhal::{CaoSinghal, Message, Phase, Seat};

/// A RELEASE of a later epoch is taken for a stale one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EarlyReleaseDropped;

impl Mistake<CaoSinghal> for EarlyReleaseDropped {
    fn on_message(
        self,
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        node.on_message(from, message, fx);
        node.arbiter.early = None;
    }

    fn on_command(
        self,
        node: &mut CaoSinghal,
        command: Command,
        fx: &mut impl Effects<CaoSinghal>,
    ) -> Result<(), Refused> {
        node.on_command(command, fx)?;
        // A node that leaves may be its own arbiter.
        node.arbiter.early = None;
        Ok(())
    }
}

/// An INQUIRE without the permission that it is about is taken for a stale one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EarlyInquireDropped;

impl Mistake<CaoSinghal> for EarlyInquireDropped {
    fn on_message(
        self,
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        node.on_message(from, message, fx);
        for seat in seats(node) {
            if let Seat::Asked { ahead: Some(ahead), .. } = seat {
                ahead.inquired = false;
            }
        }
    }
}

/// Whatever permission a TRANSFER was about, it is applied to the one that is there or comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoEpochs;

impl Mistake<CaoSinghal> for NoEpochs {
    fn on_message(
        self,
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
                let place = node.place(arbiter);
                if let Some(place) = place
                    && let Some(Seat::Asked { ahead: Some(ahead), .. }) = seats(node).get_mut(place)
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
        node.on_message(from, message, fx);
    }
}

/// Only a request that comes is ever told FAIL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OvertakenNotTold;

impl Mistake<CaoSinghal> for OvertakenNotTold {
    fn on_message(
        self,
        node: &mut CaoSinghal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CaoSinghal>,
    ) {
        if let Message::Request { time } = message {
            let [told, transfer] = node.weigh(Stamp::new(time, from));
            let told = told.filter(|(to, word)| *to == from || !is_fail(word));
            node.say([told, transfer], fx);
        } else {
            node.on_message(from, message, fx);
        }
    }

    fn on_command(
        self,
        node: &mut CaoSinghal,
        command: Command,
        fx: &mut impl Effects<CaoSinghal>,
    ) -> Result<(), Refused> {
        let mut done = Outbox::default();
        node.on_command(command, &mut done)?;
        for effect in done.take() {
            match effect {
                // Its own request has overtaken one that waits at its own arbiter.
                Effect::Send { message: Message::Fail { .. }, .. } => {}
                Effect::Send { to, message } => fx.send(to, message),
                Effect::Notify(notice) => fx.notify(notice),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
        Ok(())
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

fn seats(node: &mut CaoSinghal) -> &mut [Seat] {
    match &mut node.phase {
        Phase::Waiting { seats, .. } => seats,
        Phase::Outside | Phase::Inside(_) => &mut [],
    }
}

/// The epoch of the permission that a node has from the arbiter at this place in its quorum.
fn epoch_of(node: &CaoSinghal, place: usize) -> Option<u64> {
    match &node.phase {
        Phase::Outside => None,
        Phase::Waiting { seats, .. } => seats[place].epoch(),
        Phase::Inside(permissions) => Some(permissions[place].epoch),
    }
}
