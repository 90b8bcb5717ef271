//! Known mistakes where an election decides which node starts.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::election::echo_election;
use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::elected_lift::{ElectedLift, Message};

/// A node that wants to enter does not wait for the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EveryoneStarts;

impl Mistake<ElectedLift> for EveryoneStarts {
    fn on_command(
        self,
        node: &mut ElectedLift,
        command: Command,
        fx: &mut impl Effects<ElectedLift>,
    ) -> Result<(), Refused> {
        node.on_command(command, fx)?;
        node.on_lift(fx, |lift, up| lift.start(up));
        Ok(())
    }
}

/// A node that learns the leader starts the wave as if it were the leader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResultSuffices;

impl Mistake<ElectedLift> for ResultSuffices {
    fn on_message(
        self,
        node: &mut ElectedLift,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<ElectedLift>,
    ) {
        let is_result = matches!(message, Message::Election(echo_election::Message::Leader(_)));
        node.on_message(from, message, fx);
        if is_result {
            node.on_lift(fx, |lift, up| lift.start(up));
        }
    }
}
