//! Mistakes, each around a correct machine that knows nothing of it.
//!
//! A checker that finds nothing may be looking at nothing. So every mistake that the literature has
//! made with these algorithms can be made here on purpose, and a test requires that the checker
//! finds it. The algorithms' cards describe them; the problems' `flaws` build them.

use core::any::TypeId;
use core::convert;
use core::fmt::{self, Debug};
use core::hash::{Hash, Hasher};

use serde::{Deserialize as _, Deserializer, Serializer};
use vorrang_protocol::{
    CounterVisitor, DynEffects, Effects, GroupHealth, GroupView, NodeId, NodeState, Protocol,
    Refused, Relay,
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

/// A node, with the mistake that it makes, if it makes one. So nodes with and without a mistake are
/// of one type, and what is compiled for nodes without their types is compiled once for both.
#[derive(Clone)]
pub struct Flawed<P: Protocol> {
    node: P,
    mistake: Option<&'static dyn AnyMistake<P>>,
}

impl<P: Protocol> Flawed<P> {
    /// Puts the mistake around the node.
    pub const fn new(node: P, mistake: &'static dyn AnyMistake<P>) -> Self {
        Self { node, mistake: Some(mistake) }
    }

    /// The node as it is.
    pub const fn correct(node: P) -> Self {
        Self { node, mistake: None }
    }

    /// The node inside.
    pub const fn node(&self) -> &P {
        &self.node
    }

    /// What becomes of the messages that it sends.
    fn editor(&self) -> fn(P::Message) -> P::Message {
        self.mistake.map_or(convert::identity, AnyMistake::editor)
    }
}

impl<P: Protocol> PartialEq for Flawed<P> {
    fn eq(&self, other: &Self) -> bool {
        let mistake = |it: &Self| it.mistake.map(AnyMistake::id);
        self.node == other.node && mistake(self) == mistake(other)
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
        let Some(mistake) = self.mistake else { return self.node.fmt(f) };
        let mut shown = f.debug_struct("Flawed");
        shown.field("node", &self.node).field("mistake", &mistake).finish()
    }
}

/// Calls a handler of the node, or of its mistake in the place of it.
macro_rules! handle {
    ($self:ident, $fx:ident, $handler:ident, $mistaken:ident($($argument:expr),*)) => {{
        let fx = &mut Relay::<Self, _, _>::editing($fx, $self.editor());
        match $self.mistake {
            None => $self.node.$handler($($argument,)* &mut DynEffects(fx)),
            Some(it) => it.$mistaken(&mut $self.node, $($argument,)* &mut DynEffects(fx)),
        }
    }};
}

impl<P: Protocol> Protocol for Flawed<P> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.editor());
        self.node.on_start(&mut DynEffects(fx));
    }

    fn on_command(
        &mut self,
        command: P::Command,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        handle!(self, fx, on_command, on_command_by(command))
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        handle!(self, fx, on_message, on_message_by(from, message));
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        handle!(self, fx, on_timer, on_timer_by(timer));
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.editor());
        self.node.on_restart(&mut DynEffects(fx));
    }

    fn on_leave(&mut self, fx: &mut impl Effects<Self>) -> bool {
        let fx = &mut Relay::<Self, _, _>::editing(fx, self.editor());
        self.node.on_leave(&mut DynEffects(fx))
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

    fn has_obligations(&self) -> bool {
        self.node.has_obligations()
    }

    fn group_view(&self) -> Option<GroupView> {
        self.node.group_view()
    }

    fn group_health(&self) -> Option<GroupHealth> {
        self.node.group_health()
    }

    fn lease(&self) -> Option<P::Timer> {
        self.node.lease()
    }

    fn after_crash(&self, fresh: Self) -> Self {
        let node = match self.mistake {
            None => self.node.after_crash(fresh.node),
            Some(mistake) => mistake.kept_by(&self.node, fresh.node),
        };
        Self { node, mistake: self.mistake }
    }

    /// What a node with a mistake would keep is not written anywhere: mistakes are for simulator
    /// and checker.
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.mistake {
            None => self.node.store(serializer),
            Some(_) => serializer.serialize_unit(),
        }
    }

    fn restore<'de, D: Deserializer<'de>>(self, stored: D) -> Result<Self, D::Error> {
        if self.mistake.is_some() {
            return <()>::deserialize(stored).map(|()| self);
        }
        self.node.restore(stored).map(Self::correct)
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        match self.mistake {
            None => self.node.without_memory(life).map(Self::correct),
            Some(_) => None,
        }
    }
}
