//! Mistakes, each around a correct machine that knows nothing of it.
//!
//! A checker that finds nothing may be looking at nothing. So every mistake that the literature has
//! made with these algorithms can be made here on purpose, and a test requires that the checker
//! finds it. The algorithms' cards describe them; the problems' `flaws` build them.

use core::fmt::Debug;
use core::hash::Hash;

use vorrang_protocol::{Effects, NodeId, Protocol, Refused, Relay};

/// A way to get an algorithm wrong: what happens instead of the right thing.
pub trait Mistake<P: Protocol>: Copy + Eq + Hash + Debug + Send + Sync + 'static {
    /// The application asks for something.
    ///
    /// # Errors
    ///
    /// As the correct node.
    fn on_command(
        self,
        node: &mut P,
        command: P::Command,
        fx: &mut impl Effects<P>,
    ) -> Result<(), Refused> {
        node.on_command(command, fx)
    }

    /// A message arrives.
    fn on_message(self, node: &mut P, from: NodeId, message: P::Message, fx: &mut impl Effects<P>) {
        node.on_message(from, message, fx);
    }

    /// A timer runs out.
    fn on_timer(self, node: &mut P, timer: P::Timer, fx: &mut impl Effects<P>) {
        node.on_timer(timer, fx);
    }

    /// The node crashes, and this is left of it.
    #[must_use]
    fn kept(self, node: &P, fresh: P) -> P {
        node.kept(fresh)
    }

    /// A message goes out.
    fn edit(message: P::Message) -> P::Message {
        message
    }
}

/// A correct node that makes a mistake.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flawed<P, F> {
    node: P,
    mistake: F,
}

impl<P, F> Flawed<P, F> {
    /// Puts the mistake around the node.
    pub const fn new(node: P, mistake: F) -> Self {
        Self { node, mistake }
    }

    /// The node that makes it.
    pub const fn node(&self) -> &P {
        &self.node
    }
}

impl<P: Protocol, F: Mistake<P>> Protocol for Flawed<P, F> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_start(&mut Relay::<Self, _, _>::editing(fx, F::edit));
    }

    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let fx = &mut Relay::<Self, _, _>::editing(fx, F::edit);
        self.mistake.on_command(&mut self.node, command, fx)
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, F::edit);
        self.mistake.on_message(&mut self.node, from, message, fx);
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, F::edit);
        self.mistake.on_timer(&mut self.node, timer, fx);
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_restart(&mut Relay::<Self, _, _>::editing(fx, F::edit));
    }

    fn holds(&self) -> usize {
        self.node.holds()
    }

    fn kept(&self, fresh: Self) -> Self {
        Self { node: self.mistake.kept(&self.node, fresh.node), mistake: self.mistake }
    }
}
