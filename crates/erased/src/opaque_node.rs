//! Nodes of any algorithm as one type, with messages that are bytes: so that layers which are many
//! times as large as an algorithm, such as views, are compiled once for a problem and not again for
//! every algorithm below them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{Data, Delay, Effects, Message, NodeId, NodeState, Protocol, Refused};

use crate::{AnyMessage, AnyNode, AnyTimer, MAX_INTEGER, MessageBounds};

/// A node with erased types whose messages are bytes, so that they can be sent.
pub struct OpaqueNode<C, N> {
    node: AnyNode<C, N>,
    bounds: MessageBounds,
}

impl<C: Data, N: Data> OpaqueNode<C, N> {
    /// A node of so many, without its type.
    pub fn new<P: Protocol<Command = C, Notice = N>>(node: P, nodes: u32) -> Self {
        let bounds = MessageBounds { largest: MAX_INTEGER, nodes };
        Self { node: AnyNode::new(node), bounds }
    }

    /// Reads a message; none if it is none, or is out of bounds.
    fn open(&self, bytes: &[u8]) -> Option<AnyMessage> {
        self.node.decode(bytes).filter(|message| message.is_bounded(self.bounds))
    }
}

/// A message of any algorithm, as bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OpaqueMessage(Vec<u8>);

impl OpaqueMessage {
    fn of(message: &AnyMessage) -> Self {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).expect("plain data can be encoded");
        Self(bytes)
    }
}

impl Message for OpaqueMessage {
    const KINDS: &'static [&'static str] = &["LOCK"];

    fn kind(&self) -> usize {
        0
    }
}

impl fmt::Display for OpaqueMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LOCK({} bytes)", self.0.len())
    }
}

impl<C: Data, N: Data> Protocol for OpaqueNode<C, N> {
    type Message = OpaqueMessage;
    type Timer = AnyTimer;
    type Command = C;
    type Notice = N;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_start(&mut OpaqueEffects { fx });
    }
    fn on_command(&mut self, command: C, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.node.on_command(command, &mut OpaqueEffects { fx })
    }
    /// A message that cannot be decoded counts as lost.
    fn on_message(
        &mut self,
        from: NodeId,
        OpaqueMessage(bytes): OpaqueMessage,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(message) = self.open(&bytes) {
            self.node.on_message(from, message, &mut OpaqueEffects { fx });
        }
    }
    fn on_timer(&mut self, timer: AnyTimer, fx: &mut impl Effects<Self>) {
        self.node.on_timer(timer, &mut OpaqueEffects { fx });
    }

    fn state(&self) -> NodeState {
        self.node.state()
    }
}

/// The effects of the node.
struct OpaqueEffects<'a, E> {
    fx: &'a mut E,
}

impl<C: Data, N: Data, E: Effects<OpaqueNode<C, N>>> Effects<AnyNode<C, N>>
    for OpaqueEffects<'_, E>
{
    fn send(&mut self, to: NodeId, message: AnyMessage) {
        self.fx.send(to, OpaqueMessage::of(&message));
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: AnyMessage) {
        self.fx.send_to_each(to, OpaqueMessage::of(&message));
    }
    fn set_timer(&mut self, timer: AnyTimer, delay: Delay) {
        self.fx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: AnyTimer) {
        self.fx.cancel_timer(timer);
    }
    fn notify(&mut self, notice: N) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

impl<C: Data, N: Data> Clone for OpaqueNode<C, N> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), bounds: self.bounds }
    }
}

impl<C: Data, N: Data> PartialEq for OpaqueNode<C, N> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<C: Data, N: Data> Eq for OpaqueNode<C, N> {}

impl<C: Data, N: Data> Hash for OpaqueNode<C, N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.node.hash(hasher);
    }
}

impl<C: Data, N: Data> fmt::Debug for OpaqueNode<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::{self as ra, RicartAgrawala};
    use vorrang_algorithms::mutex::{Claim, Command, Notice};
    use vorrang_protocol::{Effect, Group, Outbox};

    use super::*;

    #[test]
    fn a_sealed_node_does_what_it_did_and_drops_what_it_cannot_read() {
        let node = |id| OpaqueNode::new(RicartAgrawala::new(NodeId(id), Group::of(2)), 2);
        let (mut one, mut other) = (node(0), node(1));
        let mut fx = Outbox::default();
        one.on_command(Command::Acquire(Claim::Exclusive), &mut fx).unwrap();
        let Some(Effect::Send { message: request, .. }) = fx.take().pop() else {
            panic!("it asks")
        };
        other.on_message(NodeId(0), request, &mut fx);
        let Some(Effect::Send { message: reply, .. }) = fx.take().pop() else {
            panic!("it answers")
        };
        let before = one.clone();
        for nonsense in [vec![], vec![255; 40]] {
            one.on_message(NodeId(1), OpaqueMessage(nonsense), &mut fx);
        }
        assert!(fx.take().is_empty() && one == before, "{one:?}");
        one.on_message(NodeId(1), reply, &mut fx);
        assert_eq!(fx.take(), [Effect::Notify(Notice::Entered)]);
    }

    #[test]
    fn an_integer_that_is_not_counted_is_not_read() {
        let node = OpaqueNode::new(RicartAgrawala::new(NodeId(0), Group::of(2)), 2);
        let bytes = |time| OpaqueMessage::of(&AnyMessage::new(ra::Message::Request { time })).0;
        assert!(node.open(&bytes(MAX_INTEGER)).is_some());
        assert!(node.open(&bytes(MAX_INTEGER + 1)).is_none());
    }
}
