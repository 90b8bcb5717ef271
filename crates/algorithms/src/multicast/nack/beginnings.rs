//! A member that begins anew, or that hears a sender anew.

use vorrang_protocol::{Effects, NodeId};

use super::message::Timer;
use crate::multicast::inbox::Inbox;
use crate::multicast::nack::{Nack, Stream};
use crate::multicast::ordered::carrier::Carrier as _;
use crate::multicast::ordered::{self, Ordered};

impl Nack {
    /// Drops everything, and begins with this number; nobody is waited for or heard.
    pub(in crate::multicast) fn begin_anew(
        &mut self,
        first: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        fx.cancel_timer(ordered::Timer::Carrier(Timer::Beat));
        for (&of, _) in self.streams.iter().filter(|(_, stream)| stream.has_gap()) {
            fx.cancel_timer(ordered::Timer::Carrier(Timer::Repeat(of)));
        }
        self.streams.clear();
        self.history.clear();
        (self.first, self.early, self.beats) = (first, 0, 0);
        self.known.fill(first);
        self.silence.remove(self.others());
    }

    /// A sender has not answered so many requests: it is taken for crashed, and what is missing of
    /// its messages is not asked for any more. If it is up after all, it is told so when it is
    /// heard, and comes back as a new incarnation.
    pub(in crate::multicast) fn give_up(
        &mut self,
        of: NodeId,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let next = self.streams.get(&of).map_or(0, |stream| stream.inbox.next);
        self.take_from(of, next, fx);
        self.dismiss(of, fx);
    }

    /// A member is there: whatever was tried before is answered.
    pub(in crate::multicast) fn hear_of(&mut self, id: NodeId) {
        self.silence.hear(id);
        if self.silence.is_counted()
            && let Some(stream) = self.streams.get_mut(&id)
        {
            stream.tries = 0;
        }
    }

    /// Drops what is here of a sender's messages, and takes those from this number on.
    pub(in crate::multicast) fn take_from(
        &mut self,
        from: NodeId,
        first: u64,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let inbox = Inbox { next: first, ..Inbox::default() };
        let stream = Stream { inbox, below: first, told: first, tries: 0 };
        if let Some(former) = self.streams.insert(from, stream) {
            self.early -= former.inbox.early.len() as u32;
            if former.has_gap() {
                fx.cancel_timer(ordered::Timer::Carrier(Timer::Repeat(from)));
            }
        }
    }
}
