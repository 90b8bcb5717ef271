//! Effects behind an object, as values, and in an outbox that records them.

use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::num::NonZeroU32;

use crate::{Delay, Effects, NodeId, Protocol};

/// Effects whose implementation is not known at compile time: handlers that are called with these
/// are compiled once for a protocol, whatever drives it.
pub struct DynEffects<'a, P: Protocol>(pub &'a mut dyn Effects<P>);

impl<P: Protocol> fmt::Debug for DynEffects<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynEffects")
    }
}

impl<P: Protocol> Effects<P> for DynEffects<'_, P> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.0.send(to, message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.0.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.0.cancel_timer(timer);
    }
    fn notify(&mut self, notice: P::Notice) {
        self.0.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.0.choose(bound)
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        self.0.send_to_each(to, message);
    }
}

/// One effect, as a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "each variant is a method of `Effects`")]
pub enum Effect<P: Protocol> {
    Send { to: NodeId, message: P::Message },
    SetTimer { timer: P::Timer, delay: Delay },
    CancelTimer(P::Timer),
    Notify(P::Notice),
}

/// The recording sink: effects kept in the order they were called, for tests and for drivers that
/// look before they act.
#[derive(Clone, Debug)]
pub struct Outbox<P: Protocol, C = fn(NonZeroU32) -> u32> {
    /// What the node did, oldest first. Drained, not dropped, so that its room is used again.
    pub effects: Vec<Effect<P>>,
    /// Answers [`Effects::choose`].
    pub chooser: C,
}

impl<P: Protocol> Default for Outbox<P> {
    /// An outbox that always chooses 0.
    fn default() -> Self {
        Self::new(|_| 0)
    }
}

impl<P: Protocol, C> Outbox<P, C> {
    /// An empty outbox that chooses by `chooser`.
    pub const fn new(chooser: C) -> Self {
        Self { effects: Vec::new(), chooser }
    }

    /// What was done since the last call.
    pub fn take(&mut self) -> Vec<Effect<P>> {
        mem::take(&mut self.effects)
    }
}

impl<P: Protocol, C: FnMut(NonZeroU32) -> u32> Effects<P> for Outbox<P, C> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.effects.push(Effect::Send { to, message });
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.effects.push(Effect::SetTimer { timer, delay });
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.effects.push(Effect::CancelTimer(timer));
    }
    fn notify(&mut self, notice: P::Notice) {
        self.effects.push(Effect::Notify(notice));
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        (self.chooser)(bound)
    }
}
