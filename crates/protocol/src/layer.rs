//! Protocols made of protocols: how an outer one passes on the effects of an inner one.

use alloc::vec::Vec;
use core::convert;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use crate::{Delay, Effects, NodeId, Protocol};

/// The effects of an inner layer, as the layer above passes them on.
///
/// Layers compose by ownership: the outer struct owns the inner protocol and hands it a `Lift`.
/// Messages and timers are wrapped (by `From`) and go out; notices stay, for the layer above to
/// hear.
#[derive(Debug)]
pub struct Lift<'a, Inner: Protocol, Outer, E> {
    fx: &'a mut E,
    heard: &'a mut Vec<Inner::Notice>,
    outer: PhantomData<Outer>,
}

impl<'a, Inner: Protocol, Outer, E> Lift<'a, Inner, Outer, E> {
    /// Passes on to `fx`, and keeps notices in `heard`.
    pub const fn new(fx: &'a mut E, heard: &'a mut Vec<Inner::Notice>) -> Self {
        Self { fx, heard, outer: PhantomData }
    }
}

impl<Inner, Outer, E> Effects<Inner> for Lift<'_, Inner, Outer, E>
where
    Inner: Protocol,
    Outer: Protocol<Message: From<Inner::Message>, Timer: From<Inner::Timer>>,
    E: Effects<Outer>,
{
    fn send(&mut self, to: NodeId, message: Inner::Message) {
        self.fx.send(to, message.into());
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: Inner::Message) {
        self.fx.send_to_each(to, message.into());
    }
    fn set_timer(&mut self, timer: Inner::Timer, delay: Delay) {
        self.fx.set_timer(timer.into(), delay);
    }
    fn cancel_timer(&mut self, timer: Inner::Timer) {
        self.fx.cancel_timer(timer.into());
    }
    fn notify(&mut self, notice: Inner::Notice) {
        self.heard.push(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}

/// The effects of an inner protocol, passed on by an outer one of the same vocabulary: a wrapper
/// that alters what its inner protocol does without adding messages of its own.
#[derive(Debug)]
pub struct Relay<'a, Outer, M, E> {
    fx: &'a mut E,
    edit: fn(M) -> M,
    outer: PhantomData<Outer>,
}

impl<'a, Outer, M, E> Relay<'a, Outer, M, E> {
    /// Passes everything on to `fx`.
    pub const fn new(fx: &'a mut E) -> Self {
        Self::editing(fx, convert::identity)
    }

    /// Passes everything on to `fx`, each message as `edit` leaves it.
    pub const fn editing(fx: &'a mut E, edit: fn(M) -> M) -> Self {
        Self { fx, edit, outer: PhantomData }
    }
}

impl<Inner, Outer, E> Effects<Inner> for Relay<'_, Outer, Inner::Message, E>
where
    Inner: Protocol,
    Outer: Protocol<Message = Inner::Message, Timer = Inner::Timer, Notice = Inner::Notice>,
    E: Effects<Outer>,
{
    fn send(&mut self, to: NodeId, message: Inner::Message) {
        self.fx.send(to, (self.edit)(message));
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: Inner::Message) {
        self.fx.send_to_each(to, (self.edit)(message));
    }
    fn set_timer(&mut self, timer: Inner::Timer, delay: Delay) {
        self.fx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: Inner::Timer) {
        self.fx.cancel_timer(timer);
    }
    fn notify(&mut self, notice: Inner::Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
}
