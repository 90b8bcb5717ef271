//! The effects of the machines inside a node, as it passes them on.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, Never, NodeId, Protocol};

use super::{Current, InViews, Inner, ViewLayerOf};
use crate::clock::Clock;
use crate::group::locks::message::{Message, Timer, ViewMessage};
use crate::group::views::Told;
use crate::mutex::{FencingToken, Notice};

/// The effects of the machine below.
pub(super) struct ViewLayerEffects<'a, A: Inner, E> {
    pub(super) fx: &'a mut E,
    pub(super) told: &'a mut Vec<Told<Never, A::Report>>,
}

impl<A: Inner, E: Effects<InViews<A>>> Effects<ViewLayerOf<A::Report>>
    for ViewLayerEffects<'_, A, E>
{
    fn send(&mut self, to: NodeId, message: <ViewLayerOf<A::Report> as Protocol>::Message) {
        self.fx.send(to, Message::Views(message));
    }
    fn send_to_each(
        &mut self,
        to: &mut dyn Iterator<Item = NodeId>,
        message: <ViewLayerOf<A::Report> as Protocol>::Message,
    ) {
        self.fx.send_to_each(to, Message::Views(message));
    }
    fn set_timer(&mut self, timer: Never, _: Delay) {
        match timer {}
    }
    fn cancel_timer(&mut self, timer: Never) {
        match timer {}
    }
    fn notify(&mut self, told: Told<Never, A::Report>) {
        self.told.push(told);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// What may be wanted of a view: another of the same members, or one without this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfView {
    Renewal,
    Exit,
}

/// What runs inside views can do this, and knows this of its member.
#[derive(Debug)]
pub struct InnerEffects<'a, A, E> {
    fx: &'a mut E,
    me: NodeId,
    clock: &'a mut Clock,
    current: Option<Current>,
    /// Whether it can prove that it belongs to the view, if it needs to.
    has_lease: bool,
    pub(super) wants_lease: bool,
    /// What it wants of the view, if it does.
    pub(super) wants_of_view: Option<OfView>,
    of: PhantomData<A>,
}

impl<'a, A: Inner, E: Effects<InViews<A>>> InnerEffects<'a, A, E> {
    pub(super) const fn new(
        fx: &'a mut E,
        me: NodeId,
        clock: &'a mut Clock,
        current: Option<Current>,
        has_lease: bool,
    ) -> Self {
        Self {
            fx,
            me,
            clock,
            current,
            has_lease,
            wants_lease: false,
            wants_of_view: None,
            of: PhantomData,
        }
    }

    /// The member.
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// The clock of all names of this member.
    pub const fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The token of an entry now, if the view lasts, nobody who was left behind may be inside, and
    /// there is a lease if one is needed; which is asked for.
    pub fn token(&mut self) -> Option<FencingToken> {
        let Current { view, .. } = self.current.filter(|it| !it.is_early)?;
        if !self.has_lease {
            self.wants_lease = true;
            return None;
        }
        Some(FencingToken { view, clock: self.clock.tick() })
    }

    /// Whether the view lasts.
    pub const fn is_running(&self) -> bool {
        self.current.is_some()
    }

    /// Ends the view for another of the same members.
    pub const fn renew_view(&mut self) {
        self.wants_of_view = Some(OfView::Renewal);
    }

    /// Leaves the group.
    pub const fn leave_group(&mut self) {
        self.wants_of_view = Some(OfView::Exit);
    }

    /// Says something within the view.
    pub fn say(&mut self, to: NodeId, word: ViewMessage<A::Message>) {
        let Some(Current { view, .. }) = self.current else { return };
        let clock = self.clock.now();
        self.fx.send(to, Message::Within { view, clock, word });
    }

    /// The same to each of these.
    pub fn say_to_each(
        &mut self,
        to: &mut dyn Iterator<Item = NodeId>,
        word: ViewMessage<A::Message>,
    ) {
        let Some(Current { view, .. }) = self.current else { return };
        let clock = self.clock.now();
        self.fx.send_to_each(to, Message::Within { view, clock, word });
    }

    /// Sets a timer of the view.
    pub fn set_timer(&mut self, timer: A::Timer, delay: Delay) {
        if let Some(Current { view, .. }) = self.current {
            self.fx.set_timer(Timer::Lock(view, timer), delay);
        }
    }

    /// Cancels it.
    pub fn cancel_timer(&mut self, timer: A::Timer) {
        if let Some(Current { view, .. }) = self.current {
            self.fx.cancel_timer(Timer::Lock(view, timer));
        }
    }

    /// Tells applications something.
    pub fn notify(&mut self, notice: A::Notice) {
        self.fx.notify(notice);
    }

    /// As [`Effects::choose`].
    pub fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// What an instance of one name can do.
pub trait InstanceEffects<P: Protocol> {
    /// The member.
    fn me(&self) -> NodeId;
    /// The clock, as long as nobody enters.
    fn now(&self) -> u64;
    /// As [`InnerEffects::token`].
    fn token(&mut self) -> Option<FencingToken>;
    /// Says something about the name.
    fn say(&mut self, to: NodeId, word: ViewMessage<P::Message>);
    /// The same to each of these.
    fn say_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, word: ViewMessage<P::Message>);
    /// Sets a timer of the algorithm.
    fn set_timer(&mut self, timer: P::Timer, delay: Delay);
    /// Cancels it.
    fn cancel_timer(&mut self, timer: P::Timer);
    /// Whoever has asked is inside.
    fn entered(&mut self, token: FencingToken);
    /// As [`Effects::choose`].
    fn choose(&mut self, bound: NonZeroU32) -> u32;
}

/// The effects of the algorithm.
pub(in crate::group) struct Among<'a, S> {
    pub(in crate::group::locks) instance: &'a mut S,
    pub(in crate::group::locks) members: &'a [NodeId],
    pub(in crate::group::locks) has_entered: bool,
}

impl<P: Protocol<Notice = Notice>, S: InstanceEffects<P>> Effects<P> for Among<'_, S> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        self.instance.say(self.members[to.index()], ViewMessage::Lock(message));
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        let members = self.members;
        self.instance
            .say_to_each(&mut to.map(|id| members[id.index()]), ViewMessage::Lock(message));
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.instance.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.instance.cancel_timer(timer);
    }
    fn notify(&mut self, notice: Notice) {
        self.has_entered |= notice.is_entry();
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.instance.choose(bound)
    }
}
