//! Known mistakes of the wave before the lift.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::echo_lift::{EchoLift, Message, Stage};
use crate::wave::echo;

/// A wish that comes before the wave is not remembered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WishForgotten;

impl Mistake<EchoLift> for WishForgotten {
    fn on_command(
        self,
        node: &mut EchoLift,
        command: Command,
        fx: &mut impl Effects<EchoLift>,
    ) -> Result<(), Refused> {
        node.on_command(command, fx)?;
        if let Stage::Before { wants } = &mut node.stage {
            *wants = false;
        }
        Ok(())
    }
}

/// The edge points to where the latest EXPLORER came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LatestEdge;

impl Mistake<EchoLift> for LatestEdge {
    fn on_message(
        self,
        node: &mut EchoLift,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<EchoLift>,
    ) {
        let is_explorer = message == Message::Wave(echo::Message::Explorer);
        node.on_message(from, message, fx);
        if let Stage::Riding(lift) = &mut node.stage
            && is_explorer
            && !lift.has_token()
        {
            lift.holder = from;
        }
    }
}
