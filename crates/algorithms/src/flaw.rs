//! Mistakes, each around a correct machine that knows nothing of it.
//!
//! A checker that finds nothing may be looking at nothing. So every mistake that the literature has
//! made with these algorithms can be made here on purpose, and a test requires that the checker
//! finds it. The algorithms' cards describe them; the problems' `flaws` build them.

use core::any::TypeId;
use core::fmt::{self, Debug};
use core::hash::{Hash, Hasher};

use vorrang_protocol::{
    CounterVisitor, DynEffects, Effects, NodeId, NodeState, Protocol, Refused, Relay,
};

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
    fn after_crash(self, node: &P, fresh: P) -> P {
        node.after_crash(fresh)
    }

    /// A message goes out.
    fn edit(message: P::Message) -> P::Message {
        message
    }
}

/// A mistake without its type: for nodes that make one, everything is compiled once for an
/// algorithm, whatever the mistake.
pub trait AnyMistake<P: Protocol>: Debug + Send + Sync {
    /// Which type it is of: that is all there is to it, since a mistake holds no data.
    fn id(&self) -> TypeId;
    /// As [`Mistake::on_command`].
    ///
    /// # Errors
    ///
    /// As the correct node.
    fn on_command_by(
        &self,
        node: &mut P,
        command: P::Command,
        fx: &mut DynEffects<'_, P>,
    ) -> Result<(), Refused>;
    /// As [`Mistake::on_message`].
    fn on_message_by(
        &self,
        node: &mut P,
        from: NodeId,
        message: P::Message,
        fx: &mut DynEffects<'_, P>,
    );
    /// As [`Mistake::on_timer`].
    fn on_timer_by(&self, node: &mut P, timer: P::Timer, fx: &mut DynEffects<'_, P>);
    /// As [`Mistake::after_crash`].
    fn kept_by(&self, node: &P, fresh: P) -> P;
    /// As [`Mistake::edit`].
    fn editor(&self) -> fn(P::Message) -> P::Message;
}

impl<P: Protocol, F: Mistake<P>> AnyMistake<P> for F {
    fn id(&self) -> TypeId {
        const { assert!(size_of::<F>() == 0, "a mistake holds no data") }
        TypeId::of::<F>()
    }
    fn on_command_by(
        &self,
        node: &mut P,
        command: P::Command,
        fx: &mut DynEffects<'_, P>,
    ) -> Result<(), Refused> {
        self.on_command(node, command, fx)
    }
    fn on_message_by(
        &self,
        node: &mut P,
        from: NodeId,
        message: P::Message,
        fx: &mut DynEffects<'_, P>,
    ) {
        self.on_message(node, from, message, fx);
    }
    fn on_timer_by(&self, node: &mut P, timer: P::Timer, fx: &mut DynEffects<'_, P>) {
        self.on_timer(node, timer, fx);
    }
    fn kept_by(&self, node: &P, fresh: P) -> P {
        self.after_crash(node, fresh)
    }
    fn editor(&self) -> fn(P::Message) -> P::Message {
        F::edit
    }
}

/// A correct node that makes a mistake.
#[derive(Clone)]
pub struct Flawed<P: Protocol> {
    node: P,
    mistake: &'static dyn AnyMistake<P>,
}

impl<P: Protocol> Flawed<P> {
    /// Puts the mistake around the node.
    pub const fn new(node: P, mistake: &'static dyn AnyMistake<P>) -> Self {
        Self { node, mistake }
    }

    /// The node that makes it.
    pub const fn node(&self) -> &P {
        &self.node
    }
}

impl<P: Protocol> PartialEq for Flawed<P> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node && self.mistake.id() == other.mistake.id()
    }
}

impl<P: Protocol> Eq for Flawed<P> {}

impl<P: Protocol> Hash for Flawed<P> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.node.hash(hasher);
    }
}

impl<P: Protocol> Debug for Flawed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Flawed");
        shown.field("node", &self.node).field("mistake", &self.mistake).finish()
    }
}

impl<P: Protocol> Protocol for Flawed<P> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.mistake.editor());
        self.node.on_start(&mut DynEffects(fx));
    }

    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.mistake.editor());
        self.mistake.on_command_by(&mut self.node, command, &mut DynEffects(fx))
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.mistake.editor());
        self.mistake.on_message_by(&mut self.node, from, message, &mut DynEffects(fx));
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.mistake.editor());
        self.mistake.on_timer_by(&mut self.node, timer, &mut DynEffects(fx));
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.mistake.editor());
        self.node.on_restart(&mut DynEffects(fx));
    }

    /// As that of the correct node: a mistake has no state of its own.
    fn state(&self) -> NodeState {
        self.node.state()
    }

    fn buffered(&self) -> usize {
        self.node.buffered()
    }

    fn counters(&mut self, visit: CounterVisitor<'_>) {
        self.node.counters(visit);
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { node: self.mistake.kept_by(&self.node, fresh.node), mistake: self.mistake }
    }
}
