//! Carvalho–Roucairol without the request that asks for a permission back.

use vorrang_protocol::{Effect, Effects, NodeId, Outbox, Protocol};

use crate::flaw::Mistake;
use crate::mutex::carvalho_roucairol::{CarvalhoRoucairol, Message};

/// A permission that was kept and is given away while waiting is not asked for again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NoReRequest;

impl Mistake<CarvalhoRoucairol> for NoReRequest {
    fn on_message(
        self,
        node: &mut CarvalhoRoucairol,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<CarvalhoRoucairol>,
    ) {
        let mut done = Outbox::default();
        node.on_message(from, message, &mut done);
        for effect in done.take() {
            match effect {
                // The only request that a message can cause.
                Effect::Send { message: Message::Request { .. }, .. } => {}
                Effect::Send { to, message: Message::Reply } => fx.send(to, Message::Reply),
                Effect::Notify(notice) => fx.notify(notice),
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
    }
}
