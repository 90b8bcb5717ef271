//! The I/O of a machine: messages to others and to itself, timers, notices.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use vorrang_protocol::{Delay, NodeId};

use crate::timers::{Agenda, Slot, deadline};
use crate::wire::WireError;

/// Takes messages to other nodes.
pub(crate) trait Outbound {
    /// Queues a message and says its number; none if the peer is gone, or the message is longer
    /// than there is a limit to.
    fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError>;

    /// The same with a message that [only says how its sender
    /// stands](vorrang_protocol::Message::is_status).
    fn send_status(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
        self.send(to, message)
    }

    /// How long a message may be, where that is so little that commands are tried before they are
    /// carried out.
    fn limit(&self) -> Option<usize> {
        None
    }
}

/// Sends nothing, and measures the longest message.
#[derive(Debug)]
pub(crate) struct LengthProbe(pub(crate) usize);

impl Outbound for LengthProbe {
    fn send(&mut self, _: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
        self.0 = self.0.max(message.len());
        Ok(None)
    }
}

/// All that the machine's effects act on, but the links.
#[derive(Debug)]
pub(crate) struct IoState {
    pub(crate) me: NodeId,
    pub(crate) nodes: usize,
    /// Messages to ourselves, to be handled before anything else.
    pub(crate) to_self: VecDeque<(u64, Vec<u8>)>,
    pub(crate) sent_to_self: u64,
    pub(crate) timers: Agenda,
    pub(crate) rng: Xoshiro256PlusPlus,
    pub(crate) sent: Vec<u64>,
    pub(crate) received: Vec<u64>,
    pub(crate) failure: Option<String>,
    /// A message as bytes, in room that is used again.
    pub(crate) bytes: Vec<u8>,
}

/// The I/O of a machine while it handles one event.
pub(crate) struct MachineIo<'a, N> {
    pub(crate) inside: &'a mut IoState,
    pub(crate) outbound: &'a mut dyn Outbound,
    pub(crate) notices: &'a mut VecDeque<N>,
}

impl<N> MachineIo<'_, N> {
    /// An empty buffer, to encode a message into.
    pub(crate) fn blank(&mut self) -> &mut Vec<u8> {
        self.inside.bytes.clear();
        &mut self.inside.bytes
    }

    /// Sends the encoded message, if encoding succeeded, and returns its number; none if it is not
    /// sent.
    pub(crate) fn send(
        &mut self,
        to: NodeId,
        (kind, is_status): (usize, bool),
        written: Result<(), WireError>,
    ) -> Option<u64> {
        self.inside.send(to, (kind, is_status), written, self.outbound)
    }

    pub(crate) fn set_timer(&mut self, timer: Slot, delay: Delay) {
        let at = deadline(self.inside.draw(delay));
        self.inside.timers.set(timer, at);
    }

    pub(crate) fn cancel_timer(&mut self, timer: Slot) {
        self.inside.timers.cancel(timer);
    }

    pub(crate) fn notify(&mut self, notice: N) {
        self.notices.push_back(notice);
    }

    pub(crate) fn choose(&mut self, bound: NonZeroU32) -> u32 {
        below(self.inside.rng.next_u64(), u64::from(bound.get())) as u32
    }
}

impl IoState {
    /// The I/O state of the node `me` of so many, with a machine whose messages are of so many
    /// kinds.
    pub(crate) fn new((me, nodes): (NodeId, usize), kinds: usize, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            me,
            nodes,
            to_self: VecDeque::new(),
            sent_to_self: 0,
            timers: Agenda::default(),
            rng,
            sent: vec![0; kinds],
            received: vec![0; kinds],
            failure: None,
            bytes: Vec::new(),
        }
    }

    /// An empty copy, for a rehearsal.
    pub(crate) fn apart(&self) -> Self {
        Self::new((self.me, self.nodes), self.sent.len(), self.rng.clone())
    }

    fn send(
        &mut self,
        to: NodeId,
        (kind, is_status): (usize, bool),
        written: Result<(), WireError>,
        outbound: &mut dyn Outbound,
    ) -> Option<u64> {
        if to.index() >= self.nodes {
            self.failure = Some(format!("it sent to node {to}, which is not in its group"));
            return None;
        }
        let sent = written.and_then(|()| {
            if to == self.me {
                let seq = self.sent_to_self;
                self.sent_to_self += 1;
                self.to_self.push_back((seq, self.bytes.clone()));
                return Ok(Some(seq));
            }
            let seq = if is_status {
                outbound.send_status(to, &self.bytes)?
            } else {
                outbound.send(to, &self.bytes)?
            };
            self.sent[kind] += u64::from(seq.is_some());
            Ok(seq)
        });
        sent.unwrap_or_else(|error| {
            self.failure = Some(format!("it cannot send to node {to}: {error}"));
            None
        })
    }

    fn draw(&mut self, delay: Delay) -> Duration {
        let span = delay.max.saturating_sub(delay.min).as_nanos();
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        let drawn = below(self.rng.next_u64(), span.saturating_add(1));
        delay.min.saturating_add(Duration::from_nanos(drawn))
    }
}

/// A random word as a number below `bound`.
fn below(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_draw_is_below_its_bound(word: u64, bound in 1_u64..) {
            prop_assert!(below(word, bound) < bound);
        }
    }
}
