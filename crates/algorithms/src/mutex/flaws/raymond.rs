//! Known mistakes in Raymond's algorithm.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::raymond::Raymond;
use crate::mutex::tree_token::{Clients as _, Message, Phase};

/// The holder of the token sends it to any node that asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GivenAwayInside;

impl Mistake<Raymond> for GivenAwayInside {
    fn on_message(
        self,
        node: &mut Raymond,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Raymond>,
    ) {
        let is_inside = node.phase == Phase::Inside;
        if is_inside && message == Message::Request {
            node.phase = Phase::Outside;
        }
        node.on_message(from, message, fx);
        if is_inside {
            node.phase = Phase::Inside;
        }
    }
}

/// The token is sent on and kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenDoubled;

impl Mistake<Raymond> for TokenDoubled {
    fn on_command(
        self,
        node: &mut Raymond,
        command: Command,
        fx: &mut impl Effects<Raymond>,
    ) -> Result<(), Refused> {
        let before = node.holder;
        node.on_command(command, fx)?;
        if command == Command::Release {
            node.holder = before;
            node.asked = false;
        }
        Ok(())
    }
}

/// The edge is turned, and nothing is sent over it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenLost;

impl Mistake<Raymond> for TokenLost {
    fn on_command(
        self,
        node: &mut Raymond,
        command: Command,
        fx: &mut impl Effects<Raymond>,
    ) -> Result<(), Refused> {
        if command == Command::Release
            && node.phase == Phase::Inside
            && let Some(next) = node.clients.next(node.holder, node.holder)
        {
            node.phase = Phase::Outside;
            node.holder = next;
            return Ok(());
        }
        node.on_command(command, fx)
    }
}

/// A node does not ask for the token again after sending it away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestForgotten;

impl Mistake<Raymond> for RequestForgotten {
    fn on_message(
        self,
        node: &mut Raymond,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Raymond>,
    ) {
        match message {
            Message::Token if from == node.holder => {
                node.take();
                node.assign(from, fx);
            }
            Message::Token | Message::Request => node.on_message(from, message, fx),
        }
    }
}

/// The edge still points to where the token came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EdgeNotTurned;

impl Mistake<Raymond> for EdgeNotTurned {
    fn on_message(
        self,
        node: &mut Raymond,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<Raymond>,
    ) {
        node.on_message(from, message, fx);
        if message == Message::Token && !node.has_token() {
            node.holder = from;
        }
    }
}
