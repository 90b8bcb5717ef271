//! Group exclusion, where all claims are taken for claims of one class.

use vorrang_protocol::{Effects, NodeId, Protocol as _};

use crate::flaw::Mistake;
use crate::mutex::readers_writers::{ClaimedExclusion, Message, Phase};

/// A node that is inside replies to every request at once: that claims may be shared is known, that
/// only those of one class are shared is forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassesNotCompared;

impl Mistake<ClaimedExclusion> for ClassesNotCompared {
    fn on_message(
        self,
        node: &mut ClaimedExclusion,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<ClaimedExclusion>,
    ) {
        match (message, &node.phase) {
            (Message::Request { time, .. }, Phase::Inside { .. }) => {
                node.clock.witness(time);
                fx.send(from, Message::Reply { time, clock: node.clock.now() });
            }
            (Message::Request { .. } | Message::Reply { .. }, _) => {
                node.on_message(from, message, fx);
            }
        }
    }
}
