//! Mistakes of ring election as it is printed, and of implementations.

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::election::ring_election::{Message, RingElection, Timer, highest};
use crate::flaw::Mistake;

/// A node that receives the result does not forward it, as it is printed; nor is there a time-out
/// for nodes that never receive it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResultNotSpread;

impl Mistake<RingElection> for ResultNotSpread {
    fn on_message(
        self,
        node: &mut RingElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<RingElection>,
    ) {
        match message {
            Message::Coordinator { list, .. } => {
                fx.send(from, Message::Ack);
                node.follow(highest(&list), fx);
            }
            Message::Election(_) | Message::Ack => node.on_message(from, message, fx),
        }
    }

    fn on_timer(self, node: &mut RingElection, timer: Timer, fx: &mut impl Effects<RingElection>) {
        match timer {
            Timer::Ack => node.on_timer(timer, fx),
            Timer::Result => {}
        }
    }
}

/// A node whose message is not acknowledged waits on, and so does one that receives no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeadNotSkipped;

impl Mistake<RingElection> for DeadNotSkipped {
    fn on_timer(self, _: &mut RingElection, _: Timer, _: &mut impl Effects<RingElection>) {}
}
