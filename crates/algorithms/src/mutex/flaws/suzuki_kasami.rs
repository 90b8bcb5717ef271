//! Suzuki–Kasami that cannot tell an outdated request from a new one.

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::flaw::Mistake;
use crate::mutex::suzuki_kasami::{Message, Phase, SuzukiKasami};

/// Whoever has a token without use for it sends it to anyone who asks or ever asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutdatedRequestsServed;

impl Mistake<SuzukiKasami> for OutdatedRequestsServed {
    fn on_message(
        self,
        node: &mut SuzukiKasami,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<SuzukiKasami>,
    ) {
        let is_request = match message {
            Message::Request { .. } => true,
            Message::Privilege(_) => false,
        };
        let was_idle = matches!(node.phase, Phase::Holding(_));
        node.on_message(from, message, fx);
        // Still here: the request was served before, so that RN is LN and not LN + 1.
        if is_request && was_idle {
            node.give_away(from, fx);
        }
    }
}
