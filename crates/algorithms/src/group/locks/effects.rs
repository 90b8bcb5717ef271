//! The effects of the machines inside a node, as it passes them on.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, Never, NodeId, Protocol};

use super::message::{Message, Timer, Word};
use super::{ApplicationState, Exclusive, Locks, ViewLayer};
use crate::group::views::Told;

/// The effects of the machine below.
pub(super) struct ViewLayerEffects<'a, P, E> {
    pub(super) fx: &'a mut E,
    pub(super) told: &'a mut Vec<Told<Never, ApplicationState>>,
    pub(super) of: PhantomData<P>,
}

impl<P: Exclusive, E: Effects<Locks<P>>> Effects<ViewLayer> for ViewLayerEffects<'_, P, E> {
    fn send(&mut self, to: NodeId, message: <ViewLayer as Protocol>::Message) {
        self.fx.send(to, Message::Views(message));
    }
    fn send_to_each(
        &mut self,
        to: &mut dyn Iterator<Item = NodeId>,
        message: <ViewLayer as Protocol>::Message,
    ) {
        self.fx.send_to_each(to, Message::Views(message));
    }
    fn set_timer(&mut self, timer: Never, _: Delay) {
        match timer {}
    }
    fn cancel_timer(&mut self, timer: Never) {
        match timer {}
    }
    fn notify(&mut self, told: Told<Never, ApplicationState>) {
        self.told.push(told);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// The effects of the algorithm.
pub(super) struct Among<'a, E> {
    pub(super) fx: &'a mut E,
    pub(super) view: u64,
    pub(super) clock: u64,
    pub(super) members: &'a [NodeId],
    pub(super) has_entered: bool,
}

impl<P: Exclusive, E: Effects<Locks<P>>> Effects<P> for Among<'_, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        let (to, view, clock) = (self.members[to.index()], self.view, self.clock);
        self.fx.send(to, Message::Within { view, clock, word: Word::Lock(message) });
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        let (members, view, clock) = (self.members, self.view, self.clock);
        let message = Message::Within { view, clock, word: Word::Lock(message) };
        self.fx.send_to_each(&mut to.map(|id| members[id.index()]), message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(Timer::Lock(self.view, timer), delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer::Lock(self.view, timer));
    }
    fn notify(&mut self, notice: crate::mutex::Notice) {
        self.has_entered |= notice.is_entry();
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}
