//! The token ring with a token that is kept too long, passed on too soon, or taken in any order.

use vorrang_protocol::{Effect, Effects, NodeId, Outbox, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::token_ring::{Message, Phase, Timer, TokenRing};

/// A token that is not wanted stays where it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeptUntilWanted;

impl Mistake<TokenRing> for KeptUntilWanted {
    fn on_message(
        self,
        node: &mut TokenRing,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TokenRing>,
    ) {
        let Message::Token { resource, .. } = message;
        let mut done = Outbox::default();
        node.on_message(from, message, &mut done);
        for effect in done.take() {
            match effect {
                Effect::Send { .. } | Effect::SetTimer { .. } => {
                    node.resting.insert(resource);
                }
                effect @ (Effect::CancelTimer(_) | Effect::Notify(_)) => pass(&effect, fx),
            }
        }
    }
}

/// The timer of a resting token runs on when a node enters with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimerNotCancelled;

impl Mistake<TokenRing> for TimerNotCancelled {
    fn on_command(
        self,
        node: &mut TokenRing,
        command: Command,
        fx: &mut impl Effects<TokenRing>,
    ) -> Result<(), Refused> {
        let resting = node.resting.clone();
        let mut done = Outbox::default();
        node.on_command(command, &mut done)?;
        for effect in done.take() {
            match effect {
                Effect::CancelTimer(_) => node.resting.clone_from(&resting),
                effect @ (Effect::SetTimer { .. } | Effect::Send { .. } | Effect::Notify(_)) => {
                    pass(&effect, fx);
                }
            }
        }
        Ok(())
    }
}

/// To odd nodes the second of two resources is the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoCommonOrder;

impl NoCommonOrder {
    /// As the node sees the message, and as the others do.
    const fn seen_by(node: &TokenRing, message: Message) -> Message {
        let Message::Token { resource, hops, reserved } = message;
        let is_turned = !node.me.0.is_multiple_of(2) && node.resources == 2 && resource < 2;
        let resource = if is_turned { 1 - resource } else { resource };
        Message::Token { resource, hops, reserved }
    }

    fn pass_on(node: &TokenRing, mut done: Outbox<TokenRing>, fx: &mut impl Effects<TokenRing>) {
        for effect in done.take() {
            match effect {
                Effect::Send { to, message } => fx.send(to, Self::seen_by(node, message)),
                effect @ (Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Notify(_)) => {
                    pass(&effect, fx);
                }
            }
        }
    }
}

impl Mistake<TokenRing> for NoCommonOrder {
    fn on_command(
        self,
        node: &mut TokenRing,
        command: Command,
        fx: &mut impl Effects<TokenRing>,
    ) -> Result<(), Refused> {
        let mut done = Outbox::default();
        node.on_command(command, &mut done)?;
        Self::pass_on(node, done, fx);
        Ok(())
    }

    fn on_message(
        self,
        node: &mut TokenRing,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TokenRing>,
    ) {
        let mut done = Outbox::default();
        node.on_message(from, Self::seen_by(node, message), &mut done);
        Self::pass_on(node, done, fx);
    }

    fn on_timer(self, node: &mut TokenRing, timer: Timer, fx: &mut impl Effects<TokenRing>) {
        let mut done = Outbox::default();
        node.on_timer(timer, &mut done);
        Self::pass_on(node, done, fx);
    }
}

/// The priority of a node that had to pass on a token is not raised.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoAgeing;

impl Mistake<TokenRing> for NoAgeing {
    fn on_message(
        self,
        node: &mut TokenRing,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<TokenRing>,
    ) {
        node.on_message(from, message, fx);
        if let Phase::Waiting { missed, .. } = &mut node.phase {
            *missed = 0;
        }
    }
}

fn pass(effect: &Effect<TokenRing>, fx: &mut impl Effects<TokenRing>) {
    match *effect {
        Effect::Send { to, message } => fx.send(to, message),
        Effect::SetTimer { timer, delay } => fx.set_timer(timer, delay),
        Effect::CancelTimer(timer) => fx.cancel_timer(timer),
        Effect::Notify(notice) => fx.notify(notice),
    }
}
