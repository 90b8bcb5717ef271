//! A token made anew without a generation.

use vorrang_protocol::{Effects, NodeId};

use crate::flaw::Mistake;
use crate::mutex::regenerating::{Message, Regenerating, Renewable};

/// Messages of the algorithm are accepted from any generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoGeneration;

impl<P: Renewable> Mistake<Regenerating<P>> for NoGeneration {
    fn on_message(
        self,
        node: &mut Regenerating<P>,
        from: NodeId,
        mut message: Message<P::Message>,
        fx: &mut impl Effects<Regenerating<P>>,
    ) {
        use vorrang_protocol::Protocol as _;

        if let Message::Token { generation, .. } = &mut message {
            *generation = node.generation;
        }
        node.on_message(from, message, fx);
    }
}
