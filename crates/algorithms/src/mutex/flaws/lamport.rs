//! Lamport's algorithm on links without order, with requests whose copies are stamped one by one,
//! and with an ear for anything.

use vorrang_protocol::{Effect, Effects, NodeId, Outbox, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::lamport::{Lamport, Message, Phase};

/// Nothing wrong with the code: for links that do not keep order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AsItIs;

impl Mistake<Lamport> for AsItIs {}

/// Every copy of a request is a send of its own and gets a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CopiesStampedApart;

impl Mistake<Lamport> for CopiesStampedApart {
    fn on_command(
        self,
        node: &mut Lamport,
        command: Command,
        fx: &mut impl Effects<Lamport>,
    ) -> Result<(), Refused> {
        let mut sent = Outbox::default();
        node.on_command(command, &mut sent)?;
        let mut first = true;
        for effect in sent.take() {
            match effect {
                Effect::Send { to, message: Message::Request { time } } => {
                    let time = if first { time } else { node.clock.send() };
                    first = false;
                    fx.send(to, Message::Request { time });
                }
                Effect::Send { to, message } => fx.send(to, message),
                Effect::Notify(notice) => fx.notify(notice),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
        Ok(())
    }

    fn on_message(
        self,
        node: &mut Lamport,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Lamport>,
    ) {
        // A release removes any request of its sender from the queue.
        let queued = node.queue.iter().find(|stamp| stamp.node == from).map(|stamp| stamp.time);
        let message = match (message, queued) {
            (Message::Release { time, .. }, Some(request)) => Message::Release { time, request },
            (Message::Request { .. } | Message::Ack { .. } | Message::Release { .. }, _) => message,
        };
        node.on_message(from, message, fx);
    }
}

/// Any message from a node after the request counts as an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AnyWordWillDo;

impl Mistake<Lamport> for AnyWordWillDo {
    fn on_message(
        self,
        node: &mut Lamport,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Lamport>,
    ) {
        if let Phase::Waiting { unheard, .. } = &mut node.phase {
            unheard.remove(from);
        }
        node.on_message(from, message, fx);
    }
}
