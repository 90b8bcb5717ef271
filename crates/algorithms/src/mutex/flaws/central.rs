//! The central coordinator with another queue, and the two trivial solutions.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::central::{self, Central, Ticket};

/// The coordinator serves the latest request first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LastComeFirstServed;

impl Mistake<Central> for LastComeFirstServed {
    fn on_command(
        self,
        node: &mut Central,
        command: Command,
        fx: &mut impl Effects<Central>,
    ) -> Result<(), Refused> {
        if command == Command::Release {
            latest_to_the_front(node);
        }
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Central,
        from: NodeId,
        message: central::Message,
        fx: &mut impl Effects<Central>,
    ) {
        if let central::Message::Release { .. } = message {
            latest_to_the_front(node);
        }
        node.on_message(from, message, fx);
    }
}

/// Brings the ticket that came last, which stands at the back, to the front.
fn latest_to_the_front(node: &mut Central) {
    if let Some(latest) = node.as_coordinator.queue.pop_back() {
        node.as_coordinator.queue.push_front(latest);
    }
}

/// Nobody is ever let in: the trivial solution if only safety is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlwaysDenied;

impl Mistake<Central> for AlwaysDenied {
    fn on_command(
        self,
        node: &mut Central,
        command: Command,
        fx: &mut impl Effects<Central>,
    ) -> Result<(), Refused> {
        node.as_coordinator.holder = Some(NOBODY);
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Central,
        from: NodeId,
        message: central::Message,
        fx: &mut impl Effects<Central>,
    ) {
        node.as_coordinator.holder = Some(NOBODY);
        node.on_message(from, message, fx);
    }
}

/// A holder that never releases, since it does not exist.
const NOBODY: Ticket = Ticket { node: NodeId(u32::MAX), number: 0 };

/// Everybody is let in at once: the trivial solution if only liveness is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlwaysGranted;

impl Mistake<Central> for AlwaysGranted {
    fn on_command(
        self,
        node: &mut Central,
        command: Command,
        fx: &mut impl Effects<Central>,
    ) -> Result<(), Refused> {
        node.as_coordinator.holder = None;
        node.on_command(command, fx)
    }

    fn on_message(
        self,
        node: &mut Central,
        from: NodeId,
        message: central::Message,
        fx: &mut impl Effects<Central>,
    ) {
        node.as_coordinator.holder = None;
        node.on_message(from, message, fx);
    }
}
