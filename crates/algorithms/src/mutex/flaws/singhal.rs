//! Singhal's algorithm as published, and what else is easily got wrong in it.

use vorrang_protocol::{Effect, Effects, NodeId, Outbox, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::singhal::{Message, Phase, Singhal};

/// The token is believed at the exit only, and an outdated request leaves no trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AsPublished;

impl Mistake<Singhal> for AsPublished {
    fn on_message(
        self,
        node: &mut Singhal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Singhal>,
    ) {
        match message {
            Message::Request { number } if number <= node.known[from.index()].number => {}
            Message::Request { .. } => node.on_message(from, message, fx),
            Message::Token(_) => {
                let known = node.known.clone();
                node.on_message(from, message, fx);
                node.known = known;
            }
        }
    }
}

/// A node that waits only marks the sender of a request, and does not ask it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoReSend;

impl Mistake<Singhal> for NoReSend {
    fn on_message(
        self,
        node: &mut Singhal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Singhal>,
    ) {
        let waits = node.phase == Phase::Waiting;
        let mut done = Outbox::default();
        node.on_message(from, message, &mut done);
        for effect in done.take() {
            match effect {
                Effect::Send { message: Message::Request { .. }, .. } if waits => {}
                Effect::Send { to, message } => fx.send(to, message),
                Effect::Notify(notice) => fx.notify(notice),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
    }
}

/// A request unmarks everyone but its sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LastAskerOnly;

impl Mistake<Singhal> for LastAskerOnly {
    fn on_message(
        self,
        node: &mut Singhal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Singhal>,
    ) {
        let is_request = matches!(message, Message::Request { .. });
        node.on_message(from, message, fx);
        if is_request {
            for (id, known) in (0..).map(NodeId).zip(&mut node.known) {
                known.is_marked &= id == from;
            }
        }
    }
}

/// Inside, a request is treated as if the token lay idle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InsideAsIfIdle;

impl Mistake<Singhal> for InsideAsIfIdle {
    fn on_message(
        self,
        node: &mut Singhal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Singhal>,
    ) {
        let inside = node.phase.clone();
        if let Phase::Inside(token) = &inside {
            node.phase = Phase::Holding(token.clone());
        }
        node.on_message(from, message, fx);
        if let Phase::Inside(_) = inside {
            node.phase = inside;
        }
    }
}

/// At an exit the node is believed, unless the token has a larger number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StaircaseBelieved;

impl Mistake<Singhal> for StaircaseBelieved {
    fn on_command(
        self,
        node: &mut Singhal,
        command: Command,
        fx: &mut impl Effects<Singhal>,
    ) -> Result<(), Refused> {
        if let (Command::Release, Phase::Inside(token)) = (command, &mut node.phase) {
            for (ours, theirs) in node.known.iter().zip(&mut token.0) {
                if ours.number == theirs.number {
                    *theirs = *ours;
                }
            }
        }
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Singhal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Singhal>,
    ) {
        let known = node.known.clone();
        let is_token = matches!(message, Message::Token(_));
        node.on_message(from, message, fx);
        if is_token {
            node.known = known;
        }
    }
}

/// At an exit the lower number is believed; and, as published, the token is believed at the exit
/// only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OlderBelieved;

impl Mistake<Singhal> for OlderBelieved {
    fn on_command(
        self,
        node: &mut Singhal,
        command: Command,
        fx: &mut impl Effects<Singhal>,
    ) -> Result<(), Refused> {
        if let (Command::Release, Phase::Inside(token)) = (command, &mut node.phase) {
            let own = node.known[node.me.index()];
            for (ours, theirs) in node.known.iter_mut().zip(&mut token.0) {
                let older = if ours.number < theirs.number { *ours } else { *theirs };
                (*ours, *theirs) = (older, older);
            }
            node.known[node.me.index()] = own;
        }
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Singhal,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Singhal>,
    ) {
        AsPublished.on_message(node, from, message, fx);
    }
}
