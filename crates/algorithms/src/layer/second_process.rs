//! A fault that no driver has by itself: a second process is started under the number of another
//! that goes on, as when somebody starts a service elsewhere because the first place is cut off.
//!
//! Drivers know processes, each with a place of its own; the nodes of an algorithm know numbers.
//! With this around every node, the process of the last place has the number of an earlier one:
//! what is sent to that number reaches both processes, and what either sends comes from the number.
//! Monitors see processes: two that are inside together are two, whatever their numbers. That the
//! first is cut off is another fault, of the driver.
//!
//! The second process is started by the first command of its application; before that it hears and
//! does nothing.

use core::marker::PhantomData;
use core::num::NonZeroU32;

use vorrang_protocol::{Delay, Effects, NodeId, NodeState, Protocol, Refused};

/// Which process has whose number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shared {
    /// The number, which is also the place of the first process.
    pub number: NodeId,
    /// The place of the second.
    pub second: NodeId,
}

impl Shared {
    /// The number of the process at this place.
    pub fn number_of(self, place: NodeId) -> NodeId {
        if place == self.second { self.number } else { place }
    }
}

/// A process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Process<P> {
    shared: Shared,
    /// Whether it has started.
    is_up: bool,
    node: P,
}

impl<P: Protocol> Process<P> {
    /// The process of this place, whose node has the number that [`Shared::number_of`] says.
    pub fn new(place: NodeId, shared: Shared, node: P) -> Self {
        Self { shared, is_up: place != shared.second, node }
    }
}

impl<P: Protocol> Protocol for Process<P> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_up {
            self.node.on_start(&mut ToBoth::new(self.shared, fx));
        }
    }

    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        if !self.is_up {
            self.is_up = true;
            self.on_start(fx);
        }
        self.node.on_command(command, &mut ToBoth::new(self.shared, fx))
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        if self.is_up {
            let from = self.shared.number_of(from);
            self.node.on_message(from, message, &mut ToBoth::new(self.shared, fx));
        }
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        self.node.on_timer(timer, &mut ToBoth::new(self.shared, fx));
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_up {
            self.node.on_restart(&mut ToBoth::new(self.shared, fx));
        }
    }

    fn state(&self) -> NodeState {
        NodeState::new().with("started", self.is_up).and(self.node.state())
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { is_up: self.is_up, node: self.node.after_crash(fresh.node), ..fresh }
    }
}

/// The effects of a node: what is sent to the shared number goes to both places.
struct ToBoth<'a, P, E> {
    shared: Shared,
    fx: &'a mut E,
    of: PhantomData<P>,
}

impl<'a, P, E> ToBoth<'a, P, E> {
    const fn new(shared: Shared, fx: &'a mut E) -> Self {
        Self { shared, fx, of: PhantomData }
    }
}

impl<P: Protocol, E: Effects<Process<P>>> Effects<P> for ToBoth<'_, P, E> {
    fn send(&mut self, to: NodeId, message: P::Message) {
        if to == self.shared.number {
            self.fx.send(self.shared.second, message.clone());
        }
        self.fx.send(to, message);
    }
    fn set_timer(&mut self, timer: P::Timer, delay: Delay) {
        self.fx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(timer);
    }
    fn notify(&mut self, notice: P::Notice) {
        self.fx.notify(notice);
    }
    fn choose(&mut self, bound: NonZeroU32) -> u32 {
        self.fx.choose(bound)
    }
    fn send_to_each(&mut self, to: &mut dyn Iterator<Item = NodeId>, message: P::Message) {
        for to in to {
            self.send(to, message.clone());
        }
    }
}
