//! Mistakes of Chang and Roberts's algorithm.

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::election::chang_roberts::{ChangRoberts, Message};
use crate::flaw::Mistake;

/// A lower number is passed on like a higher one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LowerOnesPass;

impl Mistake<ChangRoberts> for LowerOnesPass {
    fn on_message(
        self,
        node: &mut ChangRoberts,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<ChangRoberts>,
    ) {
        match message {
            Message::Election(id) if id < node.me => fx.send(node.next, message),
            Message::Election(_) | Message::Elected(_) => node.on_message(from, message, fx),
        }
    }
}
