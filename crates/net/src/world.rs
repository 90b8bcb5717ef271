//! All that the machine's effects act on: links, timers, choices, notices, the record of the run.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use vorrang_protocol::{Delay, Effects, Message, NodeId, Protocol};
use vorrang_trace::What;

use crate::link::Link;
use crate::recorder::Tape;
use crate::timers::{Timers, deadline};

pub(crate) struct World<P: Protocol, S> {
    pub(crate) me: NodeId,
    /// By node; none for ourselves.
    pub(crate) links: Vec<Option<Link<S>>>,
    /// What we sent ourselves, to be handled before anything else.
    pub(crate) to_self: VecDeque<(u64, P::Message)>,
    pub(crate) sent_to_self: u64,
    pub(crate) timers: Timers<P::Timer>,
    pub(crate) rng: Xoshiro256PlusPlus,
    pub(crate) notices: VecDeque<P::Notice>,
    pub(crate) tape: Option<Tape<P>>,
    pub(crate) sent: Vec<u64>,
    pub(crate) received: Vec<u64>,
    /// What the machine did that cannot be done.
    pub(crate) failure: Option<String>,
    /// To whom the first message of this turn goes. It is written first: whoever is answered first
    /// is, in most algorithms, the one that the others wait for.
    pub(crate) first_receiver: Option<NodeId>,
}

impl<P: Protocol, S> World<P, S> {
    pub(crate) fn new(
        me: NodeId,
        peers: &[String],
        rng: Xoshiro256PlusPlus,
        tape: Option<Tape<P>>,
    ) -> Self {
        let link = |(id, address): (u32, &String)| {
            let peer = NodeId(id);
            (peer != me).then(|| Link::new(peer, address.clone()))
        };
        let kinds = P::Message::KINDS.len();
        Self {
            me,
            links: (0..).zip(peers).map(link).collect(),
            to_self: VecDeque::new(),
            sent_to_self: 0,
            timers: Timers::new(),
            rng,
            notices: VecDeque::new(),
            tape,
            sent: vec![0; kinds],
            received: vec![0; kinds],
            failure: None,
            first_receiver: None,
        }
    }

    /// The links to all others.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Link<S>> {
        self.links.iter().flatten()
    }

    pub(crate) fn others_mut(&mut self) -> impl Iterator<Item = &mut Link<S>> {
        self.links.iter_mut().flatten()
    }

    pub(crate) fn link(&mut self, peer: NodeId) -> &mut Link<S> {
        self.links[peer.index()].as_mut().expect("a peer is never ourselves")
    }

    /// The next event begins.
    pub(crate) fn begin(&mut self, what: impl FnOnce() -> What<P>) {
        if let Some(tape) = &mut self.tape {
            tape.stamp();
            tape.push(what());
        }
    }

    fn record(&mut self, what: impl FnOnce() -> What<P>) {
        if let Some(tape) = &mut self.tape {
            tape.push(what());
        }
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

impl<P: Protocol, S> Effects<P> for World<P, S> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        let seq = match self.links.get_mut(to.index()) {
            Some(Some(link)) => match link.send(&message) {
                Ok(Some(seq)) => seq,
                Ok(None) => return,
                Err(error) => {
                    self.failure = Some(format!("it cannot send to node {to}: {error}"));
                    return;
                }
            },
            Some(None) => {
                let seq = self.sent_to_self;
                self.sent_to_self += 1;
                self.to_self.push_back((seq, message.clone()));
                seq
            }
            None => {
                self.failure = Some(format!("it sent to node {to}, which is not in its group"));
                return;
            }
        };
        if to != self.me {
            self.first_receiver.get_or_insert(to);
            self.sent[message.kind()] += 1;
        }
        self.record(|| What::Send { to, seq, message });
    }

    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        let at = deadline(self.draw(delay));
        self.timers.set(timer, at);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.cancel(&timer);
    }

    fn notify(&mut self, notice: P::Notice) {
        self.record(|| What::Notice(notice.clone()));
        self.notices.push_back(notice);
    }

    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        below(self.rng.next_u64(), u64::from(bound.get())) as u32
    }
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
