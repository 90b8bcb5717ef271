//! What a receiver reports to a sender, and what it asks it for.

use vorrang_protocol::{Effects, NodeId};

use super::message::{Message, numbers};
use crate::multicast::nack::Nack;
use crate::multicast::ordered::carrier::Carrier as _;
use crate::multicast::ordered::{self, Ordered};

impl Nack {
    /// Tells a sender how far its messages are delivered here, if it is time to.
    pub(in crate::multicast) fn digest_if_due(
        &mut self,
        to: NodeId,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        if self.keeps.is_some() {
            return;
        }
        let every = self.digest_every();
        let Some(stream) = self.streams.get_mut(&to) else { return };
        if stream.inbox.next - stream.told >= every {
            stream.told = stream.inbox.next;
            fx.send(to, ordered::Message::Carried(Message::Digest(stream.told)));
        }
    }

    /// A heartbeat of a sender is answered with how far its messages are delivered here.
    pub(in crate::multicast) fn on_heartbeat(
        &mut self,
        from: NodeId,
        below: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        if self.keeps.is_some() {
            return self.learn(from, below, fx);
        }
        let stream = self.streams.get_or_default(from);
        if below > stream.inbox.next.saturating_add(u64::from(self.window)) {
            return;
        }
        stream.told = stream.inbox.next;
        fx.send(from, ordered::Message::Carried(Message::Digest(stream.told)));
        self.learn(from, below, fx);
    }

    /// Sends what is asked for, or says that it is gone.
    pub(in crate::multicast) fn on_nack(
        &self,
        from: NodeId,
        wanted: (u64, u32),
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        if self.keeps.is_some() && wanted.0 < self.first {
            let gone = Message::Gone { first: self.first, below: self.next() };
            fx.send(from, ordered::Message::Carried(gone));
        }
        for number in numbers(wanted.0, wanted.1) {
            let Some(place) = number.checked_sub(self.first) else { continue };
            if let Some(body) = self.history.get(place as usize) {
                let body = body.clone();
                fx.send(from, ordered::Message::Carried(Message::Data { number, body }));
            }
        }
    }
}
