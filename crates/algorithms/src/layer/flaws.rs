//! Mistakes in layers.

use vorrang_protocol::{Effects, NodeId, Protocol};

use super::Reliable;
use super::reliable::Message;
use crate::flaw::Mistake;

/// Retransmitted messages are delivered again: the receiver does not filter duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoDuplicateFilter;

impl<P: Protocol> Mistake<Reliable<P>> for NoDuplicateFilter {
    fn on_message(
        self,
        node: &mut Reliable<P>,
        from: NodeId,
        message: Message<P::Message>,
        fx: &mut impl Effects<Reliable<P>>,
    ) {
        if let Message::Data { lives, number, message } = &message
            && node.channels.meets(from, *lives, fx)
            && node.channels.links.get(&from).is_some_and(|link| *number < link.next)
        {
            let message = message.clone();
            node.rise(fx, |node, through| node.on_message(from, message, through));
            return node.channels.acknowledge(from, lives.from, fx);
        }
        node.on_message(from, message, fx);
    }
}
